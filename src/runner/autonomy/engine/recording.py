"""Rule 3: what a report changes. One recorder per step type, in one table."""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.engine.gates import check_evidence, policy_passes
from runner.autonomy.engine.progress import tree_identity
from runner.autonomy.engine.turn import EngineTurn, JournalDraft, Stop
from runner.autonomy.enums import (
    EntryType,
    GatePolicy,
    GateStatus,
    StepOutcome,
    StepType,
    TaskStatus,
)
from runner.autonomy.inputs import Receipt, StepReport
from runner.autonomy.models import (
    ConsumedNonce,
    GateEvidence,
    IssuedStep,
    ManualGateAck,
    ProvenTree,
    RecordedReport,
    SessionState,
)
from runner.autonomy.spec.structure import SpecTask

# Clocks of one machine may be read in another order than they are written.
_SKEW = timedelta(seconds=2)


def check_receipt(
    step: IssuedStep, report: StepReport, now: datetime, *, since: datetime | None = None
) -> Receipt | None:
    """Return the receipt of a report on `execute_verification`, None when it brings none.

    Args:
        now: by the clock that the receipt's time comes from.
        since: when the step was issued by that clock, where it is not `step.issued_at`.

    Raises:
        RefusedError: VERIFICATION_RECEIPT_REQUIRED for success without one,
            VERIFICATION_RECEIPT_INVALID for one that does not fit the step or its outcome.
    """
    receipt = report.verification_receipt
    if receipt is None:
        if report.outcome is StepOutcome.SUCCESS:
            raise RefusedError(
                ErrorCode.VERIFICATION_RECEIPT_REQUIRED,
                "A successful verification needs a receipt.",
            )
        return None
    if report.outcome is StepOutcome.SKIPPED:
        raise _invalid("A verification that was skipped has no receipt.")
    _check_binding(step, receipt, now, since or step.issued_at)
    failed = [r.command_hash for r in receipt.results if r.exit_code != 0]
    if report.outcome is StepOutcome.SUCCESS and failed:
        raise _invalid("The receipt has exit codes other than 0.", failed_commands=failed)
    return receipt


def receipt_text(receipt: Receipt) -> str:
    """Return a receipt as it is kept and hashed."""
    return receipt.model_dump_json()


def receipt_hash(receipt: Receipt) -> str:
    """Return what the session and its journal hold of an accepted receipt."""
    return "sha256:" + hashlib.sha256(receipt_text(receipt).encode()).hexdigest()


def _check_binding(step: IssuedStep, receipt: Receipt, now: datetime, since: datetime) -> None:
    if receipt.step_id != step.step_id:
        raise _invalid("The receipt belongs to another step.")
    if not since - _SKEW <= receipt.issued_at <= now + _SKEW:
        raise _invalid("The receipt's time lies outside the step's.")
    issued = Counter(command.command_hash for command in step.commands)
    reported = Counter(result.command_hash for result in receipt.results)
    if issued != reported:
        raise _invalid(
            "The receipt needs exactly one result for each issued command.",
            missing=sorted((issued - reported).elements()),
            unexpected=sorted((reported - issued).elements()),
        )


def _invalid(message: str, **details: object) -> RefusedError:
    return RefusedError(ErrorCode.VERIFICATION_RECEIPT_INVALID, message, details=details)


Recorder = Callable[[EngineTurn, StepReport, IssuedStep], EngineTurn]


def record_outcome(turn: EngineTurn) -> EngineTurn | Stop:
    """Rule 3: apply the report, retire the step and its proof, and note it in the journal."""
    if turn.report is None or turn.answered is None:
        return turn
    recorded = RECORDERS[turn.answered.type](turn, turn.report, turn.answered)
    if _may_have_changed_work(turn.report):
        recorded = recorded.to(after_work(recorded.state))
    return recorded.with_state(
        last_step_issued=None,
        pending_step_proof=None,
        pending_gate_evidence=None,
        report_exempt=False,
        last_report=_remember(turn, turn.report),
    )


def _may_have_changed_work(report: StepReport) -> bool:
    """Whether the step did work; a failed verification counts as an attempt."""
    if report.step_type is StepType.EXECUTE_VERIFICATION:
        return report.outcome is StepOutcome.FAILURE
    return report.step_type is not StepType.RUN_FIDELITY_GATE


def after_work(state: SessionState) -> SessionState:
    """Return the state after something that verifications of before do not prove anything about."""
    return state.evolve(work_reports=state.work_reports + 1)


