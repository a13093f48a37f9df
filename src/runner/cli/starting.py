"""What an autonomous session is started with, from the options of a run."""

import math
from typing import Any

from runner.config.run_options import RunOptions

SESSIONS_IN_STEP = 4
"""How many agent sessions a step has time for before its proof must be renewed."""


def start_parameters(options: RunOptions) -> dict[str, Any]:
    """Return what `session start` is told; what the user did not say is the posture's."""
    minutes = math.ceil(options.session_timeout_minutes * SESSIONS_IN_STEP)
    parameters = {
        "gate_policy": options.gate_policy,
        "gates_required": None if options.gates else False,
        "max_consecutive_errors": options.max_consecutive_errors,
        "max_fidelity_review_cycles_per_phase": options.max_review_cycles,
        "stop_on_phase_completion": True if options.one_phase else None,
        "step_stale_minutes": minutes,
        "step_proof_ttl_minutes": minutes,
    }
    return {name: value for name, value in parameters.items() if value is not None}
