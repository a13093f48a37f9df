"""`runner session`, command by command."""

import json

import pytest
from tests.cli.control.kit import Cli


def test_start_makes_a_running_session(cli: Cli) -> None:
    data = cli.ok("session", "start")
    assert (data["status"], data["spec_id"], data["created"]) == ("running", "demo", True)


def test_start_hands_on_every_bound(cli: Cli) -> None:
    data = cli.ok(
        "session", "start", "--spec-id", "demo",
        "--max-tasks-per-session", "7", "--max-consecutive-errors", "2",
        "--context-threshold-pct", "60", "--heartbeat-stale-minutes", "11",
        "--heartbeat-grace-minutes", "6", "--step-stale-minutes", "61",
        "--gate-nonce-ttl-minutes", "31", "--max-fidelity-review-cycles-per-phase", "4",
    )  # fmt: skip
    assert data["limits"] == {
        "max_tasks_per_session": 7,
        "max_consecutive_errors": 2,
        "context_threshold_pct": 60,
        "heartbeat_stale_minutes": 11,
        "heartbeat_grace_minutes": 6,
        "step_stale_minutes": 61,
        "gate_nonce_ttl_minutes": 31,
        "max_fidelity_review_cycles_per_phase": 4,
    }


def test_start_hands_on_what_is_no_bound(cli: Cli) -> None:
    data = cli.ok(
        "session", "start", "--gate-policy", "lenient", "--no-gates-required",
        "--stop-on-phase-completion", "--no-auto-retry-fidelity-gate",
        "--enforce-autonomy-write-lock", "--step-proof-ttl-minutes", "16",
    )  # fmt: skip
    assert (data["gate_policy"], data["gates_required"]) == ("lenient", False)
    assert data["stop_conditions"] == {
        "stop_on_phase_completion": True,
        "auto_retry_fidelity_gate": False,
    }
    assert data["write_lock"] == {"enforced": True, "step_proof_ttl_minutes": 16}


@pytest.mark.parametrize(("word", "wanted"), [("1", True), ("false", False)])
def test_start_reads_switches_from_the_environment(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, word: str, wanted: bool
) -> None:
    monkeypatch.setenv("AUTORUNNER_STOP_ON_PHASE_COMPLETION", word)
    data = cli.ok("session", "start")
    assert data["stop_conditions"]["stop_on_phase_completion"] is wanted


