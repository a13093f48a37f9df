"""The command line as a caller sees it: what it prints, and with which code it ends."""

import contextlib
import hashlib
import io
import json
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from tests.autonomy.plane import Client, Clock, write_status

from runner.autonomy.service import ControlPlane
from runner.cli.main import run_command_line


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


@contextlib.contextmanager
def standard_input(content: bytes) -> Iterator[None]:
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(content))
    try:
        yield
    finally:
        sys.stdin = before


class Cli:
    """Drives one workspace through the command line, inside this process."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace
        self.session_id = ""

    def run(self, *arguments: str, stdin: bytes = b"") -> Done:
        """Run a command as it stands."""
        out, err = io.StringIO(), io.StringIO()
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            standard_input(stdin),
        ):
            code = run_command_line(arguments)
        return Done(code, out.getvalue(), err.getvalue())

    def people(self, *arguments: str, stdin: bytes = b"") -> Done:
        """Run a command of the workspace for people."""
        return self.run(*arguments, "--workspace", str(self.workspace), stdin=stdin)

    def text(self, *arguments: str, stdin: bytes = b"") -> str:
        """Return what a command says that must succeed and complain about nothing."""
        done = self.people(*arguments, stdin=stdin)
        assert (done.code, done.err) == (0, ""), done
        return done.out

    def envelope(self, *arguments: str, stdin: bytes = b"") -> tuple[int, dict[str, Any]]:
        """Run a command with --json; return its exit code and the one envelope it printed."""
        done = self.people(*arguments, "--json", stdin=stdin)
        lines = done.out.splitlines()
        assert len(lines) == 1, done
        found: dict[str, Any] = json.loads(lines[0])
        assert set(found) == {"success", "data", "error", "meta"}
        return done.code, found

    def ok(self, *arguments: str, stdin: bytes = b"") -> dict[str, Any]:
        """Return the data of a command that must succeed."""
        code, envelope = self.envelope(*arguments, stdin=stdin)
        assert (code, envelope["success"]) == (0, True), envelope
        data: dict[str, Any] = envelope["data"]
        return data

    def refused(self, *arguments: str, stdin: bytes = b"") -> str:
        """Return the code of the refusal that a command must meet, with exit code 1."""
        code, envelope = self.envelope(*arguments, stdin=stdin)
        assert (code, envelope["success"]) == (1, False), envelope
        return str(envelope["data"]["error_code"])

    def start(self, *arguments: str) -> str:
        on = () if "--stop-on-phase-completion" in arguments else ("--no-stop-on-phase-completion",)
        data = self.ok("session", "start", *on, *arguments)
        self.session_id = str(data["session_id"])
        return self.session_id

    def next(self, report: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Report, if there is something to report, and return the step that is issued."""
        given = ("--result", json.dumps(report)) if report is not None else ()
        step: dict[str, Any] = self.ok("step", "next", *given)["next_step"]
        return step

    def answer(self, report: Mapping[str, Any]) -> dict[str, Any]:
        """Report and return the whole answer."""
        return self.ok("step", "next", "--result", json.dumps(report))

    def report(
        self, step: Mapping[str, Any], outcome: str = "success", **fields: Any
    ) -> dict[str, Any]:
        """Make a valid report on a step, having its phase reviewed if need be."""
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
            report["verification_receipt"] = receipt(step)
        if step["type"] == "run_fidelity_gate" and outcome == "success":
            report |= self.review(step)
        return report | fields

    def review(self, step: Mapping[str, Any], verdict: str = "pass") -> dict[str, Any]:
        data = self.ok("review", "gate", *gate_words(step), "--verdict", verdict)
        return {name: data[name] for name in ("gate_attempt_id", "gate_evidence_token")}

    def until(self, step_type: str) -> dict[str, Any]:
        """Go from step to step until one of that type is issued."""
        step = self.next()
        while step["type"] != step_type:
            step = self.next(self.report(step))
        return step

    def session_file(self) -> Path:
        return self.workspace / f".runner/autonomy/sessions/{self.session_id}.json"

    def state(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.session_file().read_text(encoding="utf-8"))
        return document

    def in_the_past(self, **span: float) -> "PastClient":
        """Return a caller of the library for whom it is that long ago."""
        client = PastClient(self.workspace, Clock())
        client.clock.now = datetime.now(UTC) - timedelta(**span)
        return client

    def edit_state(self, **changes: Any) -> None:
        """Change the stored session from outside."""
        self.session_file().write_text(json.dumps(self.state() | changes), encoding="utf-8")

    def add_task(self, task_id: str, phase: str) -> None:
        """Edit the spec's structure, as a person would."""
        path = self.workspace / ".runner" / "status.json"
        document = json.loads(path.read_text(encoding="utf-8"))
        document["deliverables"].append(deliverable(task_id, phase))
        path.write_text(json.dumps(document, indent=2), encoding="utf-8")


class PastClient(Client):
    """Drives the same workspace with a clock of its own and the command line's secret."""

    def __init__(self, workspace: Path, clock: Clock) -> None:
        super().__init__(workspace, clock)
        self.plane = ControlPlane(workspace, clock=clock)


def deliverable(task_id: str, phase: str) -> dict[str, Any]:
    return {
        "id": task_id,
        "description": f"Title of {task_id}",
        "acceptanceCriteria": ["it works"],
        "passed": False,
        "blocked": False,
        "phase": phase,
    }


def gate_words(step: Mapping[str, Any]) -> tuple[str, ...]:
    return ("--phase-id", step["phase_id"], "--step-id", step["step_id"])


def receipt(step: Mapping[str, Any], exit_code: int = 0) -> dict[str, Any]:
    digest = hashlib.sha256(b"output").hexdigest()
    return {
        "step_id": step["step_id"],
        "issued_at": datetime.now(UTC).isoformat(),
        "results": [
            {"command_hash": c["command_hash"], "exit_code": exit_code, "output_digest": digest}
            for c in step["commands"]
        ],
    }


def make_workspace(folder: Path) -> Path:
    """Make a project whose spec has two phases, the first of them verified by a command."""
    folder.mkdir()
    phases = {"p1": ["A-001", "A-002"], "p2": ["B-001"]}
    write_status(folder, phases, commands={"p1": ["make test"]})
    return folder
