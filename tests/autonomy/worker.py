"""A caller in its own process, for the storms: `python -m tests.autonomy.worker JOB WORKSPACE`.

Prints one JSON line for each answer that it got, flushed, so that what was acknowledged is
known even when the process is killed.
"""

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any, NoReturn

from tests.autonomy.plane import Client, RealClock, write_status


def _client(workspace: Path) -> Client:
    return Client(workspace, RealClock(), lock_seconds=30)


def _say(**facts: Any) -> None:
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


def work(client: Client) -> None:
    """Go through the spec, reporting every deliverable; whatever was outstanding is replayed."""
    replayed = client.call("step", "replay")
    step = replayed["data"].get("next_step") if replayed["success"] else None
    if step is None:
        step = client.next()["next_step"]
    while step is not None and step["type"] not in ("pause", "complete_spec"):
        report = client.report(step)
        data = client.next(report)
        _say(step_id=step["step_id"], task_id=step.get("task_id"), report=report, answer=data)
        step = data["next_step"]
    _say(done=True)


def first_next(client: Client) -> None:
    _say(answer=client.call("step", "next"))


def start(client: Client) -> None:
    _say(answer=client.call("session", "start"))


def repeat(client: Client) -> None:
    report = json.loads(sys.argv[3])
    _say(answer=client.call("step", "next", last_step_result=report))


def pause(client: Client) -> None:
    _say(answer=client.call("session", "pause"))


def note(client: Client) -> None:
    for number in range(5):
        title = f"{sys.argv[3]}-{number}"
        if client.call("journal", "add", title=title)["success"]:
            _say(title=title)


def cycle(client: Client) -> None:
    """Start and end sessions again and again, whoever else does."""
    for _ in range(int(sys.argv[3])):
        envelope = client.call("session", "start")
        if envelope["success"]:
            session_id = envelope["data"]["session_id"]
            _say(started=session_id)
            client.ok("session", "end", session_id=session_id)


JOBS = {
    "work": work,
    "first_next": first_next,
    "start": start,
    "repeat": repeat,
    "pause": pause,
    "note": note,
    "cycle": cycle,
}


def nurse() -> None:
    """Fork a caller for each line on standard input, `[job, workspace, file for its answers]`.

    Who is killed a thousand times need not load Python and build its models a thousand times.
    The line after that has it buried, so that nobody else gets its number before it is killed.
    """
    with tempfile.TemporaryDirectory() as folder:
        first = Path(folder) / "first"
        write_status(first, {"p1": ["A-001"]})
        caller = _client(first)
        caller.start()
        caller.finish()
    _say(ready=True)
    for line in sys.stdin:
        job, workspace, answers = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _be_born(job, Path(workspace), Path(answers))
        _say(pid=pid)
        sys.stdin.readline()
        os.waitpid(pid, 0)
        _say(buried=pid)


def _be_born(job: str, workspace: Path, answers: Path) -> NoReturn:
    try:
        sys.stdout = answers.open("w", encoding="utf-8")
        JOBS[job](_client(workspace))
    finally:
        os._exit(0)


if __name__ == "__main__":
    if sys.argv[1] == "nurse":
        nurse()
    else:
        _say(ready=True)
        sys.stdin.readline()
        JOBS[sys.argv[1]](_client(Path(sys.argv[2])))
