"""How the phases of a spec stand, for the end of a run and for `runner status`."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.errors import RunnerError
from runner.records.effort import Efforts, of_deliverables, of_phase
from runner.records.receipts import accepted_receipts
from runner.records.spending import SpendBook

Row = dict[str, Any]
_LET_THROUGH = ("passed", "waived")


def phase_rows(view: Mapping[str, Any]) -> list[Row]:
    """Return an object for each phase: its progress, time and gate.

    Args:
        view: of an autonomous session; one whose file is damaged has no phases.
    """
    gates = view.get("phase_gates") or {}
    rows = (view.get("progress") or {}).get("phases") or ()
    ack = view.get("pending_manual_gate_ack") or {}
    return [
        {
            **_row(row, gates.get(row["phase_id"]) or {}),
            "awaits_acknowledgement": row["phase_id"] == ack.get("phase_id"),
        }
        for row in rows
    ]


def is_proved(row: Mapping[str, Any]) -> bool:
    """Whether anybody but the agents that did the work of a phase has found it to be done.

    Commands that all passed before the work began have found nothing.
    """
    if row["gate_status"] == "passed":
        return True
    unproved = row.get("passed_before_work") or ()
    some = not unproved or len(unproved) < row["tasks_completed"]
    return row["verified_at"] is not None and some


def is_closed(row: Mapping[str, Any]) -> bool:
    """Whether a phase is over: its commands succeeded and its gate let it through, if it has any."""
    return row["duration_seconds"] is not None


@dataclass(frozen=True, slots=True)
class Proof:
    """How many deliverables are how far (ADR-0097).

    Attributes:
        passed: what counts as done: all of phases that are closed.
        claimed: those that their agents set to passed.
        verified: those of them whose phase's commands have succeeded.
        closed: those of them whose phase's gate let it through.
        unproved: those of `passed` that nobody has verified or reviewed.
    """

    passed: int
    claimed: int
    verified: int
    closed: int
    unproved: int

    @property
    def remark(self) -> str:
        """What must not be left unsaid next to `passed`, in parentheses; "" where nothing."""
        waiting = max(self.claimed - self.passed, 0)
        parts = [f"{waiting} claimed"] if waiting else []
        parts += [f"{self.unproved} claimed, not proved"] if self.unproved else []
        return f" ({'; '.join(parts)})" if parts else ""


def proof_of(claimed: int, rows: Iterable[Row]) -> Proof:
    """Return what is proved.

    Args:
        claimed: how many deliverables their agents set to passed.
        rows: of the phases; without any, what is claimed is all that is known.
    """
    known = list(rows)
    if not known:
        return Proof(claimed, claimed, 0, 0, claimed)

    def count(of: Iterable[Row]) -> int:
        return sum(row["tasks_completed"] for row in of)

    over = [row for row in known if is_closed(row)]
    return Proof(
        passed=min(count(over), claimed),
        claimed=claimed,
        verified=min(count(row for row in known if row["verified_at"] is not None), claimed),
        closed=min(count(row for row in over if row["gate_status"] in _LET_THROUGH), claimed),
        unproved=count(claimed_only(over)),
    )


def closed_unverified(rows: Iterable[Row]) -> str | None:
    """Return a sentence about phases that a review alone has closed, None without one."""
    found = [
        row["phase_id"]
        for row in rows
        if row["tasks_completed"] and is_closed(row) and row["gate_status"] == "passed"
        and row["verified_at"] is None
    ]  # fmt: skip
    if not found:
        return None
    return f"No verification command was run for {', '.join(found)}: closed by review alone."


def claimed_only(rows: Iterable[Row]) -> list[Row]:
    """Return the phases with work that nobody has verified, and that no gate holds back."""
    free = (None, "waived")
    return [
        row
        for row in rows
        if row["tasks_completed"] and row["gate_status"] in free and not is_proved(row)
    ]


def told_in_full(project_dir: Path, rows: Iterable[Row], efforts: Efforts) -> list[Row]:
    """Return the rows of phases with their receipts, and with what they and their work took."""
    receipts = accepted_receipts(project_dir)
    deliverables = of_deliverables(efforts)
    return [
        {
            **row,
            "receipt_path": receipts.get(row["receipt_hash"] or ""),
            **of_phase(efforts, row["phase_id"]).as_object(),
            "deliverables": [
                {"id": name, **deliverables[name].as_object()}
                for name in _worked_on(row["phase_id"], efforts)
            ],
        }
        for row in rows
    ]


def phases_in_full(directory: Path, rows: Iterable[Row]) -> list[Row]:
    """Return the rows in full for the end of a run, also where nobody knows what it cost."""
    efforts: Efforts = {}
    with suppress(RunnerError):
        efforts = SpendBook(directory).load().efforts
    return told_in_full(directory, rows, efforts)


def _row(row: Mapping[str, Any], gate: Mapping[str, Any]) -> Row:
    taken = ("phase_id", "title", "tasks_total", "tasks_completed", "duration_seconds")
    return {
        **{name: row[name] for name in taken},
        "gate_status": row["gate_status"],
        "verdict": gate.get("verdict"),
        "cycles": row["gate_cycles"],
        "findings": len(gate.get("findings") or ()),
        "acknowledged": bool(gate.get("acknowledged")),
        "waiver_reason": gate.get("waiver_reason"),
        "review_path": gate.get("review_path"),
        "verified_at": gate.get("verified_at"),
        "receipt_hash": gate.get("receipt_hash"),
    }


def _worked_on(phase_id: str, efforts: Efforts) -> list[str]:
    """Return the deliverables that sessions were bound to in the phase, in that order."""
    names = (p.task_id for p in efforts if p.phase_id == phase_id and p.task_id is not None)
    return list(dict.fromkeys(names))
