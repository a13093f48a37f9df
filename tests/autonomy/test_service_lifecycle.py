"""Sessions on disk: start, status, pause, resume, rebase, end, list, reset, and their lookup."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.autonomy.plane import Client, statuses, write_status

from runner.autonomy.store.layout import Layout
from runner.files import locked


def _index(client: Client) -> dict[str, str]:
    path = client.workspace / ".runner/autonomy/index/spec_active_index.json"
    active: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))["active"]
    return active


def test_start_answers_with_the_fields_of_the_source(client: Client) -> None:
    data = client.start(max_tasks_per_session=7, gate_policy="lenient")
    assert data["limits"]["max_tasks_per_session"] == 7
    assert (data["status"], data["gate_policy"], data["spec_id"]) == ("running", "lenient", "demo")
    assert data["counters"]["tasks_remaining"] == 3
    assert data["write_lock"] == {"enforced": True, "step_proof_ttl_minutes": 60}
    assert data["active_phase_id"] == "p1"


def test_a_second_start_is_refused(client: Client) -> None:
    client.start()
    envelope = client.call("session", "start")
    assert envelope["data"]["error_code"] == "SPEC_SESSION_EXISTS"
    assert envelope["data"]["details"]["session_id"] == client.session_id


def test_the_same_idempotency_key_returns_the_same_session(client: Client) -> None:
    first = client.start(idempotency_key="k-1")
    again = client.ok("session", "start", idempotency_key="k-1")
    assert again["session_id"] == first["session_id"]
    assert (first["created"], again["created"]) == (True, False)


def test_another_idempotency_key_is_refused(client: Client) -> None:
    client.start(idempotency_key="k-1")
    assert client.refused("session", "start", idempotency_key="k-2") == "SPEC_SESSION_EXISTS"


def test_force_ends_the_old_session(client: Client) -> None:
    old = client.start()["session_id"]
    new = client.start(force=True)["session_id"]
    assert client.ok("session", "status", session_id=old)["status"] == "ended"
    assert _index(client) == {"demo": new}


def test_after_completion_a_new_session_can_start(client: Client) -> None:
    client.start()
    client.finish()
    assert client.refused("session", "status") == "NO_ACTIVE_SESSION"
    assert client.start()["status"] == "running"


@pytest.mark.parametrize(
    "params",
    [
        {"max_tasks_per_session": 0},
        {"max_consecutive_errors": -1},
        {"context_threshold_pct": 101},
        {"gate_policy": "loose"},
        {"max_fidelity_review_cycles_per_phase": 0},
        {"step_proof_ttl_minutes": 0},
        {"auto_retry_fidelity_gate": "yes"},
        {"enforce_autonomy_write_lock": 1},
        {"idempotency_key": "a b"},
        {"idempotency_key": "x" * 129},
        {"idempotency_key": "k\n"},
        {"unknown": 1},
    ],
)
def test_a_start_out_of_bounds_is_refused_and_leaves_nothing(
    client: Client, params: dict[str, Any]
) -> None:
    assert client.refused("session", "start", **params) == "VALIDATION_ERROR"
    assert not (client.workspace / ".runner/autonomy/sessions").exists()


def test_a_start_without_a_spec_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    assert Client(folder).refused("session", "start") == "SPEC_NOT_FOUND"


def test_a_start_for_another_spec_says_so(client: Client) -> None:
    assert client.refused("session", "start", spec_id="other") == "SPEC_NOT_FOUND"


def test_an_empty_spec_cannot_be_started(client: Client) -> None:
    write_status(client.workspace, {"p1": []})
    assert client.refused("session", "start") == "VALIDATION_ERROR"


def test_without_a_session_the_lookup_says_so(client: Client) -> None:
    for command in ("status", "pause", "resume", "rebase", "end"):
        assert client.refused("session", command) == "NO_ACTIVE_SESSION"
    assert client.refused("step", "next") == "NO_ACTIVE_SESSION"


def test_two_live_sessions_are_ambiguous(client: Client) -> None:
    first = client.start()["session_id"]
    path = write_status(client.workspace, {"p1": ["A-001"]})
    text = path.read_text(encoding="utf-8").replace('"demo"', '"other"')
    path.write_text(text, encoding="utf-8")
    second = client.start()["session_id"]
    envelope = client.call("session", "status")
    assert envelope["data"]["error_code"] == "AMBIGUOUS_ACTIVE_SESSION"
    assert envelope["data"]["details"]["session_ids"] == sorted([first, second])
    assert client.ok("session", "status", spec_id="demo")["session_id"] == first


@pytest.mark.parametrize(
    ("session_id", "code"),
    [
        ("auto_01ARZ3NDEKTSV4RRFFQ69G5FAV", "SESSION_NOT_FOUND"),
        ("../../../etc/passwd", "VALIDATION_ERROR"),
        ("auto_01ARZ3NDEKTSV4RRFFQ69G5FAV/..", "VALIDATION_ERROR"),
        ("", "VALIDATION_ERROR"),
        ("auto_01ARZ3NDEKTSV4RRFFQ69G5FAV\n", "VALIDATION_ERROR"),
    ],
)
def test_a_foreign_session_id_never_becomes_a_path(
    client: Client, session_id: str, code: str
) -> None:
    client.start()
    for group, command in (("session", "status"), ("session", "reset"), ("session", "events")):
        assert client.refused(group, command, session_id=session_id) == code


def test_reset_takes_no_lookup(client: Client) -> None:
    client.start()
    assert client.refused("session", "reset") == "VALIDATION_ERROR"


def test_only_a_failed_session_is_reset(client: Client) -> None:
    client.start()
    code = client.refused("session", "reset", session_id=client.session_id)
    assert code == "INVALID_STATE_TRANSITION"


def _damage(client: Client) -> None:
    client.session_file().write_text('{"_schema_version": 1, "id"', encoding="utf-8")


def test_a_damaged_session_counts_as_failed_and_fails_closed(client: Client) -> None:
    client.start()
    _damage(client)
    status = client.ok("session", "status", session_id=client.session_id)
    assert (status["status"], status["failure_reason"]) == ("failed", "state_corrupt")
    assert client.refused("session", "start") == "SPEC_SESSION_EXISTS"
    assert client.refused("session", "start", force=True) == "SPEC_SESSION_EXISTS"
    assert client.refused("step", "next") == "SESSION_UNRECOVERABLE"
    assert client.refused("session", "resume") == "SESSION_UNRECOVERABLE"


def test_a_newer_session_file_is_left_alone(client: Client) -> None:
    client.start()
    client.edit_state(_schema_version=99, brand_new_field=1)
    before = client.session_file().read_bytes()
    status = client.ok("session", "status")
    assert (status["status"], status["failure_reason"]) == ("failed", "migration_failed")
    assert client.refused("session", "resume", force=True) == "SESSION_UNRECOVERABLE"
    assert client.session_file().read_bytes() == before


def test_reset_of_a_damaged_session_allows_a_new_start(client: Client) -> None:
    client.start()
    step = client.next()["next_step"]
    client.next(client.report(step))
    _damage(client)
    old = client.session_id
    client.ok("session", "reset", session_id=old, reason="damaged")
    assert not client.session_file().exists()
    assert _index(client) == {}
    assert statuses(client.workspace)["A-001"] == "passed"
    assert client.journal()[-1]["content"].endswith("Reason: damaged")
    assert client.start()["counters"]["tasks_completed"] == 1


def test_a_forced_resume_makes_a_damaged_session_anew(client: Client) -> None:
    client.start()
    step = client.next()["next_step"]
    client.next(client.report(step))
    _damage(client)
    data = client.ok("session", "resume", force=True)
    assert (data["session_id"], data["status"]) == (client.session_id, "running")
    assert data["counters"]["tasks_completed"] == 1
    assert client.next()["next_step"]["task_id"] == "A-002"
    numbers = [event["seq"] for event in client.journal()]
    assert numbers == list(range(1, len(numbers) + 1))


def test_resume_tells_a_caller_with_an_empty_context_where_it_is(client: Client) -> None:
    client.start()
    step = client.next()["next_step"]
    client.next(client.report(step, files_touched=["src/a.py"]))
    client.ok("session", "pause")
    context = client.ok("session", "resume")["resume_context"]
    assert context["completed_task_count"] == 1
    assert context["recent_completed_tasks"] == [
        {
            "task_id": "A-001",
            "title": "Title of A-001",
            "phase_id": "p1",
            "files_touched": ["src/a.py"],
        }
    ]
    assert [t["task_id"] for t in context["pending_tasks_in_phase"]] == ["A-002"]
    assert (context["last_pause_reason"], context["journal_available"]) == ("user", True)
    assert client.session_id in context["journal_hint"]


def test_without_its_journal_a_session_resumes_and_says_that_there_is_none(
    client: Client,
) -> None:
    client.start()
    client.ok("session", "pause")
    journal = client.workspace / f".runner/autonomy/journal/{client.session_id}.jsonl"
    journal.unlink()
    journal.mkdir()
    context = client.ok("session", "resume")["resume_context"]
    assert (context["journal_available"], context["journal_hint"]) == (False, None)


def test_the_resume_context_names_at_most_ten_tasks(client: Client) -> None:
    tasks = [f"T-{n:03}" for n in range(15)]
    write_status(client.workspace, {"p1": [*tasks, "T-900"]}, passed=tasks)
    client.start()
    client.ok("session", "pause")
    context = client.ok("session", "resume")["resume_context"]
    assert (context["completed_task_count"], len(context["recent_completed_tasks"])) == (15, 10)


def test_status_derives_staleness_and_writes_nothing(client: Client) -> None:
    client.start()
    before = client.session_file().read_bytes()
    client.clock.wait(minutes=6)
    status = client.ok("session", "status")
    assert (status["status"], status["effective_status"]) == ("running", "paused")
    assert status["stale_reason"] == "heartbeat_stale"
    row = client.ok("session", "list")["sessions"][0]
    assert (row["status"], row["effective_status"]) == ("running", "paused")
    assert client.session_file().read_bytes() == before


def test_next_persists_what_status_only_derived(client: Client) -> None:
    client.start()
    client.clock.wait(minutes=6)
    data = client.next()
    assert (data["pause_reason"], data["details"]["pause_trigger"]) == (
        "heartbeat_stale",
        "HEARTBEAT_STALE",
    )
    assert client.state()["status"] == "paused"


def _many(workspace: Path, count: int) -> Client:
    client = Client(workspace)
    for _ in range(count):
        client.clock.wait(seconds=1)
        client.start(force=True)
    return client


def test_list_pages_through_all_sessions_last_changed_first(workspace: Path) -> None:
    client = _many(workspace, 5)
    seen: list[str] = []
    cursor: str | None = None
    while True:
        params = {"cursor": cursor} if cursor else {}
        envelope = client.call("session", "list", limit=2, **params)
        seen += [row["session_id"] for row in envelope["data"]["sessions"]]
        page = envelope["meta"]["pagination"]
        assert page["total_count"] == 5
        cursor = page["cursor"]
        assert page["has_more"] is (cursor is not None)
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == 5
    assert seen[0] == client.session_id


def test_list_filters_by_status_and_spec(workspace: Path) -> None:
    client = _many(workspace, 3)
    ended = client.ok("session", "list", status_filter="ended")["sessions"]
    assert len(ended) == 2
    assert client.ok("session", "list", spec_id="other")["sessions"] == []


def test_list_shows_a_damaged_session_as_failed(client: Client) -> None:
    client.start()
    _damage(client)
    rows = client.ok("session", "list")["sessions"]
    assert [(r["status"], r["failure_reason"]) for r in rows] == [("failed", "state_corrupt")]


@pytest.mark.parametrize("cursor", ["x", "", "eyJ2IjoyfQ", "é", "a" * 999])
def test_a_foreign_cursor_is_refused(client: Client, cursor: str) -> None:
    client.start()
    assert client.refused("session", "list", cursor=cursor) == "INVALID_CURSOR"
    assert client.refused("session", "events", cursor=cursor) == "INVALID_CURSOR"


def test_a_cursor_of_one_list_does_not_open_another(workspace: Path) -> None:
    client = _many(workspace, 2)
    cursor = client.call("session", "list", limit=1)["meta"]["pagination"]["cursor"]
    assert client.refused("session", "events", cursor=cursor) == "INVALID_CURSOR"


def test_events_have_one_shape(client: Client) -> None:
    client.start()
    step = client.next()["next_step"]
    client.next(client.report(step))
    event = client.ok("session", "events", limit=1)["events"][0]
    assert (event["event_type"], event["task_id"], event["step_id"]) == (
        "step",
        "A-001",
        step["step_id"],
    )


def test_notes_go_into_the_journal_in_order(client: Client) -> None:
    client.start()
    client.ok("journal", "add", title="A note", content="text")
    assert [e["title"] for e in client.journal()] == ["Autonomous session started", "A note"]


def test_a_held_lock_times_out_and_changes_nothing(workspace: Path) -> None:
    client = Client(workspace, lock_seconds=0.05)
    client.start()
    before = client.session_file().read_bytes()
    layout = Layout.of(workspace)
    with locked(layout.session_lock(client.session_id)):
        envelope = client.call("session", "pause")
    assert (envelope["data"]["error_code"], envelope["data"]["error_type"]) == (
        "LOCK_TIMEOUT",
        "unavailable",
    )
    assert client.session_file().read_bytes() == before


def test_a_held_spec_lock_times_out_a_start(workspace: Path) -> None:
    client = Client(workspace, lock_seconds=0.05)
    with locked(Layout.of(workspace).spec_lock("demo")):
        assert client.refused("session", "start") == "LOCK_TIMEOUT"
    assert list((workspace / ".runner/autonomy").glob("sessions/*")) == []


def test_a_lost_index_is_built_again(client: Client) -> None:
    client.start()
    (client.workspace / ".runner/autonomy/index/spec_active_index.json").unlink()
    assert client.refused("session", "start") == "SPEC_SESSION_EXISTS"
    assert client.ok("session", "status")["session_id"] == client.session_id


def test_an_index_entry_without_a_session_is_stale(client: Client) -> None:
    client.start()
    client.session_file().unlink()
    shutil.rmtree(client.workspace.parent / "key" / "anchors")
    assert client.plane.core.store.active() == {"demo": client.session_id}
    assert client.refused("step", "next") == "NO_ACTIVE_SESSION"
    assert client.start()["status"] == "running"


@pytest.mark.parametrize("content", ["", "{", "[]", '{"_schema_version": 2, "active": {}}'])
def test_a_damaged_index_fails_closed(client: Client, content: str) -> None:
    client.start()
    path = client.workspace / ".runner/autonomy/index/spec_active_index.json"
    path.write_text(content, encoding="utf-8")
    assert client.refused("session", "start") == "SESSION_UNRECOVERABLE"


def test_a_crash_between_state_and_what_follows_is_healed_by_the_next_reader(
    client: Client,
) -> None:
    client.start()
    step = client.next()["next_step"]
    journal = client.workspace / f".runner/autonomy/journal/{client.session_id}.jsonl"
    status = client.workspace / ".runner/status.json"
    before = (journal.read_bytes(), status.read_bytes())
    client.next(client.report(step))
    journal.write_bytes(before[0])
    status.write_bytes(before[1])
    Client(client.workspace, client.clock).ok("session", "status")
    assert statuses(client.workspace)["A-001"] == "passed"
    assert [e["title"] for e in client.journal()][-1] == "Task step completed"
    assert len(client.journal()) == 2


def test_a_later_change_of_a_deliverable_is_not_undone_by_healing(client: Client) -> None:
    client.start()
    step = client.next()["next_step"]
    client.next(client.report(step))
    write_status(client.workspace, {"p1": ["A-001", "A-002"], "p2": ["B-001"]})
    client.ok("session", "status")
    client.ok("step", "heartbeat", context_usage_pct=1)
    assert statuses(client.workspace)["A-001"] == "pending"


def test_a_project_that_cannot_be_written_keeps_its_state_with_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("runner.autonomy.store.layout.os.access", lambda *_: False)
    folder = tmp_path / "demo"
    write_status(folder, {"p1": ["A-001"]})
    assert Layout.of(folder).root.is_relative_to(tmp_path / "state")


def test_maintenance_persists_what_readers_only_derived(client: Client) -> None:
    client.start()
    client.clock.wait(minutes=6)
    assert client.plane.maintain() == {"paused": 1, "removed": 0}
    assert client.state()["pause_reason"] == "heartbeat_stale"
    assert client.plane.maintain() == {"paused": 0, "removed": 0}


def test_maintenance_leaves_a_working_session_alone(client: Client) -> None:
    client.start()
    before = client.session_file().read_bytes()
    assert client.plane.maintain() == {"paused": 0, "removed": 0}
    assert client.session_file().read_bytes() == before


def test_starting_keeps_the_state_out_of_commits(client: Client) -> None:
    client.start()
    ignored = (client.workspace / ".runner/.gitignore").read_text(encoding="utf-8")
    assert "autonomy/" in ignored


@pytest.mark.parametrize(("grace", "stale"), [(20, 10), (10, 10), (10, None)])
def test_a_grace_that_is_not_shorter_than_the_stale_time_is_refused(
    client: Client, grace: int, stale: int | None
) -> None:
    code = client.refused(
        "session", "start", heartbeat_grace_minutes=grace, heartbeat_stale_minutes=stale
    )
    assert code == "VALIDATION_ERROR"


def test_a_short_stale_time_shortens_the_grace(client: Client) -> None:
    limits = client.start(heartbeat_stale_minutes=3)["limits"]
    assert (limits["heartbeat_grace_minutes"], limits["heartbeat_stale_minutes"]) == (2, 3)


def test_a_proof_holds_as_long_as_its_step_may_take(client: Client) -> None:
    lock = client.start(step_stale_minutes=240)["write_lock"]
    assert lock["step_proof_ttl_minutes"] == 240
