"""The command `runner`.

`--version` and the top-level help answer without importing the command line's libraries,
which would cost five times as long as the answer (benchmarks/startup.py).
"""

import os
import sys


def main() -> int:
    """Run the command line; return its exit code (CONTRACT §2)."""
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        from runner import __version__  # noqa: PLC0415

        print(f"runner {__version__}")
        return 0
    # A shell that asks for completions does so without arguments.
    if arguments in ([], ["--help"], ["-h"]) and "_RUNNER_COMPLETE" not in os.environ:
        from runner.cli.help_cache import cached_help  # noqa: PLC0415

        text = cached_help()
        if text is not None:
            sys.stdout.write(text)
            return 0
    from runner.cli.main import run_command_line  # noqa: PLC0415

    return run_command_line(arguments)


if __name__ == "__main__":
    sys.exit(main())
