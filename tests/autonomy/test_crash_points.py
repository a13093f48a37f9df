"""A report that dies at every single point at which it touches the disk."""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.autonomy.plane import Client, statuses, write_status

from runner.autonomy.store.journal import Journal

_POINTS = ("fsync", "replace")


class _CrashError(BaseException):
    """The process is gone."""


class _CrashAt:
    """Lets the process die at the n-th call to the disk, before or after it takes effect."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, number: int, *, after: bool) -> None:
        self.left = number
        self.after = after
        for name in _POINTS:
            monkeypatch.setattr(os, name, self._wrapped(getattr(os, name)))

    def _wrapped(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.left -= 1
            if self.left == 0 and not self.after:
                raise _CrashError
            result = original(*args, **kwargs)
            if self.left == 0:
                raise _CrashError
            return result

        return call


def _crash(client: Client, report: dict[str, Any], number: int, *, after: bool) -> bool:
    """Send the report and die on the way; say whether it died."""
    with pytest.MonkeyPatch.context() as patch:
        _CrashAt(patch, number, after=after)
        try:
            client.call("step", "next", last_step_result=report)
        except _CrashError:
            return True
    return False


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("number", range(1, 13))
def test_a_report_that_dies_anywhere_can_be_sent_again(
    tmp_path: Path,
    number: int,
    after: bool,
) -> None:
    folder = tmp_path / "demo"
    write_status(folder, {"p1": ["A-001", "A-002"]})
    client = Client(folder)
    client.start()
    report = client.report(client.next()["next_step"])
    _crash(client, report, number, after=after)

    survivor = Client(folder, client.clock)
    survivor.session_id = client.session_id
    data = survivor.next(report)
    assert data["next_step"]["task_id"] == "A-002"
    state = survivor.state()
    assert state["completed_task_ids"] == ["A-001"]
    assert statuses(folder) == {"A-001": "passed", "A-002": "pending"}
    titles = [event["title"] for event in survivor.journal()]
    assert titles == ["Autonomous session started", "Task step completed"]
    journal = folder / f".runner/autonomy/journal/{client.session_id}.jsonl"
    assert Journal(journal).first_break() is None


def test_the_points_cover_the_whole_report(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    write_status(folder, {"p1": ["A-001", "A-002"]})
    client = Client(folder)
    client.start()
    report = client.report(client.next()["next_step"])
    assert not _crash(client, report, 12, after=False)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("number", range(1, 11))
def test_a_start_that_dies_anywhere_can_be_made_again(
    tmp_path: Path,
    number: int,
    after: bool,
) -> None:
    folder = tmp_path / "demo"
    write_status(folder, {"p1": ["A-001"]})
    client = Client(folder)
    client.plane.core.key()
    with pytest.MonkeyPatch.context() as patch:
        _CrashAt(patch, number, after=after)
        with contextlib.suppress(_CrashError):
            client.call("session", "start", idempotency_key="k")

    survivor = Client(folder, client.clock)
    survivor.start(idempotency_key="k")
    rows = survivor.ok("session", "list")["sessions"]
    assert [row["status"] for row in rows] == ["running"]
    assert [event["title"] for event in survivor.journal()] == ["Autonomous session started"]
    assert survivor.finish()[-1] == "complete_spec"
