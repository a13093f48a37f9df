"""What a step looks like to the caller (CONTRACT §6 `next_step`)."""

import hashlib
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from runner.autonomy.engine.turn import Issue, Turn
from runner.autonomy.enums import PauseReason, StepType
from runner.autonomy.models import (
    GateFinding,
    IssuedStep,
    StepProof,
    VerificationCommand,
)
from runner.autonomy.spec.structure import Spec
from runner.autonomy.tokens import step_proof_token, token_hash

INSTRUCTIONS: Mapping[StepType, tuple[tuple[str, str, str], ...]] = {
    StepType.IMPLEMENT_TASK: (
        ("task", "prepare", "Load the deliverable and its acceptance criteria"),
        ("task", "start", "Note in the journal that work on it begins"),
        ("task", "complete", "Mark it as passed once it is implemented"),
    ),
    StepType.EXECUTE_VERIFICATION: (
        ("session-step", "report", "Run the commands and report a verification receipt"),
    ),
    StepType.RUN_FIDELITY_GATE: (
        ("review", "fidelity-gate", "Review the phase against the spec and get gate evidence"),
    ),
    StepType.ADDRESS_FIDELITY_FEEDBACK: (
        ("journal", "list", "Read the findings of the latest review"),
        ("session-step", "report", "Mend the findings and report what was done"),
    ),
}


def issue_step(turn: Turn, issue: Issue) -> tuple[Turn, dict[str, Any]]:
    """Make the step outstanding, with a fresh proof, and return it as the caller sees it.

    The token stands in it as None; whoever gives the answer derives it.
    """
    state, spec = turn.state, turn.known_spec
    gate = state.gate(issue.phase_id)
    step = IssuedStep(
        step_id=turn.env.new_id("step"),
        type=issue.type,
        phase_id=issue.phase_id,
        task_id=issue.task_id,
        issued_at=turn.env.now,
        commands=_commands(spec, issue),
        gate_attempt_id=gate.gate_attempt_id if _is_feedback(issue) else None,
    )
    proof = _proof(turn, step) if state.write_lock.enforced else None
    issued = turn.with_state(
        last_step_issued=step,
        pending_step_proof=proof,
        pending_gate_evidence=None,
        report_exempt=False,
    )
    findings = gate.findings if _is_feedback(issue) else None
    return issued, describe_step(step, spec, proof, findings)


def describe_step(
    step: IssuedStep,
    spec: Spec,
    proof: StepProof | None,
    findings: tuple[GateFinding, ...] | None = None,
) -> dict[str, Any]:
    """Return `next_step` but for its token."""
    described: dict[str, Any] = {
        "step_id": step.step_id,
        "type": step.type,
        "phase_id": step.phase_id,
        "instructions": instructions(step.type),
        "step_proof_token": None,
        "step_proof_expires_at": proof.expires_at.isoformat() if proof else None,
    }
    if step.task_id is not None:
        task = spec.tasks.get(step.task_id)
        described |= {"task_id": step.task_id, "task_title": task.title if task else None}
    if step.type is StepType.EXECUTE_VERIFICATION:
        described["commands"] = [command.model_dump() for command in step.commands]
    if findings is not None:
        described["gate_attempt_id"] = step.gate_attempt_id
        described["findings"] = [finding.model_dump(mode="json") for finding in findings]
    return described


def describe_stop(
    turn: Turn, step_type: StepType, message: str, reason: PauseReason | None = None
) -> dict[str, Any]:
    """Return a `pause` or `complete_spec` step; nobody reports on it."""
    return {
        "step_id": turn.env.new_id("step"),
        "type": step_type,
        "phase_id": turn.state.active_phase_id,
        "reason": reason,
        "message": message,
        "instructions": [],
        "step_proof_token": None,
        "step_proof_expires_at": None,
    }


def instructions(step_type: StepType) -> list[dict[str, str]]:
    """Return the tool calls that lead through a step."""
    rows = INSTRUCTIONS.get(step_type, ())
    return [{"tool": tool, "action": action, "description": what} for tool, action, what in rows]


def _is_feedback(issue: Issue) -> bool:
    return issue.type is StepType.ADDRESS_FIDELITY_FEEDBACK


def _commands(spec: Spec, issue: Issue) -> tuple[VerificationCommand, ...]:
    phase = spec.phase(issue.phase_id)
    if issue.type is not StepType.EXECUTE_VERIFICATION or phase is None:
        return ()
    return tuple(
        VerificationCommand(
            command=command,
            command_hash=hashlib.sha256(command.encode("utf-8", "surrogatepass")).hexdigest(),
        )
        for command in spec.commands(phase)
    )


def _proof(turn: Turn, step: IssuedStep) -> StepProof:
    state, now = turn.state, turn.env.now
    expires_at = now + timedelta(minutes=state.write_lock.step_proof_ttl_minutes)
    token = step_proof_token(
        turn.env.key,
        session_id=state.id,
        spec_id=state.spec_id,
        step_id=step.step_id,
        expires_at=expires_at,
    )
    return StepProof(
        proof_hash=token_hash(token), step_id=step.step_id, issued_at=now, expires_at=expires_at
    )
