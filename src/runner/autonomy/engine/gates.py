"""Gate evidence: minting, checking, and what a verdict means under a policy (seed 000)."""

import hmac
from collections.abc import Sequence
from datetime import timedelta

from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.engine.turn import Env
from runner.autonomy.enums import GatePolicy, StepType, Verdict
from runner.autonomy.inputs import StepReport
from runner.autonomy.models import ConsumedNonce, GateEvidence, GateFinding, SessionState
from runner.autonomy.tokens import evidence_checksum, evidence_token, same_token, token_hash

_MINIMUM_NONCE_RETENTION = timedelta(minutes=120)


def policy_passes(policy: GatePolicy, verdict: Verdict) -> bool:
    """Say whether a verdict passes a gate by itself; under `manual` none does."""
    if policy is GatePolicy.STRICT:
        return verdict is Verdict.PASS
    return policy is GatePolicy.LENIENT and verdict is not Verdict.FAIL


def mint_evidence(
    state: SessionState,
    env: Env,
    *,
    phase_id: str,
    step_id: str,
    verdict: Verdict,
    findings: Sequence[GateFinding] = (),
    review_path: str | None = None,
) -> tuple[GateEvidence, str]:
    """Make single-use evidence of a review of the outstanding gate step, with its token.

    The latest attempt wins: storing it replaces the one before.

    Raises:
        RefusedError: the step is not the outstanding gate step of that phase.
    """
    _require_outstanding(state, phase_id, step_id)
    attempt = env.new_id("gate")
    token = evidence_token(
        env.key, session_id=state.id, phase_id=phase_id, step_id=step_id, attempt=attempt
    )
    evidence = GateEvidence(
        gate_attempt_id=attempt,
        session_id=state.id,
        step_id=step_id,
        phase_id=phase_id,
        verdict=verdict,
        token_hash=token_hash(token),
        issued_at=env.now,
        expires_at=env.now + timedelta(minutes=state.limits.gate_nonce_ttl_minutes),
        checksum="",
        review_path=review_path,
        findings=tuple(findings),
    )
    return evidence.evolve(checksum=evidence_checksum(env.key, evidence)), token


def check_evidence(state: SessionState, report: StepReport, env: Env) -> GateEvidence:
    """Return the evidence that a successful gate report brings.

    Raises:
        RefusedError: INVALID_GATE_EVIDENCE, or GATE_INTEGRITY_CHECKSUM when the stored record
            was changed; nothing is consumed.
    """
    evidence = state.pending_gate_evidence
    token = report.gate_evidence_token
    if evidence is None or token is None or report.gate_attempt_id != evidence.gate_attempt_id:
        raise _invalid("The report names no review, or not the latest of this step.")
    if not hmac.compare_digest(evidence.checksum, evidence_checksum(env.key, evidence)):
        raise RefusedError(
            ErrorCode.GATE_INTEGRITY_CHECKSUM, "The stored gate evidence was changed."
        )
    bound = (state.id, report.step_id, report.phase_id)
    if (evidence.session_id, evidence.step_id, evidence.phase_id) != bound:
        raise _invalid("The review belongs to another session, step or phase.")
    if not same_token(token, evidence.token_hash):
        raise _invalid("The evidence token is wrong.")
    if env.now >= evidence.expires_at:
        raise _invalid("The evidence has expired.")
    if any(evidence.token_hash == used.nonce_hash for used in state.consumed_gate_nonces):
        raise _invalid("The evidence was used before.")
    return evidence


def prune_nonces(state: SessionState, env: Env) -> tuple[ConsumedNonce, ...]:
    """Return the used tokens that must still be remembered."""
    ttl = timedelta(minutes=2 * state.limits.gate_nonce_ttl_minutes)
    oldest = env.now - max(ttl, _MINIMUM_NONCE_RETENTION)
    return tuple(used for used in state.consumed_gate_nonces if used.consumed_at >= oldest)


def _require_outstanding(state: SessionState, phase_id: str, step_id: str) -> None:
    step = state.last_step_issued
    wanted = (StepType.RUN_FIDELITY_GATE, step_id, phase_id)
    if step is None or (step.type, step.step_id, step.phase_id) != wanted:
        raise RefusedError(
            ErrorCode.STEP_MISMATCH, "The outstanding step is not a review of this phase."
        )


def _invalid(message: str) -> RefusedError:
    return RefusedError(ErrorCode.INVALID_GATE_EVIDENCE, message)
