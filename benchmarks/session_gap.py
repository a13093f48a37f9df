"""The time between the end of one agent session and the first request of the next.

A scripted model answers; the agent is the real one. The gap is printed as such and as a ratio
to connecting an agent cold in the same run, which is what connecting ahead saves.
Aim: <= 0.3 s.
"""

import os
import statistics
import tempfile
import time
from pathlib import Path

import anyio

from runner.agent.claude.factory import ClaudeAgentFactory
from runner.agent.claude.options import AgentSettings
from runner.app.job import Job
from runner.app.replaying import scripted
from runner.app.run import run
from runner.app.subscribers import subscribers_of
from runner.config.options import RunOptions
from runner.deliverables.repository import StatusRepository
from runner.deliverables.tools import DeliverableTools
from runner.deliverables.workspace import status_path
from runner.events import RunEvent, SessionActivity, StreamEnd
from runner.marker import Instruction
from runner.ports import SessionPlan
from runner.project import Project
from runner.replay.script import parse_script
from runner.sandbox.process import bundled_agent
from runner.shell_policy.decision import Decision

SESSIONS = 10
COLD_CONNECTS = 5

_DELIVERABLE = """
[[session.turn.tools.input.deliverables]]
id = "STEP-{number:03}"
description = "Step {number}"
acceptanceCriteria = ["it is done"]
"""
_SCRIPT = """
[[session]]
instruction = "initializer"
[[session.turn]]
[[session.turn.tools]]
name = "mcp__runner__create"
{deliverables}
[[session.turn]]
text = "planned"

[[session]]
instruction = "coding"
repeat = true
[[session.turn]]
tools = [{{ name = "Write", input = {{ file_path = "{{{{project}}}}/{{{{task}}}}", content = "x" }} }}]
[[session.turn]]
tools = [{{ name = "Bash", input = {{ command = "sleep 1", description = "Pretend to work" }} }}]
[[session.turn]]
tools = [{{ name = "mcp__runner__set_status", input = {{ deliverableId = "{{{{task}}}}", status = "passed" }} }}]
[[session.turn]]
text = "done"
"""


class Gaps:
    """Collects, as a run's sink, the time from a session's end to the next one's first event.

    The next session's first event follows its first request, so the gap is not understated.
    """

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self._ended: float | None = None

    def __call__(self, event: RunEvent) -> None:
        if not isinstance(event, SessionActivity):
            return
        if isinstance(event.event, StreamEnd):
            self._ended = time.monotonic()
        elif self._ended is not None:
            self.seconds.append(time.monotonic() - self._ended)
            self._ended = None


def script() -> str:
    """Return a script of one planning and SESSIONS coding sessions."""
    deliverables = "".join(_DELIVERABLE.format(number=n) for n in range(1, SESSIONS + 1))
    return _SCRIPT.format(deliverables=deliverables)


async def cold_connect(project: Path, environment: dict[str, str]) -> float:
    """Return the seconds it takes to connect an agent that nobody prepared."""
    factory = ClaudeAgentFactory(
        AgentSettings(project, bundled_agent(), environment),
        judge=lambda *_: Decision.allow("benchmark"),
        make_tools=lambda _: DeliverableTools(StatusRepository(status_path(project))),
    )
    start = time.monotonic()
    session = await factory.connect(SessionPlan(Instruction.CODING, "sonnet"))
    seconds = time.monotonic() - start
    await session.close()
    return seconds


def main() -> None:
    """Measure and print."""
    gaps = Gaps()
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder).resolve()
        (project / "SPEC.md").write_text("# benchmark\n", encoding="utf-8")
        with scripted(parse_script(script(), name="benchmark"), project) as answers:
            environment = answers.environment
            opened = Project(project, os.environ)
            job = Job(opened, RunOptions(), "Benchmark", environment)
            run(job, subscribers_of(job, job.redactor, gaps))
            cold = [anyio.run(cold_connect, project, environment) for _ in range(COLD_CONNECTS)]
    gap, connect = statistics.median(gaps.seconds), statistics.median(cold)
    print(f"gap between sessions   median {gap:.3f} s  max {max(gaps.seconds):.3f} s")
    print(f"connecting cold        median {connect:.3f} s")
    print(f"gap / cold connect     {gap / connect:.2f}x")


if __name__ == "__main__":
    main()
