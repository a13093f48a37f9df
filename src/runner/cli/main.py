"""The one place where errors become messages and exit codes (CONTRACT §2)."""

import os
import sys
import traceback
from collections.abc import Sequence

from runner.cli.exit_codes import FAILURE, exit_code_for_error
from runner.config.kinds import DEFAULT_THINKING_TOKENS
from runner.errors import RunnerError

_SIGINT_EXIT = 130


def run_command_line(arguments: Sequence[str]) -> int:
    """Run one command; return its exit code. Never raises."""
    from runner.cli.app import invoke  # noqa: PLC0415 - Typer is slow to import

    try:
        return invoke(complete_thinking(arguments))
    except RunnerError as error:
        _complain(error)
        return exit_code_for_error(error)
    except KeyboardInterrupt:
        return _SIGINT_EXIT
    except BrokenPipeError:
        # Whoever read our output is gone; nothing that could be said would arrive.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILURE
    except Exception as error:  # noqa: BLE001 - the boundary: a bug must not look like success
        _report_bug(error)
        return FAILURE


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
