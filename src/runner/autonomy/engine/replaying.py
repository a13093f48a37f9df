"""Recognise a report that was accepted before, so that it is answered and not applied again."""

from datetime import datetime, timedelta

from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.inputs import StepReport
from runner.autonomy.models import RecordedReport, SessionState, StoredResponse
from runner.autonomy.tokens import same_token

REPLAY_GRACE = timedelta(seconds=60)


def is_repeated(state: SessionState, report: StepReport | None, now: datetime) -> bool:
    """Say whether `report` is the last accepted one again, within the replay grace.

    Raises:
        RefusedError: STEP_PROOF_CONFLICT when its proof was used for another report,
            STEP_PROOF_EXPIRED when the identical report comes too late.
    """
    last = state.last_report
    if report is None or last is None or report.step_id != last.step_id:
        return False
    if not _has_proof_of(report, last):
        return last.proof_hash is None and report.digest == last.digest and _in_time(last, now)
    if report.digest != last.digest:
        raise RefusedError(
            ErrorCode.STEP_PROOF_CONFLICT, "The step was reported already, with other content."
        )
    if not _in_time(last, now):
        raise RefusedError(
            ErrorCode.STEP_PROOF_EXPIRED,
            "The step was reported already, and its answer is no longer repeated.",
            hint="`replay` shows the last answer.",
        )
    return True


def repeated_answer(state: SessionState, command: str) -> StoredResponse | None:
    """Return what a repeated report is answered with.

    None for a `next` whose report was only recorded so far: it still has to advance.
    """
    answer = state.last_report.answer if state.last_report is not None else None
    if answer is None or answer.command in (command, "next"):
        return answer
    later = state.last_response
    return later if later is not None and later.command == "next" else None


def _has_proof_of(report: StepReport, last: RecordedReport) -> bool:
    proven = last.proof_hash is not None and report.step_proof is not None
    return proven and same_token(report.step_proof or "", last.proof_hash or "")


def _in_time(last: RecordedReport, now: datetime) -> bool:
    return now - last.recorded_at <= REPLAY_GRACE
