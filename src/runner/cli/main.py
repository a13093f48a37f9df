"""The one place where errors become messages and exit codes (CONTRACT §2)."""

import errno
import os
import sys
import traceback
from collections.abc import Mapping, Sequence

from runner.cli.exit_codes import FAILURE, USAGE, exit_code_for_error
from runner.cli.inert import json_text
from runner.cli.result import result_object
from runner.config.kinds import DEFAULT_THINKING_TOKENS
from runner.deliverables.model import Counts
from runner.errors import RunnerError
from runner.loop.events import ExitReason, RunEnded, RunResult

_SIGINT_EXIT = 130
_WRITE_ERRORS = frozenset({errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
_FORMAT = "--output-format"


def run_command_line(arguments: Sequence[str]) -> int:
    """Run one command; return its exit code.

    Raises:
        OSError: the output could not be written; anything else is told, and is the exit code.
    """
    from runner.cli.app import invoke  # noqa: PLC0415 - Typer is slow to import

    wanted = wants_json(arguments, os.environ)
    try:
        code = invoke(complete_thinking(arguments))
    except RunnerError as error:
        _complain(error)
        code = exit_code_for_error(error)
        if wanted:
            _print_result(arguments[0], code, error.message, error.hint)
        return code
    except KeyboardInterrupt:
        if wanted:
            _print_result(arguments[0], _SIGINT_EXIT, "User interrupted", None)
        return _SIGINT_EXIT
    except Exception as error:
        if _is_lost_output(error):
            raise
        _report_bug(error)
        if wanted:
            _print_result(arguments[0], FAILURE, f"unexpected {type(error).__name__}", None)
        return FAILURE
    if code == USAGE and wanted:
        _print_result(arguments[0], code, "wrong usage; stderr says what", None)
    return code


def wants_json(arguments: Sequence[str], environ: Mapping[str, str]) -> bool:
    """Return whether `run` or `sync` was to answer in JSON, also where it never came to that."""
    if not arguments or arguments[0] not in {"run", "sync"}:
        return False
    given = [
        following if argument == _FORMAT else argument.removeprefix(f"{_FORMAT}=")
        for argument, following in zip(arguments, [*arguments[1:], ""], strict=True)
        if argument == _FORMAT or argument.startswith(f"{_FORMAT}=")
    ]
    chosen = given[-1] if given else environ.get("AUTORUNNER_OUTPUT_FORMAT", "")
    return chosen in {"json", "stream-json"}


def _print_result(command: str, code: int, message: str, hint: str | None) -> None:
    """Print the result object of a command that ended before it began (CONTRACT §3)."""
    interrupted = code == _SIGINT_EXIT
    result = result_object(
        RunEnded(
            RunResult(
                command=command,
                exit_reason=ExitReason.INTERRUPTED if interrupted else ExitReason.ERROR,
                message=message,
                hint=hint,
                spec_id="",
                counts=Counts(),
            )
        )
    )
    if sys.stdout is not None:  # the program may have been started with it closed
        sys.stdout.write(json_text({**result, "exit_code": code}) + "\n")


def complete_thinking(arguments: Sequence[str]) -> list[str]:
    """Give `--thinking` its default number where none follows (CONTRACT §1)."""
    completed: list[str] = []
    for position, argument in enumerate(arguments):
        completed.append(argument)
        following = arguments[position + 1] if position + 1 < len(arguments) else "-"
        if argument == "--thinking" and following.startswith("-") and not _is_number(following):
            completed.append(str(DEFAULT_THINKING_TOKENS))
    return completed


def _is_number(text: str) -> bool:
    return text.removeprefix("-").isdigit()


def _is_lost_output(error: Exception) -> bool:
    """Whether `error` is a failed write to stdout; errors of files carry the file's name."""
    return isinstance(error, OSError) and error.filename is None and error.errno in _WRITE_ERRORS


def _complain(error: RunnerError) -> None:
    _say(f"Error: {error.message}", error.hint)


def _report_bug(error: Exception) -> None:
    if os.environ.get("AUTORUNNER_DEBUG"):
        traceback.print_exc()
    _say(
        f"Error: unexpected {type(error).__name__}: {error}",
        "This is a bug in runner. State on disk is unharmed; AUTORUNNER_DEBUG=1 shows the "
        "traceback.",
    )


def _say(message: str, hint: str | None) -> None:
    sys.stderr.write(f"{message}\n" + (f"       {hint}\n" if hint else ""))
