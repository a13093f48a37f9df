"""The write lock: which changes of deliverables a step's proof allows.

A proof is single-use for each action on the step's own deliverable, and retired when the step
is reported (DESIGN §5).
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.engine.clock import require_after_issue
from runner.autonomy.engine.replaying import REPLAY_GRACE
from runner.autonomy.engine.turn import Env
from runner.autonomy.enums import StepType
from runner.autonomy.models import ConsumedAction, SessionState, StepProof
from runner.autonomy.tokens import same_token


class TaskAction(StrEnum):
    """The protected changes of a deliverable."""

    START = "start"
    COMPLETE = "complete"
    BLOCK = "block"
    UNBLOCK = "unblock"
    UPDATE_STATUS = "update-status"


ALLOWED_ACTIONS: Mapping[StepType, frozenset[TaskAction]] = {
    StepType.IMPLEMENT_TASK: frozenset(TaskAction),
    StepType.EXECUTE_VERIFICATION: frozenset(),
    StepType.RUN_FIDELITY_GATE: frozenset(),
    StepType.ADDRESS_FIDELITY_FEEDBACK: frozenset(),
}


@dataclass(frozen=True, slots=True)
class Mutation:
    """A protected change; `payload` is what tells two requests of one action apart."""

    action: TaskAction
    task_id: str
    payload: Mapping[str, Any]

    @property
    def digest(self) -> str:
        content = json.dumps([self.action, self.task_id, dict(self.payload)], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()


def authorise(state: SessionState, mutation: Mutation, token: str | None, env: Env) -> SessionState:
    """Return the state with the proof used up for this change.

    The same state means that nothing is used up: the session is over or does not enforce the
    lock, or the identical change was made a moment ago and may be made again.

    Raises:
        RefusedError: STEP_PROOF_REQUIRED; STEP_PROOF_INVALID, also for one that has expired;
            STEP_PROOF_EXPIRED or STEP_PROOF_CONFLICT for one that was used before; or
            AUTONOMY_WRITE_LOCK_ACTIVE when the proof is good but the step does not allow the
            change.
    """
    if state.status.is_terminal or not state.write_lock.enforced:
        return state
    proof = _check_proof(state, token, env)
    _check_allowed(state, mutation)
    used = next((one for one in proof.consumed_actions if one.action == mutation.action), None)
    if used is not None:
        _check_repeated(used, mutation, env)
        return state
    consumed = ConsumedAction(action=mutation.action, digest=mutation.digest, consumed_at=env.now)
    proof = proof.evolve(consumed_actions=(*proof.consumed_actions, consumed))
    return state.evolve(pending_step_proof=proof)


def _check_proof(state: SessionState, token: str | None, env: Env) -> StepProof:
    proof = state.pending_step_proof
    if token is None:
        raise RefusedError(
            ErrorCode.STEP_PROOF_REQUIRED,
            "An autonomous session holds the write lock; the change needs autonomy_step_proof.",
            details={"session_id": state.id},
        )
    if proof is None or not same_token(token, proof.proof_hash):
        raise RefusedError(ErrorCode.STEP_PROOF_INVALID, "The autonomy_step_proof is wrong.")
    require_after_issue(
        ErrorCode.STEP_PROOF_INVALID, "autonomy_step_proof", proof.issued_at, env.clock
    )
    expires_at = proof_expiry(proof)
    if env.now >= expires_at:
        raise RefusedError(
            ErrorCode.STEP_PROOF_INVALID,
            "The autonomy_step_proof has expired.",
            hint="Report the step, or pause and resume the session and ask for the next step. "
            "Heartbeats prolong a proof.",
            details={"expired_at": expires_at.isoformat()},
        )
    return proof


def proof_expiry(proof: StepProof) -> datetime:
    """Return when a proof expires."""
    return max(proof.expires_at, proof.prolonged_to or proof.expires_at)


def prolonged(state: SessionState, now: datetime) -> StepProof | None:
    """Return the outstanding proof after a heartbeat: it holds for its whole time again.

    One that has expired stays so.
    """
    proof = state.pending_step_proof
    if proof is None or now >= proof_expiry(proof):
        return proof
    lifetime = timedelta(minutes=state.write_lock.step_proof_ttl_minutes)
    return proof.evolve(prolonged_to=now + lifetime)


def _check_allowed(state: SessionState, mutation: Mutation) -> None:
    step = state.last_step_issued
    allowed = ALLOWED_ACTIONS[step.type] if step is not None else frozenset()
    if step is None or step.task_id != mutation.task_id or mutation.action not in allowed:
        raise RefusedError(
            ErrorCode.AUTONOMY_WRITE_LOCK_ACTIVE,
            f"The current step does not allow {mutation.action} on {mutation.task_id}.",
            details={
                "step_type": step.type if step else None,
                "task_id": step.task_id if step else None,
                "allowed_actions": sorted(allowed),
            },
        )


def _check_repeated(used: ConsumedAction, mutation: Mutation, env: Env) -> None:
    if used.digest != mutation.digest:
        raise RefusedError(
            ErrorCode.STEP_PROOF_CONFLICT,
            f"The proof was used for another {mutation.action} already.",
        )
    if env.now - used.consumed_at > REPLAY_GRACE:
        raise RefusedError(
            ErrorCode.STEP_PROOF_EXPIRED, f"The proof was used for {mutation.action} already."
        )
