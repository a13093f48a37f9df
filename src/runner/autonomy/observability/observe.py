"""Observe a call: derive the measurements, hand them on, and log."""

from collections.abc import Mapping
from typing import Any

from runner.autonomy.calls import Call
from runner.autonomy.observability.logs import log_call
from runner.autonomy.observability.meter import emit, is_listening
from runner.autonomy.observability.metrics import Observation, measure

_PROOFS = ("autonomy_step_proof", "step_proof")


def observe(call: Call, envelope: Mapping[str, Any], params: Mapping[str, Any]) -> None:
    """Tell metrics and logs what became of `call`.

    Args:
        envelope: the answer.
        params: what the caller sent; only whether it brought a step proof is looked at.
    """
    data = envelope["data"]
    seen = Observation(
        call=call,
        code=None if envelope["success"] else data["error_code"],
        data=data,
        proof_given=_brings_proof(params),
        milliseconds=call.elapsed * 1000,
    )
    if is_listening():
        emit(measure(seen))
    log_call(seen)


def _brings_proof(params: Mapping[str, Any]) -> bool:
    report = params.get("last_step_result")
    nested = report if isinstance(report, Mapping) else {}
    return any(where.get(name) for where in (params, nested) for name in _PROOFS)
