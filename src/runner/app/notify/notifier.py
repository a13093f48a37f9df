"""Tell somebody how a run goes: `[notify]` in runner.toml, by a command and/or a webhook.

A notification never fails a run or stands in its way: it is sent beside it and tried a few
times. Only the end of the command waits for what is still under way, for some seconds; what is
lost is a warning.
"""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from runner.app.notify.targets import CommandTarget, NotSentError, Target, WebhookTarget
from runner.app.result import result_object
from runner.config.runner_file import Notify
from runner.credentials import Redactor
from runner.events import ExitReason, RunEnded, RunEvent, Waiting

LAST_SECONDS = 15.0
"""For all that is still under way when the command ends."""

_PAUSES = (2.0, 4.0)  # between the three tries, in seconds
_EVENT_OF: Mapping[ExitReason, str] = {
    ExitReason.ALL_PASSED: "finished",
    ExitReason.PARTLY_PASSED: "finished",
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


def _doze() -> None:
    time.sleep(0.02)


class Notifier:
    """A subscriber that notifies about some events.

    Args:
        wishes: whom to tell, and about what.
        warn: is told of what could not be sent.
        sleep: waits between two tries, in seconds.
        look_away: waits between two looks whether all is sent, at the end.
        project: what agents work on.
    """

    def __init__(
        self,
        wishes: Notify,
        warn: Callable[[str], None],
        sleep: Callable[[float], None] = time.sleep,
        look_away: Callable[[], None] = _doze,
        *,
        project: Path,
    ) -> None:
        self._wishes = wishes
        self._warn = warn
        self._sleep = sleep
        self._look_away = look_away
        self._waits_for: float | None = None
        self._targets = targets_of(wishes, project)
        self._sending: dict[threading.Thread, Target] = {}
        self._over = threading.Event()

    def __call__(self, event: RunEvent) -> None:
        """Take an event of the run."""
        if isinstance(event, RunEnded):
            self._notify(_EVENT_OF[event.result.exit_reason], dict(result_object(event)))
        elif isinstance(event, Waiting) and event.resets_at not in (None, self._waits_for):
            self._waits_for = event.resets_at
            waiting = {"type": "waiting", "reason": event.reason, "resets_at": event.resets_at}
            self._notify("quota", waiting)

    def report_failed_start(self, payload: Mapping[str, Any]) -> None:
        """Notify of a run that could not start; `payload` is its result object."""
        self._notify("failed", payload)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        problem = self._wait()
        # What a thread notices from now on is told here already.
        self._over.set()
        for thread, target in self._sending.items():
            if thread.is_alive():
                target.give_up()
                self._lost(target, problem)

    def _wait(self) -> str:
        """Let what is under way arrive; return why what still is by then won't."""
        end = time.monotonic() + LAST_SECONDS
        with _signals() as came:
            while any(thread.is_alive() for thread in self._sending):
                if came.is_set():
                    return "a signal came before it was done."
                if time.monotonic() > end:
                    break
                self._look_away()
        return "it took too long."

    def _notify(self, name: str, payload: Mapping[str, Any]) -> None:
        if name not in self._wishes.on:
            return
        body = body_of(payload)
        for target in self._targets:
            # A daemon: the end of the command does not wait for ever for somebody's web server.
            thread = threading.Thread(target=self._deliver, args=(target, name, body), daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the system has no thread left
                self._lost(target, "there is no thread left to send it.")
            else:
                self._sending[thread] = target

    def _deliver(self, target: Target, name: str, body: bytes) -> None:
        for pause in (*_PAUSES, None):
            try:
                target.send(name, body)
            except NotSentError as error:
                if self._over.is_set():
                    return
                if error.final or pause is None:
                    self._lost(target, str(error))
                    return
                self._sleep(pause)
            else:
                return

    def _lost(self, target: Target, problem: str) -> None:
        advice = "See [notify] in .runner/runner.toml."
        self._warn(f"A notification was not delivered to {target.title}: {problem} {advice}")


@contextmanager
def _signals() -> Iterator[threading.Event]:
    """Notice signals that would end a run, instead of obeying them."""
    came = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield came
        return
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda *_: came.set()) for number in numbers]
    try:
        yield came
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def body_of(payload: Mapping[str, Any]) -> bytes:
    """Return what is sent: JSON without credentials."""
    clean = Redactor(os.environ).value(payload)
    # Half a character, which JSON may carry, is no reason to fail.
    return json.dumps(clean, ensure_ascii=False).encode("utf-8", "replace")


def targets_of(wishes: Notify, project: Path) -> list[Target]:
    """Return whom `[notify]` of a project names."""
    targets: list[Target] = []
    if wishes.command:
        targets.append(CommandTarget(wishes.command, project))
    if wishes.webhook:
        targets.append(WebhookTarget(wishes.webhook))
    return targets
