"""The one place where errors become messages and exit codes (CONTRACT §2)."""

import errno
import os
import sys
import tomllib
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from runner.app.exit_codes import FAILURE, USAGE, exit_code_for_error
from runner.app.signals import SIGNAL_EXIT_BASE
from runner.app.unfinished import startup_failure
from runner.config.kinds import DEFAULT_THINKING_TOKENS
from runner.errors import RunnerError
from runner.files import read_regular
from runner.text.safe import inert_lines, json_text

_SIGINT = 2
_WRITE_ERRORS = frozenset(
    {errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}
)
_MAX_FILE_BYTES = 1024 * 1024


def run_command_line(arguments: Sequence[str]) -> int:
    """Run one command; return its exit code.

    Raises:
        OSError: the output could not be written; other errors are reported, and are the exit code.
    """
    from runner.cli.app import invoke  # noqa: PLC0415 - Typer is slow to import

    try:
        code = invoke(complete_thinking(arguments))
    except RunnerError as error:
        _complain(error)
        code = exit_code_for_error(error)
        _print_result(arguments, code, error.message, error.hint)
        return code
    except KeyboardInterrupt:
        return report_interruption(arguments, _SIGINT)
    except Exception as error:
        if _is_lost_output(error):
            raise
        _report_bug(error)
        _print_result(arguments, FAILURE, f"unexpected {type(error).__name__}", None)
        return FAILURE
    if code == USAGE:
        _print_result(arguments, code, "wrong usage; stderr says what", None)
    return code


def report_interruption(arguments: Sequence[str], signal_number: int) -> int:
    """Say that a command was stopped before it could do so itself; return its exit code."""
    _say("User interrupted", None)
    code = SIGNAL_EXIT_BASE + signal_number
    _print_result(arguments, code, "User interrupted", None, signal_number)
    return code


def wants_json(arguments: Sequence[str], environ: Mapping[str, str]) -> bool:
    """Return whether `run` or `sync` is to answer in JSON, even where its arguments are wrong."""
    if not arguments or arguments[0] not in {"run", "sync"}:
        return False
    given = _given(arguments)
    chosen: object = given.get("output_format") or environ.get("AUTORUNNER_OUTPUT_FORMAT")
    if not chosen:
        chosen = _format_in_file(_project_of(given, environ))
    return chosen in ("json", "stream-json")


def _given(arguments: Sequence[str]) -> Mapping[str, str]:
    from runner.cli.app import read_leniently  # noqa: PLC0415 - Typer is slow to import

    return read_leniently(complete_thinking(arguments))


def _format_in_file(project: Path) -> object:
    """Return the project's output format; a file that can't be read is reported elsewhere."""
    with suppress(OSError, ValueError, RunnerError):
        text = read_regular(project / ".runner" / "runner.toml", limit=_MAX_FILE_BYTES)
        return tomllib.loads(text.decode()).get("output_format")
    return None


def _project_of(given: Mapping[str, str], environ: Mapping[str, str]) -> Path:
    named = given.get("project_dir") or environ.get("AUTORUNNER_PROJECT_DIR")
    return Path(named or ".").absolute()


def _print_result(
    arguments: Sequence[str],
    code: int,
    message: str,
    hint: str | None,
    signal_number: int | None = None,
) -> None:
    """Print the result object of a command that did not begin, where JSON is wanted."""
    if not wants_json(arguments, os.environ):
        return
    project = _project_of(_given(arguments), os.environ)
    result = startup_failure(
        arguments[0], project, code, message, hint, signal_number=signal_number
    )
    sys.stdout.write(json_text(result) + "\n")


def complete_thinking(arguments: Sequence[str]) -> list[str]:
    """Give `--thinking` its default number where none follows.

    Click has options whose value may be left out; Typer does not support them.
    """
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
    told = "\n".join(inert_lines(message)) + "\n"
    if hint:
        told += "       " + "\n".join(inert_lines(hint)) + "\n"
    sys.stderr.write(told)
