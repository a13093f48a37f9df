"""Answers of the hot path, for people."""

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from runner.cli.control.scene import Scene
from runner.text.columns import wrap
from runner.text.safe import inert

_INDENT = "  "


def step_lines(scene: Scene) -> Iterator[str]:
    """Yield the step that is issued and how it is reported, or why none is issued."""
    step = scene.data["next_step"]
    if step is None or step["type"] in ("pause", "complete_spec"):
        yield from _stopped(scene, step)
        return
    yield from _step(scene, step)
    yield ""
    yield from _what_next(scene, step)


def heartbeat_lines(scene: Scene) -> Iterator[str]:
    yield f"{scene.data['session_id']} is {standing(scene.data)}; the heartbeat is recorded."
    yield from advice(scene)


def standing(data: Mapping[str, Any]) -> str:
    """Return the status with its reason, as in `paused (context_limit)`."""
    reason = data.get("pause_reason") or data.get("failure_reason")
    return f"{data['status']} ({reason})" if reason else str(data["status"])


def advice(scene: Scene) -> Iterator[str]:
    """Yield what is recommended, each with its command."""
    actions = scene.data.get("recommended_actions") or ()
    if actions:
        yield ""
    for action in actions:
        start = "Next: "
        if action.get("command"):
            yield from scene.pasteable(inert(action["command"]), start)
            start = " " * len(start)
        yield from wrap(action["description"], scene.width, " " * 6, start)


def report_command(scene: Scene, report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the command that reports a step, over several lines but in one piece to be pasted."""
    session = ("--session-id", scene.data["session_id"]) if "session_id" in scene.data else ()
    body = json.dumps({k: v for k, v in report.items() if v is not None}, indent=2)
    yield _INDENT + scene.command("step", "next", *session) + " --result \\"
    first, *rest = shlex.quote(body).splitlines()
    yield _INDENT + first
    yield from (_INDENT + line for line in rest)


def _stopped(scene: Scene, step: Mapping[str, Any] | None) -> Iterator[str]:
    data = scene.data
    yield f"{data['session_id']} is {standing(data)}."
    message = step["message"] if step is not None else data["details"].get("message")
    if message:
        yield from wrap(message, scene.width)
    if data["status"] == "running":
        yield ""
        yield from scene.next("step", "next", "--session-id", data["session_id"])
    yield from advice(scene)


def _step(scene: Scene, step: Mapping[str, Any]) -> Iterator[str]:
    subject = step.get("task_id") or step["phase_id"]
    title = f": {step['task_title']}" if step.get("task_title") else ""
    yield from wrap(f"{step['type']} {subject}{title}", scene.width)
    yield from scene.labelled(
        ("Step", step["step_id"]),
        ("Phase", step["phase_id"]),
        ("Proof", step["step_proof_token"] or ""),
        ("Expires", scene.until(step["step_proof_expires_at"])),
        ("Attempt", step.get("gate_attempt_id") or ""),
    )
    for command in step.get("commands") or ():
        yield from wrap(command["command"], scene.width, "    ", "  $ ")
        yield f"    {command['command_hash']}"
    for finding in step.get("findings") or ():
        said = f"{finding['severity']}: {finding['title']}"
        yield from wrap(said, scene.width, "    ", "  - ")
        yield from wrap(finding.get("detail") or "", scene.width, "    ")


def _what_next(scene: Scene, step: Mapping[str, Any]) -> Iterator[str]:
    if step["type"] == "run_fidelity_gate":
        yield from scene.next(
            "review", "gate", "--session-id", scene.data["session_id"],
            "--phase-id", step["phase_id"], "--step-id", step["step_id"],
            meaning="Then report the step with the evidence that this returns.",
        )  # fmt: skip
        return
    if step["type"] == "execute_verification":
        yield "Next: run the commands, put what they returned into the receipt, and report it"
    elif step["type"] == "address_fidelity_feedback":
        yield "Next: fix the findings, then report it"
    else:
        yield f"Next: {scene.command('task', 'prepare', step['task_id'])}"
        yield "      Implement it, then report it"
    yield from report_command(scene, _report(scene, step))


def _report(scene: Scene, step: Mapping[str, Any]) -> dict[str, Any]:
    report = {
        "step_id": step["step_id"],
        "step_type": step["type"],
        "task_id": step.get("task_id"),
        "phase_id": step["phase_id"],
        "outcome": "success",
        "step_proof": step["step_proof_token"],
    }
    if step["type"] == "execute_verification":
        report["verification_receipt"] = {
            "step_id": step["step_id"],
            "issued_at": scene.now.isoformat(timespec="seconds"),
            "results": [
                {
                    "command_hash": command["command_hash"],
                    "exit_code": "EXIT CODE",
                    "output_digest": "SHA-256 OF THE OUTPUT",
                }
                for command in step["commands"]
            ],
        }
    return report
