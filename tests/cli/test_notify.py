"""`[notify]`: who is told how a run goes, and that nothing of it can fail the run."""

import contextlib
import json
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from runner.app.notify import notifier as notify
from runner.app.notify import targets as notify_targets
from runner.app.notify.notifier import Notifier
from runner.app.notify.trial import try_out, unready
from runner.config.runner_file import NOTIFY_EVENTS, Notify
from runner.deliverables.model import Counts
from runner.events import ExitReason, RunEnded, RunEvent, RunResult, Waiting

PROJECT = Path("/nowhere/project")


class Hook(HTTPServer):
    """A web server that notes what it gets; it answers with `statuses`, the last one again."""

    def __init__(self, *statuses: int) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.statuses = list(statuses)
        self.got: list[tuple[str | None, dict[str, Any]]] = []
        self.authorization: str | None = None
        self.leads_to = "/elsewhere"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/secret-path"


class Handler(BaseHTTPRequestHandler):
    server: Hook

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((self.headers["X-Runner-Event"], json.loads(body)))
        self.server.authorization = self.headers["Authorization"]
        statuses = self.server.statuses
        self.send_response(statuses.pop(0) if len(statuses) > 1 else statuses[0])
        self.send_header("Location", self.server.leads_to)
        self.end_headers()

    def do_GET(self) -> None:
        self.server.got.append(("GET", {}))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hook(request: pytest.FixtureRequest) -> Iterator[Hook]:
    server = Hook(*getattr(request, "param", (200,)))
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def ended(reason: ExitReason = ExitReason.ALL_PASSED) -> RunEnded:
    return RunEnded(RunResult("run", reason, "All done", "demo", Counts()))


def tell(wishes: Notify, *events: RunEvent) -> list[str]:
    """Send events through a notifier; return its warnings."""
    warnings: list[str] = []
    with Notifier(wishes, warnings.append, sleep=lambda _: None, project=PROJECT) as notifier:
        for event in events:
            notifier(event)
    return warnings


def test_a_webhook_gets_the_result_object(hook: Hook) -> None:
    tell(Notify(webhook=hook.url), ended())
    ((event, body),) = hook.got
    assert (event, body["type"], body["exit_reason"]) == ("finished", "result", "all_passed")


@pytest.mark.parametrize(
    ("reason", "event"),
    [
        (ExitReason.ALL_PASSED, "finished"),
        (ExitReason.STALLED, "paused"),
        (ExitReason.FAILED, "failed"),
        (ExitReason.QUOTA_EXCEEDED, "quota"),
        (ExitReason.BUDGET_EXCEEDED, "budget"),
    ],
)
def test_each_way_to_end_has_its_event(hook: Hook, reason: ExitReason, event: str) -> None:
    tell(Notify(webhook=hook.url), ended(reason))
    assert hook.got[0][0] == event


def test_every_exit_reason_has_an_event() -> None:
    for reason in ExitReason:
        assert tell(Notify(), ended(reason)) == []


def test_events_that_nobody_asked_for_are_not_sent(hook: Hook) -> None:
    tell(Notify(webhook=hook.url, on=("failed",)), ended())
    assert hook.got == []


def test_one_wait_for_a_limit_is_told_once(hook: Hook) -> None:
    wait = Waiting(60.0, "usage limit", resets_at=1_800_000_000)
    tell(Notify(webhook=hook.url), wait, wait)
    assert [event for event, _ in hook.got] == ["quota"]


def test_a_short_back_off_is_not_told(hook: Hook) -> None:
    tell(Notify(webhook=hook.url), Waiting(2.0, "try 2"))
    assert hook.got == []


@pytest.mark.parametrize("hook", [(500, 200)], indirect=True)
def test_a_failed_try_is_repeated(hook: Hook) -> None:
    assert tell(Notify(webhook=hook.url), ended()) == []
    assert len(hook.got) == 2


@pytest.mark.parametrize("hook", [(500,)], indirect=True)
def test_what_can_not_be_delivered_is_a_warning_without_the_address(hook: Hook) -> None:
    (warning,) = tell(Notify(webhook=hook.url), ended())
    assert "500" in warning
    assert "secret-path" not in warning


def read_to_the_end(reader: int) -> bytes:
    """Return what is in a pipe, once nobody holds its other end any more."""
    os.set_blocking(reader, True)
    with os.fdopen(reader, "rb") as held:
        return held.read()


@pytest.mark.parametrize("hook", [(404, 200)], indirect=True)
def test_an_address_that_does_not_exist_is_asked_once(hook: Hook) -> None:
    (warning,) = tell(Notify(webhook=hook.url), ended())
    assert (len(hook.got), "it answered 404" in warning) == (1, True)


@pytest.mark.parametrize("hook", [(429, 200)], indirect=True)
def test_who_asks_for_patience_is_asked_again(hook: Hook) -> None:
    assert tell(Notify(webhook=hook.url), ended()) == []


