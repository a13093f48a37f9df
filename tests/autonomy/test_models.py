"""Session state as it is stored, and its migrations."""

import json
from typing import Any

import pytest
from pydantic import ValidationError
from tests.autonomy.kit import Caller, make_spec

from runner.autonomy.enums import SCHEMA_VERSION, SessionStatus
from runner.autonomy.inputs import StepReport
from runner.autonomy.migrations import MigrationError, migrate
from runner.autonomy.models import SessionState

SPEC = make_spec({"p1": ["A", "B"]}, commands={"p1": ["make"]})


def _rich_state() -> SessionState:
    caller = Caller(SPEC, auto_retry=False)
    caller.succeed_until("run_fidelity_gate")
    caller.review("warn")
    caller.next(caller.review("fail"))
    return caller.state


def test_a_state_survives_the_way_through_its_file() -> None:
    state = _rich_state()
    assert SessionState.model_validate_json(state.model_dump_json(by_alias=True)) == state


def test_an_evolved_state_is_the_copy_that_the_library_makes() -> None:
    state = _rich_state()
    changes = {"status": SessionStatus.ENDED, "retry_task_id": "A"}
    evolved, copied = state.evolve(**changes), state.model_copy(update=changes)
    assert evolved == copied
    assert evolved.model_fields_set == copied.model_fields_set
    assert evolved.model_dump_json() == copied.model_dump_json()
    assert state.status is not SessionStatus.ENDED


def test_the_stored_form_has_the_fields_of_the_source() -> None:
    document = json.loads(_rich_state().model_dump_json(by_alias=True))
    expected = {
        "_schema_version", "id", "spec_id", "idempotency_key", "spec_structure_hash",
        "spec_file_mtime", "spec_file_size", "status", "created_at", "updated_at", "paused_at",
        "pause_reason", "failure_reason", "active_phase_id", "last_task_id", "last_step_issued",
        "pending_step_proof", "pending_gate_evidence", "pending_manual_gate_ack",
        "consumed_gate_nonces", "counters", "limits", "stop_conditions", "write_lock",
        "gate_policy", "context", "phase_gates", "completed_task_ids", "state_version",
        "workflow_structure", "phase_timing", "lifecycle",
    }  # fmt: skip
    assert expected <= set(document)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("status",), "sleeping"),
        (("counters", "tasks_completed"), -1),
        (("counters", "tasks_completed"), "1"),
        (("limits", "context_threshold_pct"), 101),
        (("limits", "max_fidelity_review_cycles_per_phase"), 0),
        (("created_at",), "2026-03-01T12:00:00"),
        (("surprise",), 1),
    ],
)
def test_a_stored_state_with_a_wrong_value_is_refused(path: tuple[str, ...], value: Any) -> None:
    document = json.loads(_rich_state().model_dump_json(by_alias=True))
    target = document
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    with pytest.raises(ValidationError):
        SessionState.model_validate_json(json.dumps(document))


def test_no_token_is_stored() -> None:
    caller = Caller(SPEC)
    caller.succeed_until("run_fidelity_gate")
    report = caller.review()
    text = caller.state.model_dump_json()
    assert report.step_proof is not None
    assert report.gate_evidence_token is not None
    assert report.step_proof not in text
    assert report.gate_evidence_token not in text


def test_equal_reports_have_equal_digests_however_they_are_spelled() -> None:
    fields = {
        "step_id": "step_" + "0" * 26,
        "step_type": "implement_task",
        "task_id": "A",
        "outcome": "success",
    }
    one = StepReport.model_validate_json(json.dumps(fields))
    other = StepReport.model_validate_json(json.dumps({**fields, "note": None}))
    assert one.digest == other.digest


def test_a_current_document_needs_no_migration() -> None:
    document = {"_schema_version": SCHEMA_VERSION, "id": "x"}
    assert migrate(document) == document


def test_migrations_run_one_after_the_other() -> None:
    steps = {1: lambda d: {**d, "b": 1}, 2: lambda d: {**d, "c": d["b"] + 1}}
    migrated = migrate({"_schema_version": 1}, migrations=steps, target=3)
    assert migrated == {"_schema_version": 3, "b": 1, "c": 2}


@pytest.mark.parametrize("version", [SCHEMA_VERSION + 1, 0, -1, None, "1", True])
def test_a_newer_or_unknown_version_is_never_guessed_at(version: Any) -> None:
    with pytest.raises(MigrationError):
        migrate({"_schema_version": version})


def test_a_missing_or_failing_migration_is_an_error() -> None:
    with pytest.raises(MigrationError):
        migrate({"_schema_version": 1}, target=2)
    with pytest.raises(MigrationError):
        migrate({"_schema_version": 1}, migrations={1: lambda d: d["gone"]}, target=2)
