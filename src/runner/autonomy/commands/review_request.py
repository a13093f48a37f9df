"""Whether an agent's review may be begun: asked before it is paid for."""

from collections.abc import Mapping
from typing import Any

from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.enums import StepType
from runner.autonomy.envelope import Envelope, failure
from runner.autonomy.params import GateParams, parse
from runner.autonomy.service import ControlPlane, new_ulid


def due_review(plane: ControlPlane, values: Mapping[str, Any]) -> str | Envelope:
    """Return the id of the session whose outstanding gate step is to be reviewed, or a refusal.

    Args:
        values: what `review gate` takes, without a verdict.
    """
    refused = plane.role_preflight([("review", "gate")])
    if refused is not None:
        return refused
    try:
        params = parse(GateParams, values)
        _require_no_words(params)
    except RefusedError as error:
        return failure(error, request_id=new_ulid("req"))
    named = {"session_id": params.session_id, "spec_id": params.spec_id}
    status = plane.call("session", "status", **named)
    if not status["success"]:
        return status
    data = status["data"]
    issued = (data["last_step_id"], data["last_step_type"], data["active_phase_id"])
    if issued != (params.step_id, StepType.RUN_FIDELITY_GATE, params.phase_id):
        mismatch = RefusedError(
            ErrorCode.STEP_MISMATCH, "The outstanding step is not a review of this phase."
        )
        return failure(mismatch, request_id=new_ulid("req"))
    return str(data["session_id"])


def _require_no_words(params: GateParams) -> None:
    """Refuse what a caller says about a review that is still to be made."""
    for name in ("summary", "findings"):
        if getattr(params, name):
            raise RefusedError(
                ErrorCode.VALIDATION_ERROR,
                f"{name}: It belongs to a verdict, and none was given.",
                hint="Bring the verdict of the review along, or leave the words to the agent.",
                details={"field": name},
            )