def reopen_gate(state: SessionState, phase_id: str) -> SessionState:
    """Have the phase verified and reviewed again, as after new work in it."""
    stopped = state.stopped_after_phase_id
    state = state.evolve(stopped_after_phase_id=None if stopped == phase_id else stopped)
    if phase_id not in state.phase_gates:
        return state
    if phase_id == state.active_phase_id:
        state = state.with_counters(fidelity_review_cycles_in_active_phase=0)
    return state.with_gate(
        phase_id,
        status=GateStatus.PENDING,
        cycles=0,
        remediated=False,
        feedback_skipped=False,
        acknowledged=False,
        waiver_reason=None,
        verified_at=None,
        verification_skipped=False,
        receipt_hash=None,
    )


def _record_task(turn: EngineTurn, report: StepReport, step: IssuedStep) -> EngineTurn:
    task_id = step.task_id or ""
    if report.outcome is StepOutcome.FAILURE:
        failed = _count_failure(turn, report).with_state(retry_task_id=task_id)
        return failed.noting(_step_draft(report, step, "Task step failed"))
    state = turn.state.evolve(last_task_id=task_id, retry_task_id=None)
    if report.outcome is StepOutcome.SKIPPED:
        skipped = turn.to(_skip_task(turn, state, task_id))
        return skipped.noting(_step_draft(report, step, "Task step skipped"))
    _refuse_blocked(turn, task_id)
    done = turn.to(complete_task(state, step.phase_id, task_id)).marking(task_id, TaskStatus.PASSED)
    if turn.state.gate(step.phase_id).status is GateStatus.WAIVED:
        done = done.noting(_waiver_draft(step.phase_id))
    return done.noting(_step_draft(report, step, "Task step completed"))


def _skip_task(turn: EngineTurn, state: SessionState, task_id: str) -> SessionState:
    """Leave the task out from now on; a blocked one is out anyway, until it is unblocked."""
    if _is_blocked(turn, task_id):
        return state
    return state.evolve(skipped_task_ids=(*state.skipped_task_ids, task_id))


def _is_blocked(turn: EngineTurn, task_id: str) -> bool:
    task = turn.spec.tasks.get(task_id) if turn.spec is not None else None
    return task is not None and task.status is TaskStatus.BLOCKED


def complete_task(state: SessionState, phase_id: str, task_id: str) -> SessionState:
    """Count the deliverable as completed, once; its phase must be judged again."""
    if task_id in state.completed_task_ids:  # by hand, without the lock, while its step was out
        return state.with_counters(consecutive_errors=0)
    counters = state.counters
    state = state.evolve(completed_task_ids=(*state.completed_task_ids, task_id)).with_counters(
        tasks_completed=counters.tasks_completed + 1,
        tasks_since_resume=counters.tasks_since_resume + 1,
        consecutive_errors=0,
    )
    return reopen_gate(state, phase_id)


def reopen_task(state: SessionState, phase_id: str, task_id: str) -> SessionState:
    """Take back a deliverable's completion; its phase is verified and reviewed again."""
    if task_id not in state.completed_task_ids:
        return state
    left = tuple(done for done in state.completed_task_ids if done != task_id)
    state = state.evolve(completed_task_ids=left).with_counters(tasks_completed=len(left))
    return reopen_gate(state, phase_id)


def _refuse_blocked(turn: EngineTurn, task_id: str) -> None:
    if _is_blocked(turn, task_id):
        raise RefusedError(
            ErrorCode.VALIDATION_ERROR,
            f"The deliverable {task_id} is blocked, so its step can't have succeeded.",
            hint="Unblock it and report again, or report the step as skipped.",
            details={"task_id": task_id, "task_status": TaskStatus.BLOCKED},
        )


def _record_verification(turn: EngineTurn, report: StepReport, step: IssuedStep) -> EngineTurn:
    proof = turn.state.pending_step_proof
    since = proof.issued_at if proof is not None else None
    receipt = check_receipt(step, report, turn.env.clock, since=since)
    kept = receipt_hash(receipt) if receipt is not None else None
    if report.outcome is StepOutcome.FAILURE:
        if step.reverifies:
            return _reopen_phase(turn, report, step, kept)
        draft = _step_draft(report, step, "Verification failed", receipt_hash=kept)
        return _count_failure(turn, report).noting(draft)
    if receipt is None:
        return _skip_verification(turn, report, step)
    state = turn.state.with_gate(
        step.phase_id,
        verified_at=turn.env.now,
        receipt_hash=kept,
        reverified=turn.state.gate(step.phase_id).reverified + step.reverifies,
    ).with_counters(consecutive_errors=0)
    state = state.evolve(proven=_proven(turn, step))
    draft = _step_draft(report, step, "Verification passed", receipt_hash=kept)
    return turn.to(state).noting(draft)


