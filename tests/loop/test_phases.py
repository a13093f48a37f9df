"""How phases stand, for the end of a run and for `runner status`."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

from runner.records.effort import Effort, Purpose
from runner.records.phases import phase_rows, phases_in_full, told_in_full
from runner.records.spending import Spend, SpendBook

RECEIPT = b'{"step_id":"step_1"}'
RECEIPT_HASH = f"sha256:{hashlib.sha256(RECEIPT).hexdigest()}"
VIEW: dict[str, Any] = {
    "progress": {
        "phases": [
            {
                "phase_id": "p",
                "title": "Parsing",
                "tasks_total": 2,
                "tasks_completed": 1,
                "completed_at": None,
                "duration_seconds": None,
                "gate_status": "pending",
                "gate_cycles": 1,
            }
        ]
    },
    "phase_gates": {
        "p": {"verdict": "warn", "findings": [{}, {}], "receipt_hash": RECEIPT_HASH},
    },
    "pending_manual_gate_ack": {"phase_id": "p"},
}
EFFORTS = {
    Purpose("coding", "p", "A"): Effort(1.0, 60.0, 2),
    Purpose("review", "p"): Effort(0.5, 30.0, 1),
}


def keep_receipt(project: Path) -> str:
    path = project / ".runner" / "autonomy" / "receipts" / "auto_1-step_1.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(RECEIPT)
    return path.relative_to(project).as_posix()


def test_a_row_has_progress_and_gate() -> None:
    (row,) = phase_rows(VIEW)
    assert (row["title"], row["tasks_completed"], row["verdict"]) == ("Parsing", 1, "warn")
    assert (row["findings"], row["cycles"], row["gate_status"]) == (2, 1, "pending")


def test_a_row_says_whether_a_person_must_acknowledge_its_review() -> None:
    rows = (phase_rows(VIEW), phase_rows({**VIEW, "pending_manual_gate_ack": None}))
    assert [row["awaits_acknowledgement"] for (row,) in rows] == [True, False]


def test_a_damaged_session_has_no_phases() -> None:
    assert phase_rows({"status": "failed", "details": {"message": "x"}}) == []


def test_a_row_names_the_receipt_that_its_hash_is_of(tmp_path: Path) -> None:
    where = keep_receipt(tmp_path)
    (row,) = told_in_full(tmp_path, phase_rows(VIEW), {})
    assert row["receipt_path"] == where


def test_a_receipt_that_was_changed_is_not_named(tmp_path: Path) -> None:
    (tmp_path / keep_receipt(tmp_path)).write_text("{}")
    (row,) = told_in_full(tmp_path, phase_rows(VIEW), {})
    assert row["receipt_path"] is None


def test_a_row_tells_what_the_phase_and_its_deliverables_took(tmp_path: Path) -> None:
    (row,) = told_in_full(tmp_path, phase_rows(VIEW), EFFORTS)
    assert (row["cost_usd"], row["agent_seconds"], row["agent_sessions"]) == (1.5, 90.0, 3)
    assert row["deliverables"] == [
        {"id": "A", "cost_usd": 1.0, "agent_seconds": 60.0, "agent_sessions": 2}
    ]


def test_the_phases_of_a_runs_end_are_in_full(tmp_path: Path) -> None:
    SpendBook(tmp_path).save(replace(Spend(), efforts=EFFORTS))
    (row,) = phases_in_full(tmp_path, phase_rows(VIEW))
    assert (row["title"], row["cost_usd"]) == ("Parsing", 1.5)


def test_the_phases_are_in_full_also_where_nobody_knows_what_they_cost(tmp_path: Path) -> None:
    book = SpendBook(tmp_path)
    book.path.parent.mkdir(parents=True)
    book.path.write_text("{")
    (row,) = phases_in_full(tmp_path, phase_rows(VIEW))
    assert row["cost_usd"] == 0.0
