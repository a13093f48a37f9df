"""What loosens a session's guarantees on purpose, and the journal's word about it.

These are the firm boundaries: the server enforces them, a policy may let a person open them, and
nobody opens them unseen.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.engine.lifecycle import finish, require_status
from runner.autonomy.engine.progress import Progress
from runner.autonomy.engine.transition import Transition, seal
from runner.autonomy.engine.turn import EngineTurn, Env, JournalDraft
from runner.autonomy.enums import EntryType, GateStatus, SessionStatus, StepType
from runner.autonomy.models import SessionState
from runner.autonomy.spec.structure import Spec

_REVIEW_STEPS = frozenset({StepType.RUN_FIDELITY_GATE, StepType.ADDRESS_FIDELITY_FEEDBACK})


@dataclass(frozen=True, slots=True)
class Justification:
    """Why something is loosened, and who does it.

    Attributes:
        code: for those who count.
        reason: for those who read.
        actor: role and posture.
    """

    code: str | None
    reason: str | None
    actor: Mapping[str, Any]

    def __str__(self) -> str:
        return ": ".join(part for part in (self.code, self.reason) if part) or "no reason given"

    @property
    def data(self) -> dict[str, Any]:
        return {"reason_code": self.code, "reason": self.reason, **self.actor}


def waive_gate(
    state: SessionState, spec: Spec, phase_id: str, why: Justification, env: Env
) -> Transition:
    """Let a phase pass without its review. A step about that review is withdrawn.

    Verification is not waived: the phase's commands must still succeed. New work in the phase
    ends a waiver, so one that comes before the phase's work is done is refused.

    Raises:
        RefusedError: the session is over, has no such phase, its gate is satisfied, or
            deliverables of the phase are still open.
    """
    require_status(state, "gate-waiver", *(s for s in SessionStatus if not s.is_terminal))
    before = state.gate(phase_id)
    _require_open_gate(state, phase_id)
    _require_work_done(state, spec, phase_id)
    waived = state.with_gate(phase_id, status=GateStatus.WAIVED, waiver_reason=str(why))
    data = {
        "phase_id": phase_id,
        "gate_status_before": before.status,
        "verdict": before.verdict,
        **why.data,
    }
    draft = JournalDraft(
        EntryType.GATE, "Gate waived", f"The gate of {phase_id} was waived ({why}).", data
    )
    turn = EngineTurn(state=_without_review(waived, phase_id), spec=None, env=env, drafts=(draft,))
    return finish(turn, {})


def audit_start(started: Transition, why: Justification, env: Env) -> Transition:
    """Add to a new session's journal that it does without its lock or its gates."""
    state = started.state
    drafts = []
    if not state.write_lock.enforced:
        content = f"Session {state.id} works without the write lock ({why})."
        drafts.append(JournalDraft(EntryType.SESSION, "Write lock bypassed", content, why.data))
    if not state.gates_required:
        content = f"Session {state.id} closes phases without fidelity gates ({why})."
        drafts.append(JournalDraft(EntryType.SESSION, "Gates switched off", content, why.data))
    if not drafts:
        return started
    sealed = seal(state, env, tuple(drafts))
    return Transition(sealed.evolve(state_version=state.state_version), started.data)


def _require_open_gate(state: SessionState, phase_id: str) -> None:
    known = [shape.id for shape in state.workflow_structure.phases]
    if phase_id not in known:
        raise RefusedError(
            ErrorCode.VALIDATION_ERROR,
            "The session has no such phase.",
            hint=f"Its phases: {', '.join(known)}.",
            details={"field": "phase_id"},
        )
    gate = state.gate(phase_id)
    if gate.is_satisfied:
        raise RefusedError(
            ErrorCode.INVALID_STATE_TRANSITION,
            f"The gate of {phase_id} holds nothing back.",
            hint="Nothing needs to be waived: go on.",
            details={"gate_status": gate.status, "required": gate.required},
        )


def _require_work_done(state: SessionState, spec: Spec, phase_id: str) -> None:
    waiting = [task.id for task in Progress.of(state, spec).pending.get(phase_id, ())]
    if waiting:
        raise RefusedError(
            ErrorCode.INVALID_STATE_TRANSITION,
            f"{phase_id} has open deliverables: {', '.join(waiting[:5])}. Its gate is not due yet.",
            hint="Waive the gate once the phase's work is done: new work would end the waiver.",
            details={"phase_id": phase_id, "open_task_ids": waiting},
        )


def _without_review(state: SessionState, phase_id: str) -> SessionState:
    """Withdraw what waits for the phase's review: evidence, acknowledgement, and the step."""
    evidence, ack, step = (
        state.pending_gate_evidence,
        state.pending_manual_gate_ack,
        state.last_step_issued,
    )
    if evidence is not None and evidence.phase_id == phase_id:
        state = state.evolve(pending_gate_evidence=None)
    if ack is not None and ack.phase_id == phase_id:
        state = state.evolve(pending_manual_gate_ack=None)
    if step is not None and step.phase_id == phase_id and step.type in _REVIEW_STEPS:
        state = state.evolve(last_step_issued=None, pending_step_proof=None, report_exempt=True)
    return state
