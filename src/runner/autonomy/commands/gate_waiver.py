"""task gate-waiver: a person lets a phase pass without its review, and the journal says so."""

from runner.autonomy.core import Answer, Core
from runner.autonomy.engine.waiving import Justification, waive_gate
from runner.autonomy.params import GateWaiverParams


class Waiving:
    """The audited way around a gate; the posture and role were judged before."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def waive(self, params: GateWaiverParams) -> Answer:
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
            return Answer(data, (*held.warnings, warning))
