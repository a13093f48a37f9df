"""Check a verification receipt: every field, against the step it claims to be of (CONTRACT §6)."""

import hashlib
from collections import Counter
from datetime import datetime, timedelta

from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.enums import StepOutcome
from runner.autonomy.inputs import Receipt, StepReport
from runner.autonomy.models import IssuedStep

# Clocks of one machine may be read in another order than they are written.
_SKEW = timedelta(seconds=2)


def check_receipt(
    step: IssuedStep, report: StepReport, now: datetime, *, since: datetime | None = None
) -> Receipt | None:
    """Return the receipt of a report on `execute_verification`, None when it brings none.

    Args:
        now: by the clock that the receipt's time comes from.
        since: when the step was issued by that clock, where it is not `step.issued_at`.

    Raises:
        RefusedError: VERIFICATION_RECEIPT_REQUIRED for success without one,
            VERIFICATION_RECEIPT_INVALID for one that does not fit the step or its outcome.
    """
    receipt = report.verification_receipt
    if receipt is None:
        if report.outcome is StepOutcome.SUCCESS:
            raise RefusedError(
                ErrorCode.VERIFICATION_RECEIPT_REQUIRED,
                "A successful verification needs a receipt.",
            )
        return None
    if report.outcome is StepOutcome.SKIPPED:
        raise _invalid("A verification that was skipped has no receipt.")
    _check_binding(step, receipt, now, since or step.issued_at)
    failed = [r.command_hash for r in receipt.results if r.exit_code != 0]
    if report.outcome is StepOutcome.SUCCESS and failed:
        raise _invalid("The receipt has exit codes other than 0.", failed_commands=failed)
    return receipt


def receipt_text(receipt: Receipt) -> str:
    """Return a receipt as it is kept and hashed."""
    return receipt.model_dump_json()


def receipt_hash(receipt: Receipt) -> str:
    """Return what the session and its journal hold of an accepted receipt."""
    return "sha256:" + hashlib.sha256(receipt_text(receipt).encode()).hexdigest()


def _check_binding(step: IssuedStep, receipt: Receipt, now: datetime, since: datetime) -> None:
    if receipt.step_id != step.step_id:
        raise _invalid("The receipt belongs to another step.")
    if not since - _SKEW <= receipt.issued_at <= now + _SKEW:
        raise _invalid("The receipt's time lies outside the step's.")
    issued = Counter(command.command_hash for command in step.commands)
    reported = Counter(result.command_hash for result in receipt.results)
    if issued != reported:
        raise _invalid(
            "The receipt needs exactly one result for each issued command.",
            missing=sorted((issued - reported).elements()),
            unexpected=sorted((reported - issued).elements()),
        )


def _invalid(message: str, **details: object) -> RefusedError:
    return RefusedError(ErrorCode.VERIFICATION_RECEIPT_INVALID, message, details=details)