def test_the_command_line_goes_before_the_environment(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTORUNNER_GATE_POLICY", "manual")
    assert cli.ok("session", "start", "--gate-policy", "lenient")["gate_policy"] == "lenient"


def test_the_environment_forces_nothing(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli.start()
    monkeypatch.setenv("AUTORUNNER_FORCE", "1")
    assert cli.refused("session", "start") == "SPEC_SESSION_EXISTS"


def test_the_same_idempotency_key_returns_the_same_session(cli: Cli) -> None:
    first = cli.ok("session", "start", "--idempotency-key", "build-7")
    again = cli.ok("session", "start", "--idempotency-key", "build-7")
    assert (again["session_id"], again["created"]) == (first["session_id"], False)


def test_start_with_force_ends_the_live_session(cli: Cli) -> None:
    first = cli.start()
    second = cli.start("--force")
    assert second != first
    assert cli.ok("session", "status", "--session-id", first)["status"] == "ended"


def test_status_shows_the_live_session(cli: Cli) -> None:
    session_id = cli.start()
    assert cli.ok("session", "status")["session_id"] == session_id


@pytest.mark.parametrize("named", ["--session-id", "--spec-id"])
def test_status_takes_either_name(cli: Cli, named: str) -> None:
    session_id = cli.start()
    value = session_id if named == "--session-id" else "demo"
    assert cli.ok("session", "status", named, value)["session_id"] == session_id


def test_the_session_can_be_named_in_the_environment(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = cli.start()
    cli.start("--force")
    monkeypatch.setenv("AUTORUNNER_SESSION_ID", first)
    assert cli.ok("session", "status")["session_id"] == first


def test_status_writes_nothing(cli: Cli) -> None:
    cli.start()
    before = cli.session_file().read_bytes()
    cli.ok("session", "status")
    assert cli.session_file().read_bytes() == before


def test_pause_and_resume(cli: Cli) -> None:
    cli.start()
    paused = cli.ok("session", "pause", "--reason", "lunch")
    resumed = cli.ok("session", "resume")
    assert (paused["status"], paused["pause_reason"]) == ("paused", "user")
    assert (resumed["status"], resumed["resume_context"]["last_pause_reason"]) == (
        "running",
        "user",
    )


def test_the_reason_of_a_pause_is_in_the_journal(cli: Cli) -> None:
    cli.start()
    cli.ok("session", "pause", "--reason", "lunch at noon")
    newest = cli.ok("session", "events")["events"][0]
    assert "lunch at noon" in json.dumps(newest)


def test_rebase_takes_over_new_deliverables(cli: Cli) -> None:
    cli.start()
    cli.add_task("C-001", "p3")
    cli.ok("session", "pause")
    data = cli.ok("session", "rebase")
    assert (data["status"], data["rebase_result"]["added_tasks"]) == ("running", ["C-001"])


def test_end_is_for_good(cli: Cli) -> None:
    cli.start()
    assert cli.ok("session", "end", "--reason", "done by hand")["status"] == "ended"
    assert cli.refused("session", "resume", "--session-id", cli.session_id) == (
        "INVALID_STATE_TRANSITION"
    )


def test_list_pages_with_a_cursor(cli: Cli) -> None:
    started = [cli.start("--force") for _ in range(3)]
    _, first = cli.envelope("session", "list", "--limit", "2")
    page = first["meta"]["pagination"]
    assert (page["has_more"], page["page_size"], page["total_count"]) == (True, 2, 3)
    _, second = cli.envelope("session", "list", "--limit", "2", "--cursor", page["cursor"])
    assert second["meta"]["pagination"] == {
        "cursor": None,
        "has_more": False,
        "page_size": 2,
        "total_count": 3,
    }
    found = [s["session_id"] for e in (first, second) for s in e["data"]["sessions"]]
    assert sorted(found) == sorted(started)


def test_list_filters_by_status_and_spec(cli: Cli) -> None:
    ended, live = cli.start(), cli.start("--force")
    by_status = cli.ok("session", "list", "--status-filter", "ended")["sessions"]
    by_spec = cli.ok("session", "list", "--spec-id", "another")["sessions"]
    assert ([s["session_id"] for s in by_status], by_spec) == ([ended], [])
    assert live != ended


def test_reset_removes_a_damaged_session(cli: Cli) -> None:
    cli.start()
    cli.session_file().write_text("{", encoding="utf-8")
    data = cli.ok("session", "reset", "--session-id", cli.session_id, "--reason", "disk died")
    assert (data["reset"], cli.session_file().exists()) == (True, False)


def test_a_damaged_session_can_still_be_looked_at(cli: Cli) -> None:
    cli.start()
    cli.session_file().write_text("{", encoding="utf-8")
    said = cli.text("session", "status")
    assert "failed (state_corrupt)" in said
    assert f"runner session reset --session-id {cli.session_id}" in said


def test_events_have_one_shape(cli: Cli) -> None:
    cli.start()
    cli.next(cli.report(cli.next(), note="done", files_touched=["a.py"]))
    event = cli.ok("session", "events", "--limit", "1")["events"][0]
    assert set(event) == {
        "event_id", "seq", "at", "event_type", "title", "content", "session_id", "spec_id",
        "phase_id", "step_id", "task_id", "data",
    }  # fmt: skip
    assert (event["event_type"], event["task_id"], event["phase_id"]) == ("step", "A-001", "p1")
    assert event["data"]["files_touched"] == ["a.py"]


def test_events_page_through_the_whole_journal_without_a_gap(cli: Cli) -> None:
    cli.start()
    for number in range(6):
        cli.ok("journal", "add", "--title", f"note {number}")
    seen: list[int] = []
    cursor: str | None = None
    while True:
        words = ("--cursor", cursor) if cursor else ()
        _, envelope = cli.envelope("session", "events", "--limit", "3", *words)
        seen += [event["seq"] for event in envelope["data"]["events"]]
        cursor = envelope["meta"]["pagination"]["cursor"]
        if cursor is None:
            break
    assert seen == [7, 6, 5, 4, 3, 2, 1]


def test_a_page_of_events_stays_the_same_while_entries_are_added(cli: Cli) -> None:
    cli.start()
    for number in range(3):
        cli.ok("journal", "add", "--title", f"note {number}")
    _, first = cli.envelope("session", "events", "--limit", "2")
    cursor = first["meta"]["pagination"]["cursor"]
    before = cli.ok("session", "events", "--cursor", cursor)
    cli.ok("journal", "add", "--title", "later")
    assert cli.ok("session", "events", "--cursor", cursor) == before


@pytest.mark.parametrize(("group", "wrong"), [("session", "next"), ("step", "start")])
def test_an_unknown_command_is_answered_with_the_commands_that_there_are(
    cli: Cli, group: str, wrong: str
) -> None:
    done = cli.run(group, wrong, "--json")
    message = json.loads(done.out)["error"]
    known = {"session": ("start", "resume", "reset"), "step": ("next", "report", "heartbeat")}
    assert all(name in message for name in known[group])
    assert "heartbeat" in done.err or "reset" in done.err
