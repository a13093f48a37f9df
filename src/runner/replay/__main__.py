"""Serve a script: `python -m runner.replay SCRIPT [--port N] [--project DIR]`.

Point `ANTHROPIC_BASE_URL` of any client at the address that is printed.
"""

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from runner.errors import RunnerError
from runner.replay.script import load_script
from runner.replay.server import ScriptedModel

_USAGE_EXIT = 2
_ENDINGS = frozenset({signal.SIGINT, signal.SIGTERM})


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until interrupted. Returns the exit code: 1 when a conversation left the script."""
    options = _parser().parse_args(argv)
    try:
        script = load_script(options.script)
        # Before any thread starts, which would end the process for a signal that comes too soon.
        signal.pthread_sigmask(signal.SIG_BLOCK, _ENDINGS)
        with ScriptedModel(script, project=options.project.resolve(), port=options.port) as model:
            _say(sys.stdout, model.base_url)
            signal.sigwait(_ENDINGS)
            left = [*map(str, model.divergences), *model.unplayed()]
            for line in left:
                _say(sys.stderr, line)
            return 1 if left else 0
    except RunnerError as error:
        _say(sys.stderr, f"Error: {error}")
        return _USAGE_EXIT


def _say(stream: TextIO, text: str) -> None:
    stream.write(f"{text}\n")
    stream.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m runner.replay",
        description="Serve a scripted model on 127.0.0.1 until interrupted.",
    )
    parser.add_argument("script", type=Path, help="the script file")
    parser.add_argument("--port", type=int, default=0, help="default: any free port")
    parser.add_argument(
        "--project",
        type=Path,
        default=Path.cwd(),
        help="what {{project}} stands for (default: the current folder)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
