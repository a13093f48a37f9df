"""A whole run against a bare SDK loop that does the same scripted sessions.

A scripted model answers; the agent is the real one in both. The bare loop is what one would write
first: connect, send the prompt, read to the result, disconnect, again; no policy, no sandbox, no
state. Both do the same work in turns, and the ratio of their medians counts.
Aims: total <= 1.05x; the command's exit <= 0.3 s after the last result of the agent has come. Reviews
are off: the bare loop has none, and the scripted model could not make one.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    create_sdk_mcp_server,
    tool,
)

from runner.app.job import Job
from runner.app.replaying import scripted
from runner.app.run import run
from runner.app.subscribers import subscribers_of
from runner.config.options import RunOptions
from runner.events import ExitReason
from runner.marker import Instruction, PromptMarker
from runner.project import Project
from runner.replay.script import parse_script

SESSIONS = 8
ROUNDS = 3

_CODING = """
[[session]]
instruction = "coding"
repeat = true
[[session.turn]]
text = "Working on {{task}}."
tools = [{ name = "Write", input = { file_path = "{{project}}/{{task}}", content = "x" } }]
[[session.turn]]
tools = [{ name = "Bash", input = { command = "sleep 1", description = "Pretend to work" } }]
[[session.turn]]
tools = [{ name = "mcp__runner__set_status", input = { deliverableId = "{{task}}", status = "passed" } }]
[[session.turn]]
text = "Done."
"""
_POSTURE = "supervised"  # which allows to leave reviews out
_BUILT_IN = ["Bash", "Read", "Write", "Edit", "Glob", "Grep", "Skill"]


def names() -> list[str]:
    """Return the ids of the deliverables, one a session."""
    return [f"STEP-{number:03}" for number in range(1, SESSIONS + 1)]


def prepare(project: Path) -> None:
    """Write a spec and its plan, so that both sides only implement."""
    deliverables = [
        {"id": name, "description": name, "acceptanceCriteria": ["done"], "passed": False}
        for name in names()
    ]
    (project / "SPEC.md").write_text("# benchmark\n", encoding="utf-8")
    (project / ".runner").mkdir()
    plan = {"createdAt": "2026-11-20", "deliverables": deliverables}
    (project / ".runner" / "status.json").write_text(json.dumps(plan), encoding="utf-8")


def run_of_ours(project: Path, environment: dict[str, str]) -> None:
    """Do the sessions with the loop of `runner run`."""
    opened = Project(project, os.environ)
    job = Job(opened, RunOptions(posture=_POSTURE, gates=False), "Benchmark", environment)
    result = run(job, subscribers_of(job, job.redactor))
    if result.exit_reason is not ExitReason.ALL_PASSED:
        raise SystemExit(f"the run ended with {result.exit_reason}")


def bare_loop(project: Path, environment: dict[str, str]) -> None:
    """Do the sessions with the SDK alone."""
    anyio.run(_bare_loop, project, environment)


async def _bare_loop(project: Path, environment: dict[str, str]) -> None:
    for name in names():
        options = ClaudeAgentOptions(
            tools=_BUILT_IN,
            allowed_tools=[*_BUILT_IN, "mcp__runner__set_status"],
            permission_mode="dontAsk",
            system_prompt={"type": "preset", "preset": "claude_code"},
            mcp_servers={"runner": create_sdk_mcp_server("runner", tools=[_set_status])},
            strict_mcp_config=True,
            setting_sources=[],
            model="sonnet",
            cwd=project,
            env=environment,
        )
        async with ClaudeSDKClient(options) as client:
            marker = PromptMarker(Instruction.CODING, 1, None, name)
            await client.query(f"{marker.render()}\n\nImplement {name}.")
            async for _ in client.receive_response():
                pass


@tool("set_status", "Set a deliverable's status", {"deliverableId": str, "status": str})
async def _set_status(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": f"{arguments['deliverableId']} is set"}]}


def seconds_of(work: Callable[[Path, dict[str, str]], None]) -> float:
    """Return how long one side takes in a new project; it must have done the work."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder).resolve()
        prepare(project)
        with scripted(parse_script(_CODING, name="benchmark"), project) as answers:
            start = time.monotonic()
            work(project, answers.environment)
            seconds = time.monotonic() - start
        missing = [name for name in names() if not (project / name).is_file()]
    if missing:
        raise SystemExit(f"{work.__name__} left out {', '.join(missing)}")
    return seconds


def exit_delays() -> dict[str, float]:
    """Return the seconds from the last result, and from the last session's end, to the exit.

    The agent's result is what `stream_ended` follows at once; between it and `session_ended` lies
    what is asked of the agent and read of the project for the session's summary.
    """
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder).resolve()
        prepare(project)
        script = project / "script.toml"
        script.write_text(_CODING, encoding="utf-8")
        command = [sys.executable, "-m", "runner", "run", "--posture", _POSTURE, "--no-gates"]
        process = subprocess.Popen(
            [*command, "--replay", str(script), "--output-format", "stream-json"],
            cwd=project,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        seen: dict[str, float] = {}
        for line in process.stdout or ():
            seen[json.loads(line)["type"]] = time.monotonic()
        if process.wait() != 0:
            raise SystemExit(f"runner run ended with {process.returncode}")
        ended = time.monotonic()
        return {name: ended - seen[name] for name in ("stream_ended", "session_ended")}


def main() -> None:
    """Measure and print."""
    ours, bare = [], []
    for _ in range(ROUNDS):
        bare.append(seconds_of(bare_loop))
        ours.append(seconds_of(run_of_ours))
    run, loop = statistics.median(ours), statistics.median(bare)
    print(f"{SESSIONS} sessions with runner       median {run:.2f} s")
    print(f"{SESSIONS} sessions, bare SDK loop    median {loop:.2f} s")
    print(f"runner / bare loop          {run / loop:.2f}x   (aim <= 1.05x)")
    delays = [exit_delays() for _ in range(ROUNDS)]
    for event, what in (("stream_ended", "result "), ("session_ended", "session")):
        median = statistics.median(delay[event] for delay in delays)
        print(f"exit after the last {what} median {median:.2f} s   (aim <= 0.3 s)")


if __name__ == "__main__":
    main()
