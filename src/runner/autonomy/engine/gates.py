"""Gate evidence: minting, checking, and what a verdict means under a policy."""

from collections.abc import Callable, Sequence
from datetime import timedelta

from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.engine.clock import require_after_issue
from runner.autonomy.engine.turn import Env, SigningKey
from runner.autonomy.enums import GatePolicy, GateVerdict, StepType
from runner.autonomy.inputs import StepReport
from runner.autonomy.models import ConsumedNonce, GateEvidence, GateFinding, SessionState
from runner.autonomy.tokens import (
    evidence_checksum,
    evidence_token,
    key_id_of,
    same_text,
    same_token,
    signed_evidence_token,
    token_hash,
)

_MINIMUM_NONCE_RETENTION = timedelta(minutes=120)


def policy_passes(policy: GatePolicy, verdict: GateVerdict) -> bool:
    """Say whether a verdict passes a gate by itself; under `manual` none does."""
    if policy is GatePolicy.STRICT:
        return verdict is GateVerdict.PASS
    return policy is GatePolicy.LENIENT and verdict is not GateVerdict.FAIL


def mint_evidence(
    state: SessionState,
    env: Env,
    *,
    phase_id: str,
    step_id: str,
    verdict: GateVerdict,
    findings: Sequence[GateFinding] = (),
    summary: str = "",
    review_path: Callable[[str], str] | None = None,
) -> tuple[GateEvidence, str]:
    """Make single-use evidence of a review of the outstanding gate step, with its token.

    The latest attempt wins: storing it replaces the one before.

    `review_path` names the file of a review by its attempt.

    Raises:
        RefusedError: STEP_MISMATCH, the step is not the outstanding gate step of that phase.
    """
    require_outstanding(state, phase_id, step_id)
    attempt = env.new_id("gate")
    key = env.keys.current(env.now) if env.signed_evidence and env.keys is not None else None
    evidence = GateEvidence(
        gate_attempt_id=attempt,
        session_id=state.id,
        step_id=step_id,
        phase_id=phase_id,
        verdict=verdict,
        token_hash="",
        issued_at=env.clock,
        expires_at=env.now + timedelta(minutes=state.limits.gate_nonce_ttl_minutes),
        checksum="",
        key_id=key.id if key is not None else None,
        summary=summary,
        review_path=review_path(attempt) if review_path is not None else None,
        findings=tuple(findings),
    )
    token = _token(evidence, env, key)
    evidence = evidence.evolve(token_hash=token_hash(token))
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
    if not same_text(evidence.checksum, evidence_checksum(env.key, evidence)):
        raise RefusedError(
            ErrorCode.GATE_INTEGRITY_CHECKSUM, "The stored gate evidence was changed."
        )
    bound = (state.id, report.step_id, report.phase_id)
    if (evidence.session_id, evidence.step_id, evidence.phase_id) != bound:
        raise _invalid("The review belongs to another session, step or phase.")
    _check_signature(evidence, token, env)
    if not same_token(token, evidence.token_hash):
        raise _invalid("The evidence token is wrong.")
    require_after_issue(ErrorCode.INVALID_GATE_EVIDENCE, "evidence", evidence.issued_at, env.clock)
    if env.now >= evidence.expires_at:
        raise _invalid("The evidence has expired.")
    if any(evidence.token_hash == used.nonce_hash for used in state.consumed_gate_nonces):
        raise _invalid("The evidence was used before.")
    return evidence


def _token(evidence: GateEvidence, env: Env, key: SigningKey | None) -> str:
    if key is not None:
        return signed_evidence_token(key.secret, key.id, evidence)
    return evidence_token(
        env.key,
        session_id=evidence.session_id,
        phase_id=evidence.phase_id,
        step_id=evidence.step_id,
        attempt=evidence.gate_attempt_id,
    )


def _check_signature(evidence: GateEvidence, token: str, env: Env) -> None:
    """Verify a signed token with the key that it names; refuse an unsigned one where signed is due.

    A key that was retired since is good for what it signed before.
    """
    key_id = key_id_of(token)
    if key_id != evidence.key_id:
        raise _invalid("The evidence is not signed with the key that it was made with.")
    if key_id is None:
        if env.signed_evidence:
            raise _invalid("The evidence is not signed, and signed evidence is required.")
        return
    key = env.keys.find(key_id) if env.keys is not None else None
    if key is None or not key.signs_at(evidence.issued_at):
        raise _invalid("The key that signed the evidence is not known, or was retired before.")
    if not same_text(token, signed_evidence_token(key.secret, key.id, evidence)):
        raise _invalid("The signature of the evidence is wrong.")


def prune_nonces(state: SessionState, env: Env) -> tuple[ConsumedNonce, ...]:
    """Return the used tokens that must still be remembered."""
    ttl = timedelta(minutes=2 * state.limits.gate_nonce_ttl_minutes)
    oldest = env.now - max(ttl, _MINIMUM_NONCE_RETENTION)
    return tuple(used for used in state.consumed_gate_nonces if used.consumed_at >= oldest)


def require_outstanding(state: SessionState, phase_id: str, step_id: str) -> None:
    """Raise STEP_MISMATCH unless that is the outstanding review."""
    step = state.last_step_issued
    wanted = (StepType.RUN_FIDELITY_GATE, step_id, phase_id)
    if step is None or (step.type, step.step_id, step.phase_id) != wanted:
        raise RefusedError(
            ErrorCode.STEP_MISMATCH, "The outstanding step is not a review of this phase."
        )


def _invalid(message: str) -> RefusedError:
    return RefusedError(ErrorCode.INVALID_GATE_EVIDENCE, message)