@pytest.mark.parametrize("hook", [(301,), (302,), (303,), (307,), (308,)], indirect=True)
@pytest.mark.parametrize("leads_to", ["/elsewhere", "file:///etc/passwd", "ftp://127.0.0.1:9/x"])
def test_a_redirect_is_not_followed(hook: Hook, leads_to: str) -> None:
    hook.leads_to = leads_to
    (warning,) = tell(Notify(webhook=hook.url), ended())
    assert "a redirect, which is not followed" in warning
    assert [event for event, _ in hook.got] == ["finished"]


def test_a_user_and_password_in_the_address_are_a_header(hook: Hook) -> None:
    assert tell(Notify(webhook=hook.url.replace("//", "//ada:p%40ss@")), ended()) == []
    assert hook.authorization == "Basic YWRhOnBAc3M="


def test_the_body_of_an_answer_is_not_read() -> None:
    babbler = Babbler(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nand so on")
    babbler.start()
    assert tell(Notify(webhook=babbler.url), ended()) == []


class Babbler(threading.Thread):
    """Answers a connection with what is no HTTP, or not at all."""

    def __init__(self, answer: bytes | None) -> None:
        super().__init__(daemon=True)
        self._answer = answer
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}/secret-path"

    def run(self) -> None:
        kept = []
        while True:
            connection, _ = self._listening.accept()
            connection.recv(65536)
            if self._answer is None:
                kept.append(connection)
            else:
                connection.sendall(self._answer)
                connection.close()


class Trickler(Babbler):
    """Sends headers that never end, a piece at a time, so that no read ever waits long."""

    def run(self) -> None:
        connection, _ = self._listening.accept()
        with contextlib.suppress(OSError), self._listening, connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
            while True:
                connection.sendall(b"x")
                time.sleep(0.05)


def test_a_hook_that_trickles_has_no_more_time_than_any_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(notify_targets, "SECONDS", 0.5)
    trickler = Trickler(None)
    trickler.start()
    tell(Notify(webhook=trickler.url), ended())
    trickler.join(60)
    assert not trickler.is_alive()


def test_an_answer_that_is_no_http_is_a_warning_without_the_address() -> None:
    babbler = Babbler(b"what?\r\n\r\n")
    babbler.start()
    (warning,) = tell(Notify(webhook=babbler.url), ended())
    assert "secret-path" not in warning


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:9/services/SECRET path",
        "http://ada:SECRET@/x",
        "http://127.0.0.1:0/SECRET",
        "http://[::1/SECRET",
        "http://127.0.0.1:9/SECRÉT",
        f"http://{'a' * 100}.invalid/SECRET",
    ],
)
def test_an_address_that_is_none_is_a_warning_without_it(address: str) -> None:
    (warning,) = tell(Notify(webhook=address), ended())
    assert "its address is not a valid one" in warning
    assert "SECRET" not in warning


def test_a_payload_holds_no_credentials(hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "canary-0123456789")
    tell(Notify(webhook=hook.url), Waiting(9.0, "canary-0123456789 met its limit", resets_at=5.0))
    ((_, payload),) = hook.got
    assert "canary" not in str(payload)
    assert "met its limit" in str(payload)


def test_a_hook_that_is_not_there_is_told_in_words() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    (warning,) = tell(Notify(webhook=f"http://127.0.0.1:{port}/"), ended())
    assert ": Connection refused. " in warning


def test_the_end_does_not_wait_for_a_hook_that_never_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(notify, "LAST_SECONDS", 0.05)
    babbler = Babbler(None)
    babbler.start()
    (warning,) = tell(Notify(webhook=babbler.url), ended())
    assert "too long" in warning


def test_a_signal_ends_the_wait_for_a_hook() -> None:
    babbler = Babbler(None)
    babbler.start()
    warnings: list[str] = []

    def interrupt() -> None:
        signal.raise_signal(signal.SIGINT)

    wishes = Notify(webhook=babbler.url)
    with Notifier(wishes, warnings.append, look_away=interrupt, project=PROJECT) as notifier:
        notifier(ended())
    assert ["a signal came before it was done" in warning for warning in warnings] == [True]


def test_signals_mean_afterwards_what_they_meant_before() -> None:
    before = signal.getsignal(signal.SIGINT)
    tell(Notify(command=("true",)), ended())
    assert signal.getsignal(signal.SIGINT) is before


def test_a_command_gets_the_payload_and_the_event(tmp_path: Path) -> None:
    out = tmp_path / "out"
    script = f'{{ echo "$AUTORUNNER_EVENT"; cat; }} > {out}'
    tell(Notify(command=("sh", "-c", script)), ended(ExitReason.PAUSED))
    event, body = out.read_text().split("\n", 1)
    assert (event, json.loads(body)["exit_reason"]) == ("paused", "paused")


@pytest.mark.parametrize(
    "command", [("sh", "-c", "exit 3"), ("/does/not/exist",), ("sh", "-c", "a\0b")]
)
def test_a_command_that_fails_is_a_warning(command: tuple[str, ...]) -> None:
    assert len(tell(Notify(command=command), ended())) == 1


