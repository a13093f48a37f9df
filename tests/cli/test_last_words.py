"""The result of a run that was ended on the spot."""

import signal
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.scenes import result
from tests.loop.fakes import Recorder, deliverable

from runner.app.unfinished import InterruptResult
from runner.deliverables.model import Status, StatusFile
from runner.deliverables.repository import StatusRepository
from runner.deliverables.workspace import status_path
from runner.events import (
    ExitReason,
    RunEnded,
    RunEvent,
    RunResult,
    SessionActivity,
    SessionEnded,
    SessionOutcome,
    SessionResult,
    SessionStarted,
    StreamUsage,
)
from runner.marker import Instruction

FIRST = SessionStarted(1, Instruction.INITIALIZER, 1, "opus")
FIRST_ENDED = SessionEnded(
    1, Instruction.INITIALIZER, SessionResult(SessionOutcome.COMPLETED, cost_usd=0.5)
)
SECOND = SessionStarted(2, Instruction.CODING, 2, "sonnet")


def told(project: Path, *events: RunEvent) -> Recorder:
    """Return what is published after these events and two signals too many."""
    published = Recorder()
    interrupt = InterruptResult(project, "run", published, clock=iter([10.0, 12.5]).__next__)
    for event in events:
        interrupt(event)
    interrupt.publish(signal.SIGINT)
    interrupt.publish(signal.SIGINT)
    return published


def last(project: Path, *events: RunEvent) -> RunResult:
    found = told(project, *events)[-1]
    assert isinstance(found, RunEnded)
    return found.result


def test_it_is_interrupted_by_its_signal(tmp_path: Path) -> None:
    found = last(tmp_path, FIRST)
    assert (found.exit_reason, found.signal_number) == (ExitReason.INTERRUPTED, signal.SIGINT)


def test_what_was_done_is_counted(tmp_path: Path) -> None:
    found = last(tmp_path, FIRST, FIRST_ENDED, SECOND)
    assert (found.agent_sessions, found.iterations) == (2, 2)
    assert found.duration_seconds == pytest.approx(2.5)


def test_the_session_at_work_counts_with_what_is_known_of_its_cost(tmp_path: Path) -> None:
    known = SessionActivity(StreamUsage(0.25))
    assert last(tmp_path, FIRST, FIRST_ENDED, SECOND, known).total_cost_usd == pytest.approx(0.75)


def test_the_result_replaces_the_estimate(tmp_path: Path) -> None:
    known = SessionActivity(StreamUsage(0.25))
    assert last(tmp_path, FIRST, known, FIRST_ENDED).total_cost_usd == pytest.approx(0.5)


def test_the_end_is_told_once(tmp_path: Path) -> None:
    assert [type(event) for event in told(tmp_path, FIRST)] == [RunEnded]


def test_a_run_that_told_its_end_has_no_other(tmp_path: Path) -> None:
    ended = RunEnded(result())
    assert told(tmp_path, ended) == []


def test_damaged_deliverables_do_not_stand_in_the_way(tmp_path: Path) -> None:
    (tmp_path / ".runner").mkdir()
    (tmp_path / ".runner" / "status.json").write_text("{")
    assert last(tmp_path, FIRST).counts.total == 0


def test_the_reasons_of_blocked_work_are_in_it(tmp_path: Path) -> None:
    plan = (replace(deliverable(1, Status.BLOCKED), blocked_reason="No network"), deliverable(2))
    repository = StatusRepository(status_path(tmp_path))
    repository.update(lambda _: StatusFile(spec_id="greeter", deliverables=plan))
    found = last(tmp_path, FIRST)
    assert (found.spec_id, found.blocked_reasons) == ("greeter", {"D-001": "No network"})
