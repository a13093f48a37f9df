"""Observe a call: derive the measurements, hand them on, and log."""

import json
import logging
import os
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from runner.autonomy.calls import ControlCall
from runner.autonomy.observability.metrics import (
    Measurement,
    Metric,
    Observation,
    measure,
    proof_validation,
)

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter, Histogram


# Without an SDK the OpenTelemetry API does nothing, and importing it would cost more than a whole
# command line call; so it is imported only where a listener can be: in a process that has it
# loaded, or that the standard variables tell where to send metrics.
METER_NAME = "runner.autonomy"
METRICS_FILE = "AUTORUNNER_METRICS_FILE"
_LISTENING = (
    METRICS_FILE,
    "OTEL_METRICS_EXPORTER",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
)


def is_listening(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether anybody could receive metrics in this process."""
    if "opentelemetry.metrics" in sys.modules:
        return True
    return any(environ.get(name) for name in _LISTENING)


def emit(measurements: Sequence[Measurement]) -> None:
    """Add the measurements to their instruments; free without a listener."""
    if not measurements or not is_listening():
        return
    for metric, attributes, value in measurements:
        if metric is Metric.NEXT_DURATION:
            _histogram(metric).record(value, dict(attributes))
        else:
            _counter(metric).add(value, dict(attributes))


@cache
def _counter(metric: Metric) -> "Counter":
    from opentelemetry.metrics import get_meter  # noqa: PLC0415 - see the module's docstring

    return get_meter(METER_NAME).create_counter(metric)


@cache
def _histogram(metric: Metric) -> "Histogram":
    from opentelemetry.metrics import get_meter  # noqa: PLC0415 - see the module's docstring

    return get_meter(METER_NAME).create_histogram(metric, unit="ms")


# The records go to the logger `runner.autonomy` like any library's: an application that embeds the
# control plane handles them as it likes. `JsonLines` writes a record as one JSON object.
LOGGER = logging.getLogger("runner.autonomy")
LOGGER.addHandler(logging.NullHandler())
FIELDS = "runner_fields"


def log_call(seen: Observation) -> None:
    """Log what a call did: refusals as warnings, reads as debug messages, changes as info."""
    level = _level(seen)
    if LOGGER.isEnabledFor(level):
        outcome = seen.code or "ok"
        LOGGER.log(level, "%s: %s", seen.name, outcome, extra={FIELDS: fields_of(seen)})


def fields_of(seen: Observation) -> dict[str, Any]:
    """Return the fields of a call's record; what does not apply is None.

    No token, note or other text of a caller is among them, but for the reason of a reset: what it
    was for is looked up after the session and its answers are gone.
    """
    state = seen.call.session
    step = state.last_step_issued if state is not None else None
    return {
        "request_id": seen.call.request_id,
        "command": seen.name,
        "error_code": seen.code,
        "duration_ms": round(seen.milliseconds, 3),
        "session_id": state.id if state else None,
        "spec_id": state.spec_id if state else None,
        "phase_id": state.active_phase_id if state else None,
        "step_id": step.step_id if step else None,
        "status": state.status if state else None,
        "pause_reason": state.pause_reason if state else None,
        "failure_reason": state.failure_reason if state else None,
        "reset_reason": seen.data.get("reason") if seen.name == "session reset" else None,
        "state_version": state.state_version if state else None,
        "step_proof_validation": proof_validation(seen),
    }


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record's time (UTC), level and message with its fields."""
        content = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, FIELDS, {}),
        }
        return json.dumps(content, ensure_ascii=False, default=str)


def _level(seen: Observation) -> int:
    if not seen.done:
        return logging.WARNING
    return logging.INFO if seen.call.commits else logging.DEBUG


_PROOFS = ("autonomy_step_proof", "step_proof")


def observe(call: ControlCall, envelope: Mapping[str, Any], params: Mapping[str, Any]) -> None:
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