def test_a_command_that_is_not_there_is_tried_once(tmp_path: Path) -> None:
    paused: list[float] = []
    wishes = Notify(command=(str(tmp_path / "none"),))
    with Notifier(wishes, lambda _: None, sleep=paused.append, project=PROJECT) as notifier:
        notifier(ended())
    assert paused == []


def test_a_command_need_not_read_its_input(tmp_path: Path) -> None:
    out = tmp_path / "out"
    large = Waiting(9.0, "x" * 1_000_000, resets_at=5.0)
    assert tell(Notify(command=("sh", "-c", f"exec <&-; echo done > {out}")), large) == []
    assert out.read_text() == "done\n"


def test_a_command_that_takes_too_long_ends_with_all_that_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notify_targets, "SECONDS", 0.5)
    monkeypatch.setattr(notify, "_PAUSES", ())
    fifo = tmp_path / "held"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    (warning,) = tell(Notify(command=("sh", "-c", f"sleep 600 3> {fifo} & wait")), ended())
    assert "longer than 0.5 s" in warning
    assert read_to_the_end(reader) == b""


def test_who_holds_the_pipes_of_a_command_does_not_hold_the_end(tmp_path: Path) -> None:
    lives = tmp_path / "lives"
    script = f"(until [ -e {lives}.enough ]; do sleep 0.05; done; echo it > {lives}) & exit 0"
    assert tell(Notify(command=("sh", "-c", script)), ended()) == []
    (tmp_path / "lives.enough").touch()
    deadline = time.monotonic() + 60
    while not lives.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert lives.exists()


def test_a_command_that_the_end_does_not_wait_for_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notify, "LAST_SECONDS", 0.5)
    fifo = tmp_path / "held"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    (warning,) = tell(Notify(command=("sh", "-c", f"exec 3> {fifo}; sleep 600")), ended())
    assert "it took too long" in warning
    assert read_to_the_end(reader) == b""


def test_what_a_command_says_is_told_without_addresses_and_keys() -> None:
    said = "curl: \033[2J https://ada:pw@hooks.example.com/T0/SECRET " + "sk-" + "a1" * 20
    (warning,) = tell(Notify(command=("sh", "-c", f"printf '{said}' >&2; exit 6")), ended())
    assert "exit code 6. curl: ␛[2J https://hooks.example.com/… [redacted]" in warning


def test_a_flood_of_errors_is_told_by_its_last_line() -> None:
    flood = "head -c 5000000 /dev/zero | tr '\\0' x >&2; echo >&2; echo end >&2; exit 1"
    (warning,) = tell(Notify(command=("sh", "-c", flood)), ended())
    assert "exit code 1. end See" in warning


def test_half_a_character_is_no_reason_to_fail(hook: Hook) -> None:
    assert tell(Notify(webhook=hook.url), Waiting(9.0, "a\ud800b", resets_at=5.0)) == []
    assert hook.got[0][1]["reason"] == "a?b"


def test_the_address_can_come_from_the_environment(
    hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_HOOK", hook.url)
    tell(Notify(webhook="$TEST_HOOK"), ended())
    assert len(hook.got) == 1


@pytest.mark.parametrize(
    ("wishes", "said"),
    [
        (
            Notify(webhook="$NO_SUCH_VARIABLE"),
            "the variable NO_SUCH_VARIABLE holds no http address",
        ),
        (Notify(webhook="http://[::1/SECRET"), "its address is not a valid one"),
        (Notify(command=("/does/not/exist",)), "there is no such program"),
    ],
)
def test_what_could_never_arrive_is_seen_before(wishes: Notify, said: str) -> None:
    ((_, problem),) = unready(wishes, PROJECT)
    assert said in problem
    assert "SECRET" not in problem


def test_looking_ahead_sends_nothing(hook: Hook, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert (
        list(unready(Notify(command=("sh", "-c", f"cat > {out}"), webhook=hook.url), PROJECT)) == []
    )
    assert (hook.got, out.exists()) == ([], False)


@pytest.mark.parametrize("event", NOTIFY_EVENTS)
def test_a_trial_is_what_a_run_would_send_and_says_that_it_is_none(
    event: str, hook: Hook, tmp_path: Path
) -> None:
    assert list(try_out(Notify(webhook=hook.url), event, tmp_path)) == [("the webhook", None)]
    tell(Notify(webhook=hook.url, on=(event,)), ended(ExitReason(hook.got[0][1]["exit_reason"])))
    (on_trial, trial), (told, payload) = hook.got
    assert (on_trial, told) == (event, event)
    assert trial.keys() == {*payload, "trial"}
    assert "no run has ended" in trial["message"]


@pytest.mark.parametrize("hook", [(500,)], indirect=True)
def test_a_trial_is_made_once(hook: Hook, tmp_path: Path) -> None:
    ((_, problem),) = try_out(Notify(webhook=hook.url), "finished", tmp_path)
    assert problem == "it answered 500."
    assert len(hook.got) == 1
