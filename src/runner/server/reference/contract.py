"""`docs/contract-reference.md`: a session told in real calls and the envelopes that answer them."""

import hashlib
import json
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from runner.autonomy.assembly import open_control_plane
from runner.server.surface import Surface

_HEAD = """\
# Contract reference

Made by running the control plane (`python -m runner.server.reference`); don't edit it here.

What follows is one session with real answers, as an MCP client sees them; only the times, ids and tokens
are made up. The command line prints the same envelopes with `--json`: `task(action="session",
command="start")` is `runner session start`, `session-step` is `runner step`, `session-events` is
`runner session events`, `review(action="fidelity-gate")` is `runner review gate`, the other actions of
`task` are `runner task …`, and parameters are options in kebab case. [Error codes](error-codes.md) has
all codes, the [runbook](supervisor-runbook.md) says what to do with the signals.

Fields may be added to answers at any time; what stands here stays.

## The envelope

| field | meaning |
| --- | --- |
| `success` | whether the command was carried out |
| `data` | the answer, or what is said about a refusal |
| `error` | null, or a sentence that says what is wrong |
| `meta.version` | `response-v2` |
| `meta.request_id` | names this answer in logs |
| `meta.warnings` | what was carried out, but not quite as it should |
| `meta.pagination` | `cursor` of the next page or null, `has_more`, `page_size`, `total_count` where it is cheap |
| `meta.deprecated` | the call's `action` will go: its `replacement`, and the version it goes with |
"""

_KEY = "5a" * 32
_STATUS: dict[str, Any] = {
    "createdAt": "2026-03-01",
    "updatedAt": "2026-03-01",
    "specId": "greeter",
    "phases": [
        {"id": "cli", "title": "Command line", "verification": ["python3 greet.py"]},
        {"id": "names", "title": "Names", "verification": []},
    ],
    "deliverables": [
        {
            "id": "CLI-001",
            "description": "greet.py prints hello",
            "acceptanceCriteria": ["python3 greet.py prints hello"],
            "passed": False,
            "blocked": False,
            "phase": "cli",
        },
        {
            "id": "CLI-002",
            "description": "greet.py greets a name",
            "acceptanceCriteria": ["python3 greet.py Ada prints hello Ada"],
            "passed": False,
            "blocked": False,
            "phase": "names",
        },
    ],
}


def contract_document() -> str:
    """Return the document; it is the same every time."""
    with tempfile.TemporaryDirectory() as folder:
        return "\n".join([_HEAD, *_Story(Path(folder)).tell()])


