"""`runner review gate`: a phase's review becomes evidence for the report of its gate step."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from runner.cli.control.commands import ControlCommand, control_group
from runner.cli.control.scene import Scene
from runner.cli.control.step_text import report_command
from runner.cli.help_text import help_text
from runner.text.columns import wrap

if TYPE_CHECKING:
    from runner.autonomy.envelope import Envelope
    from runner.autonomy.service import ControlPlane


def review_phase(plane: "ControlPlane", values: Mapping[str, Any]) -> "Envelope":
    """Answer `review gate`: record a review made elsewhere, or run one with an agent."""
    if values.get("verdict") is not None:
        return plane.call("review", "gate", **values)
    from runner.app.review import review_with_agent  # noqa: PLC0415 - brings in the loop
    from runner.cli.review_request import progress  # noqa: PLC0415 - brings in Rich

    return review_with_agent(plane, values, progress)


def _reviewed(scene: Scene) -> Iterator[str]:
    data = scene.data
    passes = "passes" if data["gate_passed_preview"] else "does not pass"
    verdict = f"Review of {data['phase_id']}: {data['verdict']}"
    yield f"{verdict}, which {passes} the {data['gate_policy']} policy."
    yield from scene.labelled(
        ("Attempt", data["gate_attempt_id"]),
        ("Evidence", data["gate_evidence_token"]),
        ("Expires", scene.until(data["gate_evidence_expires_at"])),
        ("Written to", data.get("review_path") or ""),
    )
    for finding in data["findings"]:
        yield from wrap(f"{finding['severity']}: {finding['title']}", scene.width, "    ", "  - ")
    yield ""
    yield "Next: report the step with this evidence and its own proof (runner step replay)"
    yield from report_command(
        scene,
        {
            "step_id": data["step_id"],
            "step_type": "run_fidelity_gate",
            "phase_id": data["phase_id"],
            "outcome": "success",
            "gate_attempt_id": data["gate_attempt_id"],
            "gate_evidence_token": data["gate_evidence_token"],
            "step_proof": "STEP PROOF",
        },
    )


_GATE = ControlCommand(
    "review",
    "gate",
    help_text(
        "Review a phase, and get the evidence that its gate step is reported with.",
        ("runner review gate --phase-id p1 --step-id step_…", "an agent reviews the phase"),
        ("runner review gate … --verdict pass", "you did, and found nothing"),
        ("runner review gate … --verdict fail --findings @findings.json", ""),
        details="Without --verdict an agent with a fresh context and a read-only project makes the "
        "review; what it does is shown on standard error. With --verdict a review that a person or "
        "another tool made is recorded, in posture supervised or debug. "
        "Findings are a JSON list of {severity, title, detail, deliverableId, file}. The verdict "
        "decides nothing by itself: the report of the step does, by the session's gate policy. "
        "The latest review of a step counts.",
    ),
    _reviewed,
    perform=review_phase,
)

review = control_group("Independent reviews of phases.", _GATE)