def _proven(turn: EngineTurn, step: IssuedStep) -> ProvenTree:
    """Return what is proved after the step's commands succeeded: on one tree proofs add up."""
    before, tree = turn.state.proven, tree_identity(turn.state, turn.env.tree)
    commands = {command.command_hash for command in step.commands}
    if before is not None and before.tree == tree:
        commands |= set(before.commands)
    return ProvenTree(tree=tree, commands=tuple(sorted(commands)))


def _reopen_phase(
    turn: EngineTurn, report: StepReport, step: IssuedStep, receipt_hash: str | None
) -> EngineTurn:
    """Fix, verify and review a closed phase whose commands fail on the final tree.

    That is a finding and no error of the caller's; `reverified` bounds it. A waiver of the gate
    stays: it never was about the verification.
    """
    before = turn.state.gate(step.phase_id)
    state = reopen_gate(turn.state, step.phase_id).with_gate(
        step.phase_id, reverified=before.reverified + 1
    )
    if before.status is GateStatus.WAIVED:
        state = state.with_gate(
            step.phase_id, status=before.status, waiver_reason=before.waiver_reason
        )
    draft = _step_draft(report, step, "Phase reopened", receipt_hash=receipt_hash)
    return turn.to(state).noting(draft)


def _skip_verification(turn: EngineTurn, report: StepReport, step: IssuedStep) -> EngineTurn:
    if turn.state.write_lock.enforced:
        raise RefusedError(
            ErrorCode.VERIFICATION_RECEIPT_REQUIRED,
            "Verification can't be skipped while the write lock is enforced.",
        )
    skipped = turn.to(turn.state.with_gate(step.phase_id, verification_skipped=True))
    return skipped.noting(_step_draft(report, step, "Verification skipped"))


def _record_gate(turn: EngineTurn, report: StepReport, step: IssuedStep) -> EngineTurn:
    if report.outcome is StepOutcome.FAILURE:
        failed = _count_failure(turn, report)
        return failed.noting(_step_draft(report, step, "Review could not run"))
    if report.outcome is StepOutcome.SKIPPED:
        raise RefusedError(
            ErrorCode.REQUIRED_GATE_UNSATISFIED,
            "A required gate can't be skipped.",
            details={"phase_id": step.phase_id},
        )
    evidence = check_evidence(turn.state, report, turn.env)
    return _apply_verdict(turn, report, evidence)


def _apply_verdict(turn: EngineTurn, report: StepReport, evidence: GateEvidence) -> EngineTurn:
    state, now = turn.state, turn.env.now
    passed = policy_passes(state.gate_policy, evidence.verdict)
    manual = state.gate_policy is GatePolicy.MANUAL
    cycles = state.counters.fidelity_review_cycles_in_active_phase + 1
    verdict_status = GateStatus.PENDING if manual else GateStatus.FAILED
    state = state.with_gate(
        evidence.phase_id,
        status=GateStatus.PASSED if passed else verdict_status,
        verdict=evidence.verdict,
        cycles=cycles,
        gate_attempt_id=evidence.gate_attempt_id,
        evidence_hash=evidence.token_hash,
        review_path=evidence.review_path,
        evaluated_at=now,
        findings=evidence.findings,
        remediated=False,
        feedback_skipped=False,
    ).with_counters(fidelity_review_cycles_in_active_phase=cycles, consecutive_errors=0)
    used = ConsumedNonce(nonce_hash=evidence.token_hash, consumed_at=now)
    state = state.evolve(consumed_gate_nonces=(*state.consumed_gate_nonces, used))
    if manual:
        state = state.evolve(pending_manual_gate_ack=_ack(evidence, turn))
    judged = turn.to(state).noting(_gate_draft(report, evidence, passed=passed))
    return judged if passed or manual else _without_refuted_blocks(judged, evidence)


def _without_refuted_blocks(turn: EngineTurn, evidence: GateEvidence) -> EngineTurn:
    """Set blocked deliverables to pending that the review names: it refutes what they claim.

    A block without a reason is a person's decision. It is no claim, and stays.
    """
    spec = turn.spec
    if spec is None:
        return turn
    named = {finding.deliverable_id for finding in evidence.findings}
    refuted = [
        task
        for task in spec.tasks.values()
        if task.id in named and task.status is TaskStatus.BLOCKED and task.block_reason is not None
    ]
    if not refuted:
        return turn
    for task in refuted:
        spec = spec.with_status(task.id, TaskStatus.PENDING, spec.mtime, spec.size)
        turn = turn.marking(task.id, TaskStatus.PENDING).noting(_refuted_draft(task, evidence))
    ids = {task.id for task in refuted}
    only_these = all(finding.deliverable_id in ids for finding in evidence.findings)
    state = turn.state.with_gate(
        evidence.phase_id, remediated=only_these, verified_at=None, receipt_hash=None
    )
    return turn._replace(spec=spec, state=state)


