"""Exit codes of the command line (CONTRACT §2)."""

import signal
from types import MappingProxyType

from runner.errors import RunnerError, StateCorruptError, UsageError
from runner.events import ExitReason

SUCCESS = 0
FAILURE = 1
USAGE = 2
PERSON_NEEDED = 3
MAX_ITERATIONS = 4
BUDGET = 6
BLOCKED_RUNTIME = 7
TRY_LATER = 75  # EX_TEMPFAIL of sysexits.h

_SIGNAL_BASE = 128
INTERRUPTED = _SIGNAL_BASE + signal.SIGINT
TERMINATED = _SIGNAL_BASE + signal.SIGTERM

EXIT_CODES = MappingProxyType(
    {
        ExitReason.ALL_PASSED: SUCCESS,
        ExitReason.PARTLY_PASSED: SUCCESS,
        ExitReason.ALL_VERIFIED: SUCCESS,
        ExitReason.PHASE_COMPLETE: SUCCESS,
        ExitReason.FAILED: FAILURE,
        ExitReason.MAX_RETRIES_EXCEEDED: FAILURE,
        ExitReason.ERROR: FAILURE,
        ExitReason.PAUSED: PERSON_NEEDED,
        ExitReason.ALL_BLOCKED: PERSON_NEEDED,
        ExitReason.STALLED: PERSON_NEEDED,
        ExitReason.MAX_ITERATIONS: MAX_ITERATIONS,
        ExitReason.QUOTA_EXCEEDED: TRY_LATER,
        ExitReason.BUDGET_EXCEEDED: BUDGET,
        ExitReason.BLOCKED_RUNTIME: BLOCKED_RUNTIME,
        ExitReason.INTERRUPTED: INTERRUPTED,
    }
)


def exit_code(
    reason: ExitReason, signal_number: int | None = None, *, needs_person: bool = False
) -> int:
    """Return the process exit code of a run.

    Args:
        reason: why the run ended.
        signal_number: the signal behind INTERRUPTED; SIGINT when it is not known.
        needs_person: whether the posture wants a person although the run ended in order.
    """
    if needs_person:
        return PERSON_NEEDED
    if reason is ExitReason.INTERRUPTED and signal_number is not None:
        return _SIGNAL_BASE + signal_number
    return EXIT_CODES[reason]


def exit_code_for_error(error: RunnerError) -> int:
    """Return the exit code of a command that ended with `error`."""
    return USAGE if isinstance(error, UsageError | StateCorruptError) else FAILURE
