"""A workspace on disk and a caller that drives its control plane like any outside caller."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from runner.autonomy.service import ControlPlane
from runner.autonomy.store.trust import Trust

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class Clock:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def wait(self, **span: float) -> None:
        self.now += timedelta(**span)


class RealClock(Clock):
    """The clock of the machine, for callers in several processes."""

    def __call__(self) -> datetime:
        return datetime.now(UTC)


def write_status(
    workspace: Path,
    phases: Mapping[str, Sequence[str]],
    *,
    passed: Sequence[str] = (),
    blocked: Sequence[str] = (),
    commands: Mapping[str, Sequence[str]] | None = None,
    depends: Mapping[str, Sequence[str]] | None = None,
) -> Path:
    """Write a `status.json`: phase id → deliverable ids."""
    commands, depends = commands or {}, depends or {}
    document = {
        "createdAt": "2026-03-01",
        "updatedAt": "2026-03-01",
        "specId": "demo",
        "phases": [
            {"id": phase, "title": f"Phase {phase}", "verification": list(commands.get(phase, ()))}
            for phase in phases
        ],
        "deliverables": [
            {
                "id": task,
                "description": f"Title of {task}",
                "acceptanceCriteria": ["it works"],
                "passed": task in passed,
                "blocked": task in blocked,
                "phase": phase,
                "dependsOn": list(depends.get(task, ())),
            }
            for phase, tasks in phases.items()
            for task in tasks
        ],
    }
    path = workspace / ".runner" / "status.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=2), encoding="utf-8")
    return path


def statuses(workspace: Path) -> dict[str, str]:
    document = json.loads((workspace / ".runner" / "status.json").read_text(encoding="utf-8"))
    return {
        d["id"]: "passed" if d["passed"] else "blocked" if d["blocked"] else "pending"
        for d in document["deliverables"]
    }


class Client:
    """Drives one workspace; every answer must be a success unless a test says otherwise."""

    def __init__(self, workspace: Path, clock: Clock | None = None, **options: Any) -> None:
        self.workspace = workspace
        self.clock = clock or Clock()
        self.plane = ControlPlane(
            workspace, clock=self.clock, key_directory=workspace.parent / "key", **options
        )
        self.session_id = ""

    def call(self, group: str, command: str, **params: Any) -> dict[str, Any]:
        return self.plane.call(group, command, **params)

    def ok(self, group: str, command: str, **params: Any) -> dict[str, Any]:
        envelope = self.call(group, command, **params)
        assert envelope["success"], envelope
        data: dict[str, Any] = envelope["data"]
        return data

    def refused(self, group: str, command: str, **params: Any) -> str:
        """Return the code of the refusal that the command must meet."""
        envelope = self.call(group, command, **params)
        assert not envelope["success"], envelope
        return str(envelope["data"]["error_code"])

    def start(self, **params: Any) -> dict[str, Any]:
        data = self.ok("session", "start", **params)
        self.session_id = data["session_id"]
        return data

    def next(self, report: Mapping[str, Any] | None = None) -> dict[str, Any]:
        params = {} if report is None else {"last_step_result": dict(report)}
        return self.ok("step", "next", **params)

    def report(
        self, step: Mapping[str, Any], outcome: str = "success", **fields: Any
    ) -> dict[str, Any]:
        """Make a valid report on a step, running its review or commands if need be."""
        report: dict[str, Any] = {
            "step_id": step["step_id"],
            "step_type": step["type"],
            "phase_id": step["phase_id"],
            "outcome": outcome,
            "step_proof": step["step_proof_token"],
        }
        if "task_id" in step:
            report["task_id"] = step["task_id"]
        if step["type"] == "execute_verification" and outcome == "success":
            report["verification_receipt"] = self.receipt(step)
        if step["type"] == "run_fidelity_gate" and outcome == "success":
            report |= self.review(step)
        return report | fields

    def receipt(self, step: Mapping[str, Any]) -> dict[str, Any]:
        digest = hashlib.sha256(b"output").hexdigest()
        results = [
            {"command_hash": c["command_hash"], "exit_code": 0, "output_digest": digest}
            for c in step["commands"]
        ]
        return {
            "step_id": step["step_id"],
            "issued_at": self.clock().isoformat(),
            "results": results,
        }

    def review(self, step: Mapping[str, Any], verdict: str = "pass") -> dict[str, Any]:
        data = self.ok(
            "review", "gate", phase_id=step["phase_id"], step_id=step["step_id"], verdict=verdict
        )
        return {
            "gate_attempt_id": data["gate_attempt_id"],
            "gate_evidence_token": data["gate_evidence_token"],
        }

    def at_gate(self, **options: Any) -> dict[str, Any]:
        """Start on one deliverable in each of two phases; return the first gate's step."""
        write_status(self.workspace, {"p1": ["A-001"], "p2": ["B-001"]})
        self.start(**options)
        data = self.next()
        step: dict[str, Any] = self.next(self.report(data["next_step"]))["next_step"]
        assert step["type"] == "run_fidelity_gate"
        return step

    def reviewed(self, step: Mapping[str, Any], verdict: str = "pass") -> dict[str, Any]:
        """Review a gate step and make the report that brings the evidence."""
        return self.report(step, "failure") | {"outcome": "success"} | self.review(step, verdict)

    def finish(self) -> list[str]:
        """Go through the spec to its end; return the types of the steps."""
        data = self.next()
        types = []
        while data["next_step"] is not None:
            step = data["next_step"]
            types.append(step["type"])
            if step["type"] in ("pause", "complete_spec"):
                break
            data = self.next(self.report(step))
        return types

    def journal(self) -> list[dict[str, Any]]:
        """Return all entries, oldest first."""
        events: list[dict[str, Any]] = []
        cursor: str | None = None
        while True:
            params = {"cursor": cursor} if cursor else {}
            envelope = self.call(
                "session", "events", session_id=self.session_id, limit=200, **params
            )
            assert envelope["success"], envelope
            events += envelope["data"]["events"]
            cursor = envelope["meta"]["pagination"]["cursor"]
            if cursor is None:
                return events[::-1]

    def session_file(self) -> Path:
        return self.workspace / f".runner/autonomy/sessions/{self.session_id}.json"

    def state(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.session_file().read_text(encoding="utf-8"))
        return document

    def edit_state(self, **changes: Any) -> None:
        """Change the stored session from outside, as a person or attacker would."""
        text = json.dumps(self.state() | changes)
        self.session_file().write_text(text, encoding="utf-8")

    def forge_state(self, *, without: Sequence[str] = (), **changes: Any) -> None:
        """Change the stored session and seal it again, as only a holder of the secret can."""
        document = self.state() | changes
        for name in ("_seal", *without):
            del document[name]
        sealer = Trust(self.workspace.parent / "key").sealer(self.workspace)
        self.session_file().write_bytes(sealer.close(json.dumps(document).encode()))

    @property
    def journal_file(self) -> Path:
        return self.workspace / f".runner/autonomy/journal/{self.session_id}.jsonl"
