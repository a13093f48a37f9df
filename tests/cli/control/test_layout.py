"""What people see: 80 columns in a pipe, 120 at most on a terminal, and nothing that acts."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from rich.cells import cell_len
from tests.cli.control.kit import Cli

from runner.cli.control.scene import Scene, screen_width, span
from runner.report.workspace_flag import place_of

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def _hostile(cli: Cli) -> None:
    path = cli.workspace / ".runner/status.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    for item in document["deliverables"]:
        item["description"] = "\x1b[31mred\x07 " + "漢字 and more words " * 12
        item["acceptanceCriteria"] = ["It does\r\nwhat \x9b2J it says " * 8]
    document["phases"][0]["title"] = "A title\n::error::of more than one line " * 4
    path.write_text(json.dumps(document), encoding="utf-8")


def _flat(said: str) -> str:
    return " ".join(said.split())


def _said(cli: Cli) -> Iterator[str]:
    yield cli.text("task", "list")
    yield cli.text("task", "prepare", "A-001")
    yield cli.text("session", "start")
    yield cli.text("step", "next")
    yield cli.text("session", "status")
    yield cli.text("session", "pause", "--reason", "because " * 50)
    yield cli.text("session", "list")
    yield cli.text("journal", "list")
    yield cli.run("status", "-p", str(cli.workspace)).out


def test_no_line_is_wider_than_a_pipe_may_have_but_for_names(cli: Cli) -> None:
    _hostile(cli)
    place = str(cli.workspace)
    lines = [line for said in _said(cli) for line in said.splitlines() if place not in line]
    assert [line for line in lines if cell_len(line) > 80] == []


def test_nothing_that_a_terminal_would_act_on_gets_through(cli: Cli) -> None:
    _hostile(cli)
    assert all(line.isprintable() for said in _said(cli) for line in said.split("\n"))


def test_nothing_that_a_ci_system_would_act_on_gets_through(cli: Cli) -> None:
    _hostile(cli)
    lines = [line for said in _said(cli) for line in said.splitlines()]
    assert not any(line.lstrip().startswith("::") for line in lines)


def test_a_command_is_broken_so_that_a_shell_understands_it() -> None:
    scene = Scene({}, NOW, width=46)
    lines = list(scene.next("session", "events", "--session-id", "auto_1", "--cursor", "abc"))
    assert lines == ["Next: runner session events \\", "        --session-id auto_1 --cursor abc"]


def test_a_command_quotes_what_a_shell_would_take_apart() -> None:
    scene = Scene({}, NOW, place=place_of("/my projects/app"))
    assert scene.command("step", "next") == "runner step next --workspace '/my projects/app'"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0s"), (59.9, "59s"), (61, "1m"), (3600, "1h"), (7512, "2h 5m"), (86400, "1d"),
     (270_000, "3d 3h")],
)  # fmt: skip
def test_durations_have_two_parts_at_most(seconds: float, shown: str) -> None:
    assert span(seconds) == shown


def test_times_are_told_relative_to_now() -> None:
    scene = Scene({}, NOW)
    assert scene.ago((NOW - timedelta(minutes=5)).isoformat()) == "5m ago"
    assert scene.until((NOW + timedelta(minutes=5)).isoformat()) == "2026-03-01 12:05:00Z, in 5m"
    assert scene.until((NOW - timedelta(minutes=5)).isoformat()) == "2026-03-01 11:55:00Z, over"


class _Terminal:
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("columns", "width"), [(20, 40), (80, 80), (100, 100), (300, 120)])
def test_a_terminal_is_used_within_reason(
    monkeypatch: pytest.MonkeyPatch, columns: int, width: int
) -> None:
    monkeypatch.setattr("sys.stdout", _Terminal())
    monkeypatch.setenv("COLUMNS", str(columns))
    assert screen_width() == width


def test_a_stalled_phase_is_said_so(cli: Cli) -> None:
    before = cli.in_the_past(hours=3)
    minutes = {
        "heartbeat_stale_minutes": 601,
        "heartbeat_grace_minutes": 600,
        "step_stale_minutes": 600,
    }
    before.start(
        gates_required=False, step_proof_ttl_minutes=600, stop_on_phase_completion=False, **minutes
    )
    step = before.next()["next_step"]
    before.clock.wait(minutes=30)
    while step["phase_id"] == "p1":
        step = before.next(before.report(step))["next_step"]
    said = cli.text("session", "status")
    assert "Progress  phase 2 of 2 (50% complete), 2 deliverables completed, 1 to go\n" in said
    assert "Closed    p1 Phase p1 (30m)\n" in said
    assert "for 2h 30m, more than twice the average: possibly stalled" in _flat(said)
    assert "Timing    30m per phase on average, about 30m to go\n" in said


def test_findings_of_a_failed_review_are_shown(cli: Cli) -> None:
    cli.start("--no-auto-retry-fidelity-gate")
    step = cli.until("run_fidelity_gate")
    findings = json.dumps([{"severity": "major", "title": "No tests", "detail": "None at all."}])
    words = ("--phase-id", "p1", "--step-id", step["step_id"], "--findings", findings)
    evidence = cli.ok("review", "gate", *words, "--verdict", "fail")
    keys = ("gate_attempt_id", "gate_evidence_token")
    cli.next(cli.report(step, "failure") | {"outcome": "success"} | {k: evidence[k] for k in keys})
    said = cli.text("session", "status")
    assert (
        "Findings of the last review of p1 (fail)\n  - major: No tests\n    None at all.\n" in said
    )


def test_people_get_what_a_rebase_changed(cli: Cli) -> None:
    cli.start()
    cli.add_task("C-001", "p3")
    cli.ok("session", "pause")
    said = cli.text("session", "rebase")
    assert "  added tasks   C-001\n" in said


def test_people_get_what_is_done_and_what_is_left_after_a_resume(cli: Cli) -> None:
    cli.start()
    cli.next(cli.report(cli.next()))
    cli.ok("session", "pause")
    said = cli.text("session", "resume")
    assert "Done   A-001\nTo do  A-002\n" in said


def test_the_review_says_whether_it_passes(cli: Cli) -> None:
    cli.start()
    step = cli.until("run_fidelity_gate")
    words = ("--phase-id", "p1", "--step-id", step["step_id"], "--verdict", "warn")
    assert cli.text("review", "gate", *words).startswith(
        "Review of p1: warn, which does not pass the strict policy.\n"
    )


def test_no_sessions_are_no_empty_screen(cli: Cli) -> None:
    assert cli.text("session", "list").startswith("There are no sessions.\nNext: runner session")


def test_the_list_says_where_each_session_stands(cli: Cli) -> None:
    session_id = cli.start()
    cli.ok("session", "pause")
    header, row, *_ = cli.text("session", "list").splitlines()
    assert header.split() == ["SESSION", "STATUS", "TASKS", "CHANGED", "SPEC"]
    assert row.split() == [session_id, "paused", "(user)", "0", *row.split()[4:]]
    assert row.endswith("demo")


def test_a_damaged_session_is_in_the_list(cli: Cli) -> None:
    session_id = cli.start()
    cli.session_file().write_text("{", encoding="utf-8")
    row = cli.text("session", "list").splitlines()[1]
    assert row.split() == [session_id, "failed", "(state_corrupt)", "-", "-", "demo"]


def test_a_silent_session_is_shown_as_it_will_be(cli: Cli) -> None:
    cli.in_the_past(hours=1).start()
    said = cli.text("session", "status")
    assert "running, but silent for too long (heartbeat_stale)" in _flat(said)
    assert "Next: runner session resume" in said
