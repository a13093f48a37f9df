"""One structured log record per call, with the fields of seed 000 «Observability».

The records go to the logger `runner.autonomy` like any library's: an application that embeds the
control plane handles them as it likes. `JsonLines` writes a record as one JSON object.
"""

import json
import logging
from datetime import UTC, datetime
from typing import Any

from runner.autonomy.observability.metrics import Observation, proof_validation

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
