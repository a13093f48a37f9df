"""skills/runner-implement/SKILL.md as a program: what a model that follows it calls."""

import json
import re
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

Json = dict[str, Any]
Call = tuple[str, Json]
Playing = Generator[Call, str, str]
Sub = Generator[Call, str, Json]
_FEATURES = {"autonomy_sessions", "autonomy_session_step", "autonomy_fidelity_gates"}


class Implementer:
    """Follows the skill.

    Args:
        project: where it works.
        files: what implementing a deliverable writes, by its id.
        verdict: what the reviewer with the fresh context finds.
    """

    def __init__(self, project: Path, files: Mapping[str, str], verdict: str = "pass") -> None:
        self._project = project
        self._files = files
        self._verdict = verdict

    def play(self) -> Playing:
        opened = yield from self._preflight()
        if not opened["success"]:
            return _end(opened, "none")
        session_id = opened["data"]["session_id"]
        answer = yield from _step("next", session_id)
        while answer["success"] and answer["data"]["loop_signal"] is None:
            report = yield from self._carry_out(answer["data"]["next_step"], session_id)
            answer = yield from _step("next", session_id, last_step_result=report)
        return _end(answer, session_id)

    def _preflight(self) -> Sub:
        able = yield from _tool("server", action="capabilities")
        if not _can_drive(able["data"]):
            return able | {"success": False}
        listed = yield from _tool("task", action="session", command="list")
        if not listed["success"]:
            return listed
        planned = yield from _tool("task", action="list")
        if not planned["success"]:
            return planned
        for session in listed["data"]["sessions"]:
            if session["status"] == "paused":
                resume = {"command": "resume", "session_id": session["session_id"]}
                return (yield from _tool("task", action="session", **resume))
        start = {"command": "start", "stop_on_phase_completion": True}
        return (yield from _tool("task", action="session", **start))

    def _carry_out(self, step: Json, session_id: str) -> Sub:
        report = {
            "step_id": step["step_id"],
            "step_type": step["type"],
            "phase_id": step["phase_id"],
            "outcome": "success",
            "note": "Followed the skill.",
            "step_proof": step["step_proof_token"],
        }
        carry_out = {
            "implement_task": self._implement,
            "execute_verification": self._verify,
            "run_fidelity_gate": self._review,
            "address_fidelity_feedback": self._mend,
        }[step["type"]]
        more = yield from carry_out(step, session_id)
        return report | more

    def _implement(self, step: Json, _: str) -> Sub:
        task_id, proof = step["task_id"], step["step_proof_token"]
        yield from _tool("task", action="prepare", task_id=task_id)
        started = {"task_id": task_id, "autonomy_step_proof": proof}
        yield from _tool("task", action="start", **started)
        path = self._project / f"{task_id}.py"
        yield "Write", {"file_path": str(path), "content": self._files[task_id]}
        return {"task_id": task_id, "files_touched": [path.name]}

    def _verify(self, step: Json, _: str) -> Sub:
        results, at = [], ""
        for issued in step["commands"]:
            said = yield (
                "Bash",
                {
                    "command": f'out=$(mktemp); ({issued["command"]}) >"$out" 2>&1; '
                    'echo "exit_code=$?"; sha256sum <"$out"; date -u +%Y-%m-%dT%H:%M:%SZ'
                },
            )
            code, digest, at = re.findall(r"exit_code=(\d+)\s+(\w{64})\s+-\s+(\S+Z)", said)[0]
            results.append(
                {
                    "command_hash": issued["command_hash"],
                    "exit_code": int(code),
                    "output_digest": digest,
                }
            )
        receipt = {"step_id": step["step_id"], "issued_at": at, "results": results}
        return {"verification_receipt": receipt}

    def _review(self, step: Json, session_id: str) -> Sub:
        asked = {
            "session_id": session_id,
            "phase_id": step["phase_id"],
            "step_id": step["step_id"],
            "timeout_seconds": 300,
        }
        answer = yield from _tool("review", action="fidelity-gate", **asked)
        if answer["data"].get("details", {}).get("field") == "verdict":
            answer = yield from _tool(
                "review", action="fidelity-gate", verdict=self._verdict, **asked
            )
        if not answer["success"]:
            return {"outcome": "failure", "note": answer["error"]}
        return {k: answer["data"][k] for k in ("gate_attempt_id", "gate_evidence_token")}

    def _mend(self, step: Json, _: str) -> Sub:
        yield from _tool("journal", action="list", limit=5)
        return {"note": f"Mended {len(step['findings'])} findings."}


def _can_drive(able: Json) -> bool:
    """Say whether the calls, the features and the role are as the skill needs them."""
    shapes = able["action_shapes"]["canonical"]
    return (
        "task(action='session', command='start')" in shapes
        and set(able.get("enabled_now", _FEATURES)) >= _FEATURES
        and able.get("can_drive_sessions", True)
    )


def _step(command: str, session_id: str, **arguments: Any) -> Sub:
    shape = {"command": command, "session_id": session_id, **arguments}
    return (yield from _tool("task", action="session-step", **shape))


def _tool(name: str, **arguments: Any) -> Sub:
    said = yield f"mcp__runner__{name}", arguments
    envelope: Json = json.loads(said)
    return envelope


def _end(answer: Json, session_id: str) -> str:
    signal = answer["data"].get("loop_signal") or "none"
    return f"runner-implement: loop_signal={signal} session_id={session_id}"
