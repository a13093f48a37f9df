"""`docs/error-codes.md`: every code of a refusal, when it comes, and what to do about it."""

from collections.abc import Iterator, Mapping

from runner.autonomy.codes import CODES, ErrorCode, ErrorType
from runner.autonomy.signals import error_signal

MEANINGS: Mapping[ErrorCode, str] = {
    ErrorCode.STEP_RESULT_REQUIRED: "`next` was asked although a step is outstanding",
    ErrorCode.STEP_MISMATCH: "the report is about another step than the outstanding one",
    ErrorCode.STEP_PROOF_REQUIRED: "the write lock is on, and the report or change has no proof",
    ErrorCode.STEP_PROOF_INVALID: "the proof is not the outstanding step's",
    ErrorCode.STEP_PROOF_CONFLICT: "the proof was used already, for something else",
    ErrorCode.STEP_PROOF_EXPIRED: "the proof came too late",
    ErrorCode.AUTONOMY_WRITE_LOCK_ACTIVE: "the proof is right, and the step does not allow this change",
    ErrorCode.INVALID_GATE_EVIDENCE: "the attempt or token is not the latest review's, is used or expired",
    ErrorCode.INVALID_CURSOR: "the cursor is not one that this list gave",
    ErrorCode.NO_ACTIVE_SESSION: "no session was named, and none is live",
    ErrorCode.AMBIGUOUS_ACTIVE_SESSION: "no session was named, and several are live",
    ErrorCode.SPEC_SESSION_EXISTS: "the spec has a session that is not over",
    ErrorCode.SESSION_UNRECOVERABLE: "the session's file is damaged or of another version",
    ErrorCode.LOCK_TIMEOUT: "somebody else held a lock for 5 seconds; nothing was changed",
    ErrorCode.TIMEOUT: "the answer is late; `details.state_version` is the version by then",
    ErrorCode.MANUAL_GATE_ACK_REQUIRED: "a person must acknowledge a review before the session goes on",
    ErrorCode.INVALID_GATE_ACK: "the acknowledged attempt is not the pending one",
    ErrorCode.INVALID_STATE_TRANSITION: "the session's status does not allow the command",
    ErrorCode.AUTO_MODE_SPEC_RESOLUTION_FAILED: "`auto_mode` without a spec, and there is none",
    ErrorCode.SPEC_REBASE_REQUIRED: "the spec's structure changed, and resuming can't accept that",
    ErrorCode.REBASE_COMPLETED_TASKS_REMOVED: "the edited spec lacks deliverables that are completed",
    ErrorCode.HEARTBEAT_STALE: "the heartbeat came too late, and the session rests; `next` says so in `details.pause_trigger`",
    ErrorCode.VALIDATION_ERROR: "the input is not what the command takes; `details.field` says where",
    ErrorCode.SPEC_NOT_FOUND: "there is no planned spec, or another one than was named",
    ErrorCode.SESSION_NOT_FOUND: "the named session is not there",
    ErrorCode.FEATURE_DISABLED: "the feature is switched off by a flag",
    ErrorCode.AUTHORIZATION: "the role or posture does not allow it",
    ErrorCode.VERIFICATION_RECEIPT_REQUIRED: "a successful verification without a receipt",
    ErrorCode.VERIFICATION_RECEIPT_INVALID: "the receipt does not fit the step, its commands or its time",
    ErrorCode.GATE_INTEGRITY_CHECKSUM: "the stored evidence was changed from outside",
    ErrorCode.GATE_AUDIT_FAILURE: "a gate's record and its evidence contradict each other",
    ErrorCode.REQUIRED_GATE_UNSATISFIED: "a required gate was to be passed over",
    ErrorCode.RATE_LIMITED: "too many refusals within a minute",
    ErrorCode.REVIEW_UNAVAILABLE: "an agent was to review a phase, and could not or submitted nothing",
    ErrorCode.STATE_UNWRITABLE: "the disk or its permissions do not let the state be written",
    ErrorCode.INTERNAL: "a bug",
}  # fmt: skip

_HEAD = """\
# Error codes of the control plane

Made from the code by `python -m runner.server.reference`; don't edit it here.

A refusal is an envelope with `success: false`: `error` is a sentence, and `data` holds `error_code`,
`error_type`, `remediation`, `details` and `loop_signal`. A refused command has changed nothing, but for
`TIMEOUT`, which only says that the answer is late, and `HEARTBEAT_STALE`, which has paused the session.
The remediation of a single answer may say more
than the one here. On the command line the exit code is 1; over MCP the result is a tool error
(`isError`) that carries the same envelope.

`error_type` is for callers that don't know every code:

| type | what it means for the caller |
| --- | --- |
| `validation` | correct the input |
| `not_found` | what was named is not there |
| `conflict` | look at the state first, then decide |
| `unavailable` | try again later |
| `authorization` | not allowed this way, or not to you; don't try again unchanged |
| `feature_flag` | switched off |
| `internal` | a bug: report it with the request id |

A `loop_signal` tells a supervisor to stop; where it is null the caller can correct this by itself.
"""


def error_codes_document() -> str:
    """Return the document."""
    return "\n".join([_HEAD, *_sections()])


def _sections() -> Iterator[str]:
    for kind in ErrorType:
        codes = [code for code in ErrorCode if CODES[code].error_type is kind]
        if not codes:
            continue
        yield f"## {kind}\n"
        yield "| code | when | what to do | `loop_signal` |\n| --- | --- | --- | --- |"
        for code in codes:
            signal = error_signal(code)
            shown = f"`{signal}`" if signal else "null"
            yield f"| `{code}` | {MEANINGS[code]} | {CODES[code].remediation} | {shown} |"
        yield ""
