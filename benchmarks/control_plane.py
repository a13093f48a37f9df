"""What a step costs: report+next, an events page, a session list. fsync is on.

Prints p50 and p95 of the wall time and the CPU time per operation, in milliseconds. Sizes can be
given: `python benchmarks/control_plane.py 10 100 1000`.
"""

import hashlib
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from runner.autonomy.models import JournalEntry
from runner.autonomy.service import ControlPlane
from runner.autonomy.store.journal import Journal

SIZES = (10, 100, 1_000, 10_000)
ROUNDS = 30


def write_status(workspace: Path, tasks: int) -> Path:
    deliverables = [
        {
            "id": f"T-{n:05}",
            "description": f"Deliverable number {n} of a spec of some size",
            "acceptanceCriteria": ["it works as described", "it has tests"],
            "passed": False,
            "blocked": False,
        }
        for n in range(tasks)
    ]
    path = workspace / ".runner" / "status.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"specId": "bench", "deliverables": deliverables}, indent=2))
    return path


def measure(operation: Callable[[], object], rounds: int) -> str:
    walls, cpus = [], []
    for _ in range(rounds):
        wall, cpu = time.perf_counter(), time.process_time()
        operation()
        cpus.append((time.process_time() - cpu) * 1e3)
        walls.append((time.perf_counter() - wall) * 1e3)
    return f"{_line('wall', walls)}   {_line('cpu', cpus)}"


def _line(name: str, values: list[float]) -> str:
    ordered = sorted(values)
    p95 = ordered[min(len(ordered) - 1, round(0.95 * len(ordered)))]
    return f"{name} p50 {statistics.median(ordered):7.2f}  p95 {p95:7.2f}"


class Bench:
    def __init__(self, workspace: Path, tasks: int) -> None:
        self.status = write_status(workspace, tasks)
        self.plane = ControlPlane(workspace, key_directory=workspace / "key")
        self.call("session", "start", max_tasks_per_session=1_000_000)
        self.step = self.call("step", "next")["next_step"]

    def call(self, group: str, command: str, **params: Any) -> dict[str, Any]:
        envelope = self.plane.call(group, command, **params)
        if not envelope["success"]:
            raise SystemExit(f"{group} {command}: {envelope['error']}")
        data: dict[str, Any] = envelope["data"]
        return data

    def report_and_next(self, outcome: str = "success") -> None:
        step = self.step
        report = {
            "step_id": step["step_id"],
            "step_type": step["type"],
            "task_id": step.get("task_id"),
            "phase_id": step["phase_id"],
            "outcome": outcome,
            "step_proof": step["step_proof_token"],
        }
        self.step = self.call("step", "next", last_step_result=report)["next_step"]


def bench_steps(sizes: tuple[int, ...]) -> None:
    for tasks in sizes:
        for outcome, what in (("success", "status written"), ("skipped", "status as is")):
            rounds = min(ROUNDS, tasks - 4)
            line = measure_steps(tasks, outcome, 3, rounds)
            print(f"report+next, {tasks:6} tasks, {what:14}: {line}")


def measure_steps(tasks: int, outcome: str, before: int, rounds: int) -> str:
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), tasks)
        for _ in range(before):
            bench.report_and_next(outcome)
        return measure(lambda: bench.report_and_next(outcome), rounds)


def bench_steps_done(tasks: int = 1_100) -> None:
    for mark in (10, 100, 1_000):
        line = measure_steps(tasks, "success", mark, 20)
        print(f"report+next, {tasks:6} tasks, {mark:4} steps done: {line}")


def bench_events(entries: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        note = JournalEntry(
            seq=1,
            at=datetime.now(UTC),
            session_id="auto_0",
            spec_id="bench",
            entry_type="step",
            title="Task step completed",
            content="x" * 120,
        )
        Journal(path).append([note])
        line = path.read_bytes()
        with path.open("ab") as file:
            for _ in range(entries // 1000):
                file.write(line * 1000)
        journal = Journal(path)
        print(
            f"events page, {entries:8} entries:           {measure(lambda: journal.page(20), 50)}"
        )


def bench_list(sessions: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), 3)
        sample = next((Path(folder) / ".runner/autonomy/sessions").glob("*.json"))
        state = bench.plane.core.store.read(sample.stem)
        if state is None:
            raise SystemExit("the session is gone")
        for number in range(sessions - 1):
            digest = hashlib.sha256(str(number).encode()).hexdigest().upper()
            session_id = "auto_0" + "".join(c for c in digest if c in "0123456789ABCDEF")[:25]
            bench.plane.core.store.commit(state.evolve(id=session_id))
        bench.call("session", "list")
        line = measure(lambda: bench.call("session", "list"), 20)
        print(f"session list, {sessions:6} sessions:            {line}")


if __name__ == "__main__":
    sizes = tuple(int(argument) for argument in sys.argv[1:]) or SIZES
    bench_steps(sizes)
    bench_steps_done()
    for count in (10_000, 1_000_000):
        bench_events(count)
    for count in (100, 1_000, 10_000):
        bench_list(count)
