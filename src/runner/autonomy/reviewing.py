"""review gate: a verdict becomes single-use evidence (seed 000 «fidelity-gate»)."""

from runner.autonomy.core import Answer, Core
from runner.autonomy.engine.gates import mint_evidence, policy_passes
from runner.autonomy.engine.lifecycle import finish, require_status
from runner.autonomy.engine.turn import Turn
from runner.autonomy.enums import SessionStatus
from runner.autonomy.models import GateFinding
from runner.autonomy.params import FindingParams, GateParams


class Reviewing:
    """Takes reviews of the outstanding gate step; the report alone advances the session."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def gate(self, params: GateParams) -> Answer:
        """Store a review's result, and return its token. The latest attempt wins."""
        with self._core.hold(params) as held:
            state, env = held.state, self._core.env()
            require_status(state, "a review", SessionStatus.RUNNING, SessionStatus.PAUSED)
            evidence, token = mint_evidence(
                state,
                env,
                phase_id=params.phase_id,
                step_id=params.step_id,
                verdict=params.verdict,
                findings=[_finding(finding) for finding in params.findings],
                review_path=params.review_path,
            )
            turn = Turn(state=state.evolve(pending_gate_evidence=evidence), spec=None, env=env)
            self._core.commit(held, finish(turn, {}))
            data = {
                "spec_id": state.spec_id,
                "session_id": state.id,
                "phase_id": params.phase_id,
                "step_id": params.step_id,
                "gate_attempt_id": evidence.gate_attempt_id,
                "verdict": evidence.verdict,
                "gate_policy": state.gate_policy,
                "gate_passed_preview": policy_passes(state.gate_policy, evidence.verdict),
                "gate_evidence_token": token,
                "gate_evidence_expires_at": evidence.expires_at.isoformat(),
                "review_path": evidence.review_path,
                "findings": [f.model_dump(mode="json") for f in evidence.findings],
                "state_version": held.state.state_version,
            }
            return Answer(data, tuple(held.warnings))


def _finding(finding: FindingParams) -> GateFinding:
    return GateFinding(
        severity=finding.severity,
        title=finding.title,
        detail=finding.detail,
        deliverable_id=finding.deliverableId,
        file=finding.file,
    )
