"""What one decision of the shell policy costs, over the corpus of the tests.

Printed in milliseconds and as a ratio to `shlex.split` of the same text in the same run.
Aim: p99 <= 5 ms.
"""

import json
import shlex
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from runner.shell_policy import judge_command

DATA = Path(__file__).resolve().parent.parent / "tests" / "security" / "data"


def corpus() -> list[str]:
    """Return every command of the corpus."""
    commands: list[str] = []
    for path in sorted(DATA.glob("*.json")):
        commands += [entry["cmd"] for entry in json.loads(path.read_text(encoding="utf-8"))]
    return commands


def measure(commands: list[str], call: Callable[[str], object]) -> list[float]:
    """Return the seconds that each call took, sorted."""
    times = []
    for command in commands:
        start = time.process_time()
        call(command)
        times.append(time.process_time() - start)
    return sorted(times)


def split(command: str) -> None:
    """Do the least that could be called reading a command."""
    with suppress(ValueError):
        shlex.split(command)


def main() -> None:
    """Measure and print."""
    commands = corpus()
    with tempfile.TemporaryDirectory() as project:
        judge_command("true", project_dir=project)  # compiles the tables
        decisions = measure(commands, lambda text: judge_command(text, project_dir=project))
    splits = statistics.median(measure(commands, split))
    median, p99 = statistics.median(decisions), decisions[int(len(decisions) * 0.99)]
    print(f"{len(commands)} commands")
    print(f"decision  median {median * 1e3:.3f} ms  p99 {p99 * 1e3:.3f} ms")
    print(f"decision / shlex.split  median {median / splits:.1f}x  p99 {p99 / splits:.1f}x")


if __name__ == "__main__":
    main()