class _Story:
    """A workspace with a session in it, and a clock and ids that repeat themselves."""

    def __init__(self, folder: Path) -> None:
        workspace, keys = folder / "greeter", folder / "keys"
        (workspace / ".runner").mkdir(parents=True)
        keys.mkdir()
        (workspace / ".runner" / "status.json").write_text(json.dumps(_STATUS), encoding="utf-8")
        (keys / "autonomy.key").write_text(_KEY, encoding="utf-8")
        self._now = datetime(2026, 3, 1, 12, tzinfo=UTC)
        self._ids = 0
        plane = open_control_plane(
            workspace,
            surface="mcp",
            environ={},
            interactive=False,
            posture="supervised",  # it tells of a review that a person made
            clock=self._tick,
            new_id=self._new_id,
            key_directory=keys,
        )
        self._surface = Surface(plane, workspace)
        self._answer: dict[str, Any] = {}
        self._step: dict[str, Any] = {}

    def tell(self) -> Iterator[str]:
        """Yield the document's sections."""
        yield from self._beginning()
        yield from self._first_step()
        yield from self._verification()
        yield from self._gate()
        yield from self._going_on()
        yield from self._refusals()

    def _beginning(self) -> Iterator[str]:
        yield "## Before a session\n"
        yield self._shown("The deliverables:", "task", action="list")
        yield self._shown("One of them:", "task", action="prepare", task_id="CLI-001")
        yield "## Starting\n"
        start = {"command": "start", "stop_on_phase_completion": True, "idempotency_key": "night-1"}
        yield self._shown(
            "All options have defaults. The same `idempotency_key` gets the same session:",
            "task",
            action="session",
            **start,
        )

    def _first_step(self) -> Iterator[str]:
        yield "## Steps\n"
        yield self._shown(
            "The first `next` takes no report:", "task", action="session-step", command="next"
        )
        self._step = self._answer["data"]["next_step"]
        yield self._shown(
            "A change that the step allows, with its proof:",
            "task",
            action="start",
            task_id="CLI-001",
            autonomy_step_proof=self._step["step_proof_token"],
        )
        yield self._shown(
            "A sign of life in between:",
            "task",
            action="session-step",
            command="heartbeat",
            context_usage_pct=31,
        )

    def _verification(self) -> Iterator[str]:
        yield self._reported("The report, and the next step with it:", note="greet.py written")
        yield (
            "A receipt has one result for each issued command: `command_hash` as issued, "
            "`output_digest` the SHA-256 of what the command wrote, both as 64 hex digits in lower "
            "case, and `issued_at` with its zone, between the step's issue and the report. "
            "Success needs exit codes of 0.\n"
        )
        results = [
            {
                "command_hash": command["command_hash"],
                "exit_code": 0,
                "output_digest": hashlib.sha256(b"hello\n").hexdigest(),
            }
            for command in self._step["commands"]
        ]
        receipt = {
            "step_id": self._step["step_id"],
            "issued_at": self._now.isoformat(),
            "results": results,
        }
        yield self._reported("The report on the verification:", verification_receipt=receipt)

    def _gate(self) -> Iterator[str]:
        yield "## The gate\n"
        yield self._shown(
            "A review made elsewhere is recorded; a failing one would be a success too:",
            "review",
            action="fidelity-gate",
            phase_id=self._step["phase_id"],
            step_id=self._step["step_id"],
            verdict="pass",
        )
        evidence = {k: self._answer["data"][k] for k in ("gate_attempt_id", "gate_evidence_token")}
        yield self._reported(
            "Its evidence closes the gate, and here the phase: `loop_signal` is no longer null.",
            **evidence,
        )

    def _going_on(self) -> Iterator[str]:
        yield "## Seeing and going on\n"
        yield self._shown("Where it stands:", "task", action="session", command="status")
        yield self._shown("All sessions:", "task", action="session", command="list", limit=1)
        yield self._shown("What happened, newest first:", "task", action="session-events", limit=2)
        yield self._shown(
            "`resume` tells a caller with an empty context what it needs:",
            "task",
            action="session",
            command="resume",
        )

    def _refusals(self) -> Iterator[str]:
        yield "## Refusals and warnings\n"
        yield self._shown("A change without a proof:", "task", action="complete", task_id="CLI-002")
        yield self._shown("Input that is none:", "task", action="session-step", command="heartbeat")
        yield self._shown("A former name:", "task", action="session-pause", reason="Lunch.")

    def _reported(self, caption: str, **fields: Any) -> str:
        report = {
            "step_id": self._step["step_id"],
            "step_type": self._step["type"],
            "phase_id": self._step["phase_id"],
            **({"task_id": self._step["task_id"]} if "task_id" in self._step else {}),
            "outcome": "success",
            "step_proof": self._step["step_proof_token"],
            **fields,
        }
        shown = self._shown(
            caption, "task", action="session-step", command="next", last_step_result=report
        )
        self._step = self._answer["data"]["next_step"]
        return shown

    def _shown(self, caption: str, tool: str, **arguments: Any) -> str:
        """Make a call; return it with its answer."""
        request = self._surface.resolve(tool, arguments)
        self._answer = self._surface.answer(request)
        call = f"{tool}({json.dumps(arguments, indent=2)})"
        answer = json.dumps(self._answer, indent=2)
        return f"{caption}\n\n```\n{call}\n```\n\n```json\n{answer}\n```\n"

    def _tick(self) -> datetime:
        self._now += timedelta(seconds=1)
        return self._now

    def _new_id(self, prefix: str) -> str:
        self._ids += 1
        return f"{prefix}_{self._ids:026d}"