def _refuted_draft(task: SpecTask, evidence: GateEvidence) -> JournalDraft:
    return JournalDraft(
        EntryType.TASK,
        "Block refuted",
        f"{task.id} is pending again: the review of {evidence.phase_id} does not believe that it "
        f"is blocked ({task.block_reason}).",
        {"task_id": task.id, "reason": task.block_reason, "phase_id": evidence.phase_id},
    )


def _ack(evidence: GateEvidence, turn: EngineTurn) -> ManualGateAck:
    return ManualGateAck(
        gate_attempt_id=evidence.gate_attempt_id,
        phase_id=evidence.phase_id,
        verdict=evidence.verdict,
        requested_at=turn.env.now,
    )


def _record_feedback(turn: EngineTurn, report: StepReport, step: IssuedStep) -> EngineTurn:
    """Mended findings are judged again by verification and review (CONTRACT §5)."""
    if report.outcome is StepOutcome.FAILURE:
        failed = _count_failure(turn, report)
        return failed.noting(_step_draft(report, step, "Remediation failed"))
    if report.outcome is StepOutcome.SKIPPED:
        skipped = turn.to(turn.state.with_gate(step.phase_id, feedback_skipped=True))
        return skipped.noting(_step_draft(report, step, "Remediation skipped"))
    state = turn.state.with_gate(
        step.phase_id,
        remediated=True,
        verified_at=None,
        verification_skipped=False,
        receipt_hash=None,
    ).with_counters(consecutive_errors=0)
    return turn.to(state).noting(_step_draft(report, step, "Remediation completed"))


RECORDERS: Mapping[StepType, Recorder] = {
    StepType.IMPLEMENT_TASK: _record_task,
    StepType.EXECUTE_VERIFICATION: _record_verification,
    StepType.RUN_FIDELITY_GATE: _record_gate,
    StepType.ADDRESS_FIDELITY_FEEDBACK: _record_feedback,
}


def _count_failure(turn: EngineTurn, report: StepReport) -> EngineTurn:
    errors = turn.state.counters.consecutive_errors + 1
    what = report.note or f"{report.step_type} failed"
    state = turn.state.with_counters(consecutive_errors=errors)
    return turn.to(state.with_lifecycle(last_error=what[:500], last_error_at=turn.env.now))


def _remember(turn: EngineTurn, report: StepReport) -> RecordedReport:
    proof = turn.state.pending_step_proof
    return RecordedReport(
        step_id=report.step_id,
        digest=report.digest,
        proof_hash=proof.proof_hash if proof else None,
        outcome=report.outcome,
        recorded_at=turn.env.now,
    )


def _waiver_draft(phase_id: str) -> JournalDraft:
    content = f"New work in {phase_id}: the waiver of its gate no longer applies."
    return JournalDraft(EntryType.GATE, "Gate waiver dropped", content, {"phase_id": phase_id})


def _step_draft(report: StepReport, step: IssuedStep, title: str, **extra: Any) -> JournalDraft:
    subject = step.task_id or step.phase_id
    content = f"{step.type} on {subject}: {report.outcome}"
    if report.note:
        content += f". {report.note}"
    data = {
        "step_id": step.step_id,
        "step_type": step.type,
        "phase_id": step.phase_id,
        "task_id": step.task_id,
        "outcome": report.outcome,
        "files_touched": list(report.files_touched),
        "note": report.note,
    }
    return JournalDraft(EntryType.STEP, title, content, data | extra)


def _gate_draft(report: StepReport, evidence: GateEvidence, *, passed: bool) -> JournalDraft:
    titles = [f"{finding.severity}: {finding.title}" for finding in evidence.findings]
    content = f"Verdict {evidence.verdict}, {'passed' if passed else 'not passed'}."
    if titles:
        content += " " + "; ".join(titles[:10])
    data = {
        "step_id": report.step_id,
        "step_type": report.step_type,
        "phase_id": evidence.phase_id,
        "gate_attempt_id": evidence.gate_attempt_id,
        "verdict": evidence.verdict,
        "gate_passed": passed,
        "evidence_hash": evidence.token_hash,
        "review_path": evidence.review_path,
        "findings": titles,
        "outcome": report.outcome,
        "note": report.note,
        "files_touched": list(report.files_touched),
    }
    return JournalDraft(EntryType.GATE, "Gate evaluated", content, data)
