"""Run a project in this process, and print after each agent session what the process holds.

`python -m tests.e2e.long_run PROJECT`; the environment names the model. One JSON object a line.
"""

import json
import os
import sys
from pathlib import Path

from runner.app.job import Job
from runner.app.run import run
from runner.app.subscribers import subscribers_of
from runner.config.options import RunOptions
from runner.events import RunEnded, RunEvent, SessionEnded
from runner.project import Project


def resident_bytes() -> int:
    """Return what of the process is in memory."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def children() -> int:
    """Return how many child processes there are, zombies among them."""
    tasks = Path("/proc/self/task").iterdir()
    return sum(len((task / "children").read_text(encoding="ascii").split()) for task in tasks)


def say(held: dict[str, object]) -> None:
    """Print one object."""
    sys.stdout.write(json.dumps(held) + "\n")
    sys.stdout.flush()


def sample(event: RunEvent) -> None:
    """Print what the process holds now, or how the run ended."""
    if isinstance(event, SessionEnded):
        held: dict[str, object] = {
            "session": event.number,
            "bytes": resident_bytes(),
            "files": len(list(Path("/proc/self/fd").iterdir())),
            "children": children(),
        }
        say(held)
    elif isinstance(event, RunEnded):
        say({"exit_reason": event.result.exit_reason})


if __name__ == "__main__":
    project = Project.open(Path(sys.argv[1]), os.environ)
    job = Job(project, RunOptions(plan_review=False), "A long run")
    run(job, subscribers_of(job, job.redactor, sample))
