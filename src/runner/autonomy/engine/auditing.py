"""Whether what a session says about its gates can be true (GATE_AUDIT_FAILURE), and notes on it."""

from collections.abc import Iterator
from datetime import datetime

from runner.autonomy.engine.gates import policy_passes
from runner.autonomy.enums import EntryType, GatePolicy, GateStatus, SessionStatus
from runner.autonomy.models import JournalEntry, Outbox, PhaseGate, SessionState

_DAMAGED = "Journal damaged"


def audit_gates(state: SessionState) -> str | None:
    """Return what about the gates can't have come about by the rules, None when all fits.

    The seal shows edits; this shows states that no sequence of reports leads to.
    """
    if state.counters.tasks_completed != len(set(state.completed_task_ids)):
        return "The number of completed deliverables does not fit their list."
    if state.status is SessionStatus.COMPLETED:
        unsatisfied = next(_unsatisfied(state), None)
        if unsatisfied is not None:
            return f"The session is completed, but the gate of {unsatisfied} is not satisfied."
    for phase_id, gate in state.phase_gates.items():
        problem = _problem(state, gate)
        if problem is not None:
            return f"The gate of {phase_id} {problem}."
    return None


def note_problem(
    state: SessionState, problem: str, now: datetime, title: str = _DAMAGED
) -> SessionState:
    """Return the state with a journal entry about it, to be written with the next transition."""
    if any(waiting.title == title for waiting in state.outbox.entries):
        return state
    entry = JournalEntry(
        seq=state.journal_seq + 1,
        at=now,
        session_id=state.id,
        spec_id=state.spec_id,
        entry_type=EntryType.SESSION,
        title=title,
        content=problem,
    )
    outbox = state.outbox
    return state.evolve(
        journal_seq=entry.seq,
        outbox=Outbox(entries=(*outbox.entries, entry), changes=outbox.changes),
    )


def _unsatisfied(state: SessionState) -> Iterator[str]:
    """Yield the phases with completed work whose gate still holds them back."""
    done = set(state.completed_task_ids)
    for phase in state.workflow_structure.phases:
        if not done.isdisjoint(phase.task_ids) and not state.gate(phase.id).is_satisfied:
            yield phase.id


def _problem(state: SessionState, gate: PhaseGate) -> str | None:
    if gate.required != state.gates_required:
        return "is not as required as the session says"
    if gate.status is GateStatus.WAIVED and not gate.waiver_reason:
        return "is waived without a reason"
    if gate.verified_at is not None and gate.receipt_hash is None:
        return "is verified without a receipt"
    if gate.verification_skipped and state.write_lock.enforced:
        return "skipped its verification under the write lock"
    if gate.status is GateStatus.PASSED:
        return _problem_of_passed(state.gate_policy, gate)
    return None


def _problem_of_passed(policy: GatePolicy, gate: PhaseGate) -> str | None:
    if gate.verdict is None or gate.gate_attempt_id is None or gate.evidence_hash is None:
        return "has passed without evidence"
    if policy is GatePolicy.MANUAL:
        return None if gate.acknowledged else "has passed without an acknowledgement"
    if not policy_passes(policy, gate.verdict):
        return f"has passed on the verdict {gate.verdict}"
    return None
