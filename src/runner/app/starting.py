"""What an autonomous session is started with, from the options of a run."""

import math
from typing import Any

from runner.autonomy.models import Limits
from runner.config.postures import Posture, Standing
from runner.config.run_options import RunOptions

SESSIONS_IN_STEP = 4
"""How many agent sessions a step has time for before its proof must be renewed."""


def start_defaults(standing: Standing | None) -> dict[str, Any]:
    """Return what `runner run` starts a session with, where the user does not say.

    A run allows as many errors in a row with a person before it as without (CONTRACT §1), so that
    a session begun in a terminal can be taken up at night. `debug` is lax on purpose.

    Args:
        standing: whose run it is; None for the program itself.
    """
    if standing is not None and standing.posture is Posture.DEBUG:
        return {}
    return {"max_consecutive_errors": Limits().max_consecutive_errors}


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
