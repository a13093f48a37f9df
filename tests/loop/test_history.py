"""What agent sessions there were stays on disk, whatever becomes of the run."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.loop.fakes import Recorder

from runner.deliverables.model import Counts
from runner.events import (
    ExitReason,
    Notice,
    RunEnded,
    RunEvent,
    RunResult,
    SessionActivity,
    SessionEnded,
    SessionOutcome,
    SessionResult,
    SessionStarted,
    StreamToolDenied,
    StreamToolInvocation,
    TokenUse,
    Waiting,
)
from runner.marker import Instruction
from runner.records.agent_sessions import MOST_DENIALS, HistoryKeeper, history_lines, history_path

STARTED = SessionStarted(
    1, Instruction.CODING, 1, "sonnet", task_id="UI-001", phase_id="one", step_id="step_1"
)
DENIED = SessionActivity(StreamToolDenied("Bash", {"command": "rm -rf /"}, "No removing."))
ENDED = SessionEnded(
    1,
    Instruction.CODING,
    SessionResult(
        SessionOutcome.COMPLETED,
        text="Done.",
        cost_usd=0.25,
        turns=4,
        tokens=(TokenUse("claude-sonnet-9", 10, 20, 30, 40, 0.25),),
    ),
)


def keep(project: Path, *events: RunEvent, clean: Any = lambda value: value) -> Recorder:
    """Let a run tell these events."""
    sink = Recorder()
    keeper = HistoryKeeper(
        project, "run", sink, clean=clean, now=lambda: datetime(2026, 3, 1, tzinfo=UTC)
    )
    for event in events:
        keeper(event)
    return sink


def kept(project: Path) -> list[dict[str, Any]]:
    return [line for line in history_lines(project) if line is not None]


def test_a_session_is_written_down_with_its_tokens(tmp_path: Path) -> None:
    keep(tmp_path, STARTED, ENDED)
    begun, ended = kept(tmp_path)
    assert (begun["event"], begun["model"], begun["step_id"]) == (
        "session_started",
        "sonnet",
        "step_1",
    )
    assert ended["tokens"] == [
        {
            "model": "claude-sonnet-9",
            "input_tokens": 10,
            "output_tokens": 20,
            "cache_read_tokens": 30,
            "cache_write_tokens": 40,
            "cost_usd": 0.25,
        }
    ]


def test_a_session_that_was_killed_has_a_beginning(tmp_path: Path) -> None:
    keep(tmp_path, STARTED)
    assert [line["event"] for line in kept(tmp_path)] == ["session_started"]


def test_nothing_is_published_while_all_goes_well(tmp_path: Path) -> None:
    assert keep(tmp_path, STARTED, DENIED, ENDED, Waiting(3.0, "a limit")) == []


def test_a_refused_call_is_written_down_when_it_happens(tmp_path: Path) -> None:
    keep(tmp_path, STARTED, DENIED)
    assert kept(tmp_path)[-1]["input"] == '{"command": "rm -rf /"}'


def test_a_storm_of_refusals_is_counted_and_not_written(tmp_path: Path) -> None:
    keep(tmp_path, STARTED, *[DENIED] * (MOST_DENIALS + 5), ENDED)
    lines = kept(tmp_path)
    assert len(lines) == MOST_DENIALS + 2
    assert lines[-1]["denied"] == MOST_DENIALS + 5


def test_calls_are_counted_for_each_session_alone(tmp_path: Path) -> None:
    tool = SessionActivity(StreamToolInvocation("t1", "Read", {}))
    keep(tmp_path, STARTED, tool, tool, ENDED, STARTED, tool, ENDED)
    assert [line["tools"] for line in kept(tmp_path) if "tools" in line] == [2, 1]


def test_the_end_of_a_run_is_written_down(tmp_path: Path) -> None:
    result = RunResult("run", ExitReason.STALLED, "Nothing moved.", "s", Counts())
    keep(tmp_path, RunEnded(result, {"session_id": "auto_1"}))
    assert kept(tmp_path)[0]["exit_reason"] == "stalled"


def test_credentials_are_taken_out_before_anything_is_cut(tmp_path: Path) -> None:
    # The secret stands across the place where the text is cut.
    denied = StreamToolDenied("Bash", {"command": "x" * 470 + "SECRET" * 10}, "no")

    def clean(value: Any) -> Any:
        return json.loads(json.dumps(value).replace("SECRET" * 10, "[gone]"))

    keep(tmp_path, STARTED, SessionActivity(denied), clean=clean)
    assert "SECRET" not in history_path(tmp_path).read_text()


def test_a_line_that_a_crash_cut_off_spoils_no_other(tmp_path: Path) -> None:
    keep(tmp_path, STARTED)
    with history_path(tmp_path).open("ab") as file:
        file.write(b'{"event": "session_e')
    keep(tmp_path, STARTED)
    assert [line is None for line in history_lines(tmp_path)] == [False, True, False]


def test_what_can_not_be_written_is_told_once(tmp_path: Path) -> None:
    history_path(tmp_path).mkdir(parents=True)
    events = keep(tmp_path, STARTED, ENDED, STARTED)
    assert [event.level for event in events if isinstance(event, Notice)] == ["warning"]


def test_a_link_that_leads_elsewhere_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    project = tmp_path / "project"
    history_path(project).parent.mkdir(parents=True)
    history_path(project).symlink_to(victim)
    keep(project, STARTED)
    assert victim.read_text() == "mine"


def test_there_is_no_history_before_the_first_run(tmp_path: Path) -> None:
    assert list(history_lines(tmp_path)) == []
