"""The command `runner`.

`--version` and the top-level help answer without importing the command line's libraries,
which would cost five times as long as the answer (benchmarks/startup.py).
"""

import errno
import gc
import os
import sys

from runner.early import settle

_FAILURE = 1
_WRONG_USAGE = 2
_INTERRUPTED = 130
_RUNS = frozenset({"run", "sync", "demo"})
_REVIEW_REQUEST = "review-request"  # that of runner.programs, without the import
_NO_WINDOWS = """Error: runner needs Linux or macOS: its processes, locks and sandbox are not those of Windows.
       Run it in WSL 2 (`wsl --install`), which is Linux to it, or in a container."""


def main() -> int:
    """Run the command line; return its exit code (CONTRACT §2).

    What could not be written to stdout is a failure: who reads it must not take it for complete.
    """
    try:
        settle(sys.argv[1:])
        _open_closed_streams()
        code = _answer(sys.argv[1:])
        sys.stdout.flush()
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted.\n")
        return _INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output is gone; nothing that could be said would arrive.
        _silence_stdout()
        return _FAILURE
    except OSError as error:
        _silence_stdout()
        why = "stdout is closed" if error.errno == errno.EBADF else error.strerror
        print(f"Error: The output could not be written: {why}.", file=sys.stderr)
        return _FAILURE
    finally:
        # The interpreter looks through everything for garbage on its way out, which would take
        # several times as long as the rest of the way (benchmarks/whole_run.py).
        gc.freeze()
    return code


def _answer(arguments: list[str]) -> int:
    if arguments == ["--version"]:
        from runner import __version__  # noqa: PLC0415

        print(f"runner {__version__}")
        return 0
    # A shell that asks for completions does so without arguments.
    if arguments in ([], ["--help"], ["-h"]) and "_RUNNER_COMPLETE" not in os.environ:
        from runner.cli.help_cache import cached_help  # noqa: PLC0415

        text = cached_help()
        if text is not None:
            print(text, end="")
            return 0
    if sys.platform == "win32":
        print(_NO_WINDOWS, file=sys.stderr)
        return _WRONG_USAGE
    if arguments and arguments[0] in _RUNS:
        return _run(arguments)
    if arguments == [_REVIEW_REQUEST]:
        from runner.cli.review_request import answer_standard_input  # noqa: PLC0415

        return answer_standard_input()
    from runner.cli.main import run_command_line  # noqa: PLC0415

    return run_command_line(arguments)


def _run(arguments: list[str]) -> int:
    """Run a command that has an exit code for each signal, also for one that comes early."""
    from runner.app.signals import (  # noqa: PLC0415
        InterruptedEarly,
        check_signals,
        install_signals,
    )

    try:
        install_signals()
        from runner.cli.main import run_command_line  # noqa: PLC0415

        check_signals()
        return run_command_line(arguments)
    except InterruptedEarly as stop:
        from runner.cli.main import report_interruption  # noqa: PLC0415

        return report_interruption(arguments, stop.signal_number)


def _open_closed_streams() -> None:
    """Put something in the place of a stream that the program was started without.

    Python drops what is written to such a stream, as if it had arrived, and the next file that is
    opened takes its number. What is written to this stdout fails, as it does on a full disk.
    """
    for number, name, mode in ((1, "stdout", os.O_RDONLY), (2, "stderr", os.O_WRONLY)):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, mode)
            if null != number:
                os.dup2(null, number)
                os.close(null)
            setattr(sys, name, os.fdopen(number, "w", encoding="utf-8", closefd=False))


def _silence_stdout() -> None:
    """Keep the interpreter from trying, and complaining, once more on the way out."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)


if __name__ == "__main__":
    sys.exit(main())
