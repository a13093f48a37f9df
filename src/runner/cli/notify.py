"""Tell somebody how a run goes: `[notify]` in runner.toml, by a command and/or a webhook.

A notification never fails a run or stands in its way: it is sent beside it and tried a few
times. Only the end of the command waits for what is still under way, for some seconds; what is
lost is a warning.
"""

import json
import os
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPException, InvalidURL
from typing import Any, Self

from runner import __version__
from runner.cli.redact import Redactor
from runner.cli.result import result_object
from runner.config.runner_file import Notify
from runner.loop.events import ExitReason, RunEnded, RunEvent, Waiting
from runner.loop.ports import RunSink
from runner.wording import reason

TRIES = 3
SECONDS = 10.0
"""For one try."""
LAST_SECONDS = 15.0
"""For all that is still under way when the command ends."""

_PAUSES = (2.0, 4.0)
_EVENT_OF: Mapping[ExitReason, str] = {
    ExitReason.ALL_PASSED: "finished",
    ExitReason.ALL_VERIFIED: "finished",
    ExitReason.PHASE_COMPLETE: "finished",
    ExitReason.ALL_BLOCKED: "paused",
    ExitReason.STALLED: "paused",
    ExitReason.PAUSED: "paused",
    ExitReason.FAILED: "failed",
    ExitReason.MAX_RETRIES_EXCEEDED: "failed",
    ExitReason.BLOCKED_RUNTIME: "failed",
    ExitReason.ERROR: "failed",
    ExitReason.QUOTA_EXCEEDED: "quota",
    ExitReason.BUDGET_EXCEEDED: "budget",
    ExitReason.MAX_ITERATIONS: "stopped",
    ExitReason.INTERRUPTED: "stopped",
}


class NotSentError(Exception):
    """A try to send a notification failed."""


class Notifier:
    """A sink that passes every event on and notifies about some.

    Args:
        wishes: whom to tell, and about what.
        sink: where every event goes on to.
        warn: is told of what could not be sent.
        sleep: waits between two tries, in seconds.
    """

    def __init__(
        self,
        wishes: Notify,
        sink: RunSink,
        warn: Callable[[str], None],
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._wishes = wishes
        self._sink = sink
        self._warn = warn
        self._sleep = sleep
        self._waits_for: float | None = None
        self._sending: dict[threading.Thread, str] = {}

    def __call__(self, event: RunEvent) -> None:
        """Take an event of the run."""
        self._sink(event)
        if isinstance(event, RunEnded):
            self._notify(_EVENT_OF[event.result.exit_reason], dict(result_object(event)))
        elif isinstance(event, Waiting) and event.resets_at not in (None, self._waits_for):
            self._waits_for = event.resets_at
            waiting = {"type": "waiting", "reason": event.reason, "resets_at": event.resets_at}
            self._notify("quota", waiting)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        end = time.monotonic() + LAST_SECONDS
        for thread, what in self._sending.items():
            thread.join(max(end - time.monotonic(), 0.0))
            if thread.is_alive():
                self._lost(what, "it took too long.")

    def _notify(self, name: str, payload: Mapping[str, Any]) -> None:
        if name not in self._wishes.on:
            return
        clean = Redactor(os.environ).value(payload)
        body = json.dumps(clean, ensure_ascii=False).encode("utf-8")
        for target in self._targets(name, body):
            # A daemon: the end of the command does not wait for ever for somebody's web server.
            thread = threading.Thread(target=self._deliver, args=target, daemon=True)
            self._sending[thread] = target[0]
            thread.start()

    def _targets(self, name: str, body: bytes) -> list[tuple[str, Callable[[], None]]]:
        targets: list[tuple[str, Callable[[], None]]] = []
        command, webhook = self._wishes.command, self._wishes.webhook
        if command:
            targets.append((f"the command {command[0]}", lambda: run_command(command, name, body)))
        if webhook:
            targets.append(("the webhook", lambda: post(_address(webhook), name, body)))
        return targets

    def _deliver(self, what: str, send: Callable[[], None]) -> None:
        problem = ""
        for number in range(TRIES):
            try:
                send()
            except NotSentError as error:
                problem = str(error)
            else:
                return
            if number < len(_PAUSES):
                self._sleep(_PAUSES[number])
        self._lost(what, problem)

    def _lost(self, what: str, problem: str) -> None:
        advice = "See [notify] in .runner/runner.toml."
        self._warn(f"A notification was not delivered to {what}: {problem} {advice}")


def _address(webhook: str) -> str:
    """Return the address that is meant; `$NAME` stands for a variable's value."""
    if not webhook.startswith("$"):
        return webhook
    address = os.environ.get(webhook[1:], "")
    if not address.startswith(("https://", "http://")):
        raise NotSentError(f"the variable {webhook[1:]} holds no http address.")
    return address


def run_command(command: Sequence[str], event: str, body: bytes) -> None:
    """Run the user's command with the payload on its standard input.

    Raises:
        NotSentError: it can't be started, takes too long, or exits with another code than 0.
    """
    try:
        done = subprocess.run(
            command,
            input=body,
            env={**os.environ, "AUTORUNNER_EVENT": event},
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, ValueError) as error:
        raise NotSentError(f"{reason(error)}.") from error
    except subprocess.TimeoutExpired as error:
        raise NotSentError(f"it took longer than {SECONDS:g} s.") from error
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise NotSentError(f"exit code {done.returncode}. {said[-1] if said else ''}".strip())


def post(url: str, event: str, body: bytes) -> None:
    """Send the payload to a webhook.

    Raises:
        NotSentError: no answer in time, or one that is no success. The message holds no URL:
            that of a webhook is often a secret.
    """
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"runner/{__version__}",
        "X-Runner-Event": event,
    }
    invalid = "its address is not a valid one."  # whose own words repeat the address
    try:
        # The scheme is checked with the file.
        request = urllib.request.Request(url, data=body, headers=headers)  # noqa: S310
    except ValueError as error:
        raise NotSentError(invalid) from error
    try:
        with urllib.request.urlopen(request, timeout=SECONDS):  # noqa: S310
            pass
    except urllib.error.HTTPError as error:
        raise NotSentError(f"it answered {error.code}.") from error
    except InvalidURL as error:
        raise NotSentError(invalid) from error
    except (OSError, ValueError, HTTPException) as error:
        cause = getattr(error, "reason", error)
        why = reason(cause) if isinstance(cause, BaseException) else cause
        raise NotSentError(f"{why}.") from error
