"""Where the binary distribution starts (see runner.spec beside this file).

A frozen program has no Python of its own to start scripts with, but runner starts one: the
guard of each agent process, as `sys.executable -I -S -B guard.py …`. So the program takes
those words for itself and runs the script in the interpreter that it carries.
"""

import os
import runpy
import sys

GUARD = ["-I", "-S", "-B"]


def restore_library_path() -> None:
    """Give children the caller's library path; the one set here is for this program alone."""
    original = os.environ.pop("LD_LIBRARY_PATH_ORIG", None)
    if original is not None:
        os.environ["LD_LIBRARY_PATH"] = original
    else:
        os.environ.pop("LD_LIBRARY_PATH", None)


def main() -> int:
    """Run the guard where it was asked for, else the command line."""
    restore_library_path()
    if sys.argv[1:4] == GUARD and len(sys.argv) > 4:
        sys.argv = sys.argv[4:]
        runpy.run_path(sys.argv[0], run_name="__main__")
        return 0
    from runner.__main__ import main as command_line  # noqa: PLC0415 - the guard must start fast

    return command_line()


if __name__ == "__main__":
    sys.exit(main())
