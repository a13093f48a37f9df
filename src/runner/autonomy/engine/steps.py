"""What a step looks like to the caller (CONTRACT §6 `next_step`)."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from runner.autonomy.engine.turn import EngineTurn, Issue, JournalDraft
from runner.autonomy.enums import EntryType, GateStatus, PauseReason, ReviewScope, StepType
from runner.autonomy.models import (
    GateFinding,
    IssuedStep,
    SessionState,
    StepProof,
    VerificationCommand,
)
from runner.autonomy.spec.structure import Spec, command_hash
from runner.autonomy.tokens import step_proof_token, token_hash


# The text of commands is no structure: a change of it stops nothing. It decides what a verification
# proves, though, so it is reported wherever it counts.
def change_of_commands(state: SessionState, spec: Spec, phase_id: str) -> dict[str, Any] | None:
    """Return what a phase's commands in `status.json` were and are, None when they are the same.

    What they were is their state at the start or the last rebase. A session of before this was
    kept tells of no change, nor do phases that it has never seen.
    """
    agreed = state.agreed_commands
    if agreed is None or all(shape.id != phase_id for shape in state.workflow_structure.phases):
        return None
    was, now = agreed.get(phase_id, ()), spec.own_commands(phase_id)
    if was == now:
        return None
    return {"phase_id": phase_id, "was": list(was), "is": list(now)}


def changed_commands(state: SessionState, spec: Spec) -> list[dict[str, Any]]:
    """Return the changes of all phases, in the order of the spec."""
    changes = (change_of_commands(state, spec, phase.id) for phase in spec.phases)
    return [change for change in changes if change is not None]


def draft_of_change(change: dict[str, Any], step_id: str) -> JournalDraft:
    """Return what the journal says when a step verifies by changed commands."""
    return JournalDraft(
        EntryType.SESSION,  # a step entry would count as a report of one
        "Verification commands changed",
        warning_of_change(change),
        {**change, "step_id": step_id},
    )


def warning_of_change(change: dict[str, Any]) -> str:
    """Say it in one sentence."""
    return (
        f"The verification commands of {change['phase_id']} were changed in status.json since the "
        f"session's start or last rebase: they were {_listed(change['was'])}; they are "
        f"{_listed(change['is'])}."
    )


def _listed(commands: list[str]) -> str:
    return ", ".join(f"`{command}`" for command in commands) or "none"


class CallInstruction(NamedTuple):
    """A call that leads through a step, named as the MCP server names it (CONTRACT §7).

    Attributes:
        command: of an action that has several.
        given: parameters that the step itself knows.
        needs: parameters that the caller adds.
    """

    tool: str
    action: str
    description: str
    command: str | None = None
    given: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


_SESSION = ("session_id",)


def _report(description: str) -> CallInstruction:
    needs = ("last_step_result",)
    return CallInstruction("task", "session-step", description, "report", _SESSION, needs)


def _task(action: str, description: str, *needs: str) -> CallInstruction:
    return CallInstruction("task", action, description, given=("task_id",), needs=needs)


_REVIEW = CallInstruction(
    "review",
    "fidelity-gate",
    "Review the phase against the spec and get gate evidence",
    given=("session_id", "phase_id", "step_id"),
    needs=("verdict",),
)
_FINDINGS = CallInstruction(
    "journal", "list", "Read the findings of the latest review", given=_SESSION
)

INSTRUCTIONS: Mapping[StepType, tuple[CallInstruction, ...]] = {
    StepType.IMPLEMENT_TASK: (
        _task("prepare", "Load the deliverable and its acceptance criteria"),
        _task("start", "Note in the journal that work on it begins", "autonomy_step_proof"),
        _task("complete", "Mark it as passed once it is implemented", "autonomy_step_proof"),
        _report("Report what became of it"),
    ),
    StepType.EXECUTE_VERIFICATION: (_report("Run the commands and report a receipt of them"),),
    StepType.RUN_FIDELITY_GATE: (_REVIEW, _report("Report the review with its evidence")),
    StepType.ADDRESS_FIDELITY_FEEDBACK: (
        _FINDINGS,
        _report("Mend the findings and report what was done"),
    ),
}


def issue_step(turn: EngineTurn, issue: Issue) -> tuple[EngineTurn, dict[str, Any]]:
    """Make the step outstanding, with a fresh proof, and return it as the caller sees it.

    Its token is None; the code that answers derives it.
    """
    state, spec = turn.state, turn.known_spec
    gate = state.gate(issue.phase_id)
    step = IssuedStep(
        step_id=turn.env.new_id("step"),
        type=issue.type,
        phase_id=issue.phase_id,
        task_id=issue.task_id,
        issued_at=turn.env.now,
        commands=_commands(turn, issue),
        gate_attempt_id=gate.gate_attempt_id if _is_feedback(issue) else None,
        reverifies=issue.reverifies,
        scope=_scope(turn, issue),
    )
    proof = _proof(turn, step) if state.write_lock.enforced else None
    change = None
    if step.type in (StepType.EXECUTE_VERIFICATION, StepType.RUN_FIDELITY_GATE):
        change = change_of_commands(state, spec, step.phase_id)
    if change is not None and step.type is StepType.EXECUTE_VERIFICATION:
        turn = turn.noting(draft_of_change(change, step.step_id))
    issued = turn.with_state(
        last_step_issued=step,
        pending_step_proof=proof,
        pending_gate_evidence=None,
        report_exempt=False,
    )
    findings = _findings(turn, issue)
    described = describe_step(state.id, step, spec, proof, findings)
    return issued, described if change is None else {**described, "commands_changed": change}


def describe_step(
    session_id: str,
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
        "instructions": instructions(session_id, step),
        "step_proof_token": None,
        "step_proof_expires_at": proof.expires_at.isoformat() if proof else None,
    }
    if step.task_id is not None:
        task = spec.tasks.get(step.task_id)
        described |= {"task_id": step.task_id, "task_title": task.title if task else None}
    if step.type is StepType.EXECUTE_VERIFICATION:
        described["commands"] = [command.model_dump() for command in step.commands]
        described["reverifies"] = step.reverifies
    if step.scope is not None:
        described["scope"] = step.scope
    if findings is not None:
        described["gate_attempt_id"] = step.gate_attempt_id
        described["findings"] = [finding.model_dump(mode="json") for finding in findings]
    return described


def describe_stop(
    turn: EngineTurn, step_type: StepType, message: str, reason: PauseReason | None = None
) -> dict[str, Any]:
    """Return a `pause` or `complete_spec` step; no report follows."""
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


def instructions(session_id: str, step: IssuedStep) -> list[dict[str, Any]]:
    """Return the calls that lead through a step, with the parameters that are known."""
    known = {
        "session_id": session_id,
        "phase_id": step.phase_id,
        "task_id": step.task_id,
        "step_id": step.step_id,
    }
    return [_described(row, known) for row in INSTRUCTIONS.get(step.type, ())]


def _described(row: CallInstruction, known: Mapping[str, str | None]) -> dict[str, Any]:
    command = {} if row.command is None else {"command": row.command}
    return {
        "tool": row.tool,
        "action": row.action,
        **command,
        "description": row.description,
        "params": {name: known[name] for name in row.given},
        "needs": list(row.needs),
    }


def _is_feedback(issue: Issue) -> bool:
    return issue.type is StepType.ADDRESS_FIDELITY_FEEDBACK


def _findings(turn: EngineTurn, issue: Issue) -> tuple[GateFinding, ...] | None:
    """Return what a review found that the step is to deal with, None where none is about it."""
    gate = turn.state.gate(issue.phase_id)
    if _is_feedback(issue):
        return gate.findings
    gates = turn.state.phase_gates.values()
    failed = (one for one in gates if one.status is GateStatus.FAILED)
    about = (f for one in failed for f in one.findings if f.deliverable_id == issue.task_id)
    found = tuple(about) if issue.type is StepType.IMPLEMENT_TASK else ()
    return found or None


def _scope(turn: EngineTurn, issue: Issue) -> ReviewScope | None:
    """Return what a review looks at: the whole specification where no other phase is open."""
    if issue.type is not StepType.RUN_FIDELITY_GATE:
        return None
    progress = turn.known_progress
    others = (phase for phase in turn.known_spec.phases if phase.id != issue.phase_id)
    is_last = not any(progress.is_open(turn.state, phase) for phase in others)
    return ReviewScope.SPEC if is_last else ReviewScope.PHASE


def _commands(turn: EngineTurn, issue: Issue) -> tuple[VerificationCommand, ...]:
    phase = turn.known_spec.phase(issue.phase_id)
    if issue.type is not StepType.EXECUTE_VERIFICATION or phase is None:
        return ()
    return tuple(
        VerificationCommand(command=command, command_hash=command_hash(command))
        for command in turn.known_progress.commands(phase)
    )


def _proof(turn: EngineTurn, step: IssuedStep) -> StepProof:
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
        proof_hash=token_hash(token),
        step_id=step.step_id,
        issued_at=turn.env.clock,
        expires_at=expires_at,
    )
