"""review gate: a verdict becomes single-use evidence (seed 000 «fidelity-gate»).

Whoever reviews - the loop's agent, `runner review gate`, an MCP caller - hands a verdict with its
findings to `Reviewing.gate`. A review that could not run has no verdict: it is never handed in
here, but reported as the step's failure, which neither passes the gate nor consumes a cycle.
"""

from typing import Any

from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.core import CommandAnswer, Core
from runner.autonomy.engine.gates import mint_evidence, policy_passes
from runner.autonomy.engine.lifecycle import finish, require_status
from runner.autonomy.engine.turn import EngineTurn, JournalDraft
from runner.autonomy.engine.waiving import Justification, waive_gate
from runner.autonomy.enums import EntryType, SessionStatus
from runner.autonomy.models import GateEvidence, GateFinding, SessionState
from runner.autonomy.params import FindingParams, GateParams, GateWaiverParams


class Reviewing:
    """Takes reviews of the outstanding gate step; the report alone advances the session."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def gate(self, params: GateParams) -> CommandAnswer:
        """Store a review's result and write it down; return its token. The latest attempt wins.

        Raises:
            RefusedError: STEP_MISMATCH for any but the outstanding gate step, VALIDATION_ERROR
                without a verdict; nothing changed.
            StateWriteError: the review can't be written; nothing changed.
        """
        verdict = params.verdict
        if verdict is None:
            raise RefusedError(
                ErrorCode.VALIDATION_ERROR,
                "verdict is missing.",
                hint="Bring the verdict of a review: pass, warn or fail.",
                details={"field": "verdict", "problem": "missing"},
            )
        with self._core.hold(params) as held:
            state, env = held.state, self._core.env(held.state)
            require_status(state, "a review", SessionStatus.RUNNING, SessionStatus.PAUSED)
            store = self._core.store
            evidence, token = mint_evidence(
                state,
                env,
                phase_id=params.phase_id,
                step_id=params.step_id,
                verdict=verdict,
                findings=[_finding(finding) for finding in params.findings],
                summary=params.summary,
                review_path=lambda attempt: store.review_path(state.id, params.phase_id, attempt),
            )
            store.write_review(evidence, params.review_path)
            turn = EngineTurn(
                state=state.evolve(pending_gate_evidence=evidence), spec=None, env=env
            )
            self._core.commit(held, finish(turn.noting(_draft(evidence)), {}))
            return CommandAnswer(_answer(held.state, evidence, token), tuple(held.warnings))


def _answer(state: SessionState, evidence: GateEvidence, token: str) -> dict[str, Any]:
    return {
        "spec_id": state.spec_id,
        "session_id": state.id,
        "phase_id": evidence.phase_id,
        "step_id": evidence.step_id,
        "gate_attempt_id": evidence.gate_attempt_id,
        "verdict": evidence.verdict,
        "gate_policy": state.gate_policy,
        "gate_passed_preview": policy_passes(state.gate_policy, evidence.verdict),
        "gate_evidence_token": token,
        "gate_evidence_expires_at": evidence.expires_at.isoformat(),
        "gate_evidence_key_id": evidence.key_id,
        "review_path": evidence.review_path,
        "summary": evidence.summary,
        "findings": [f.model_dump(mode="json") for f in evidence.findings],
        "state_version": state.state_version,
    }


def _draft(evidence: GateEvidence) -> JournalDraft:
    data = {
        "phase_id": evidence.phase_id,
        "step_id": evidence.step_id,
        "gate_attempt_id": evidence.gate_attempt_id,
        "verdict": evidence.verdict,
        "evidence_hash": evidence.token_hash,
        "key_id": evidence.key_id,
        "review_path": evidence.review_path,
    }
    content = f"Review of {evidence.phase_id}: {evidence.verdict}. Nothing is decided by it yet."
    return JournalDraft(EntryType.GATE, "Review made", content, data)


def _finding(finding: FindingParams) -> GateFinding:
    return GateFinding(
        severity=finding.severity,
        title=finding.title,
        detail=finding.detail,
        deliverable_id=finding.deliverableId,
        file=finding.file,
    )


class Waiving:
    """The audited way around a gate; the posture and role were judged before."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def waive(self, params: GateWaiverParams) -> CommandAnswer:
        """Waive the gate of a phase. The session stays as it is: resume it where it rests."""
        why = Justification(params.reason_code, params.reason, self._core.policy.describe())
        with self._core.hold(params) as held:
            spec = self._core.require_spec(held.state.spec_id)
            waived = waive_gate(held.state, spec, params.phase_id, why, self._core.env(held.state))
            self._core.commit(held, waived)
            gate = held.state.gate(params.phase_id)
            data = {
                "session_id": held.state.id,
                "spec_id": held.state.spec_id,
                "status": held.state.status,
                "phase_id": params.phase_id,
                "gate_status": gate.status,
                "waiver_reason": gate.waiver_reason,
                "reason_code": params.reason_code,
                "reason": params.reason,
                "state_version": held.state.state_version,
            }
            warning = f"The gate of {params.phase_id} was waived, and the journal says so."
            return CommandAnswer(data, (*held.warnings, warning))
