"""How long `runner --version` and `runner --help` take, against `python -c pass`.

Printed as ratios of medians from interleaved runs, so that a noisy machine hits all alike.
Aims: version <= 2x, help <= 4x.
"""

import statistics
import subprocess
import sys
import time

RUNS = 25
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "runner --version": [sys.executable, "-m", "runner", "--version"],
    "runner --help": [sys.executable, "-m", "runner", "--help"],
    "runner run --help": [sys.executable, "-m", "runner", "run", "--help"],
    "runner session list": [sys.executable, "-m", "runner", "session", "list"],
}


def seconds(command: list[str]) -> float:
    """Return the wall-clock time of one run."""
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def main() -> None:
    """Measure and print."""
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for name, command in COMMANDS.items():
        seconds(command)  # fills the bytecode cache
        del name
    for _ in range(RUNS):
        for name, command in COMMANDS.items():
            times[name].append(seconds(command))
    base = statistics.median(times["python -c pass"])
    for name, values in times.items():
        median = statistics.median(values)
        print(f"{name:20} {median * 1000:7.1f} ms  {median / base:5.2f}x")


if __name__ == "__main__":
    main()
