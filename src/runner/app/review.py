"""`runner review gate` without a verdict: an agent makes the review."""

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.app.composition import Job, perform
from runner.app.parts import parts_of_review
from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.commands.review_request import due_review
from runner.autonomy.envelope import Envelope, failure
from runner.autonomy.service import ControlPlane, new_ulid
from runner.config.options import RUN_OPTIONS
from runner.config.resolve import choose
from runner.deliverables.review import ReviewVerdict
from runner.events import RunEnded, RunEvent
from runner.loop.steps.step import CurrentStep
from runner.ports import RunSink

if TYPE_CHECKING:
    from runner.loop.reviewing.single_review import ReviewFlow

PresenterFactory = Callable[[], AbstractContextManager[RunSink]]
_GATE = "run_fidelity_gate"


def review_with_agent(
    plane: ControlPlane, project: Path, values: Mapping[str, Any], presenter: PresenterFactory
) -> Envelope:
    """Have an agent review a phase, and return the envelope with its evidence.

    Nothing is paid for before it is clear that the review is due and allowed.

    Args:
        values: what `review gate` takes, without a verdict.
        presenter: makes what shows the review to people.
    """
    due = due_review(plane, values)
    if not isinstance(due, str):
        return due
    phase_id = values["phase_id"]
    view = plane.call("session", "status", session_id=due)["data"]
    step = CurrentStep(
        values["step_id"],
        _GATE,
        phase_id,
        changed_commands=_changed_commands(view, phase_id),
        scope=view.get("last_step_scope") or "phase",
    )
    verdict, problem = _reviewed(project, due, step, presenter)
    if verdict is None:
        error = RefusedError(ErrorCode.REVIEW_UNAVAILABLE, problem)
        return failure(error, request_id=new_ulid("req"))
    # The verdict is the program's own: it has just made the review.
    made = {
        "session_id": due,
        "verdict": verdict.verdict.value,
        "summary": verdict.summary,
        "findings": [finding.as_tool_input() for finding in verdict.findings],
    }
    return plane.program.call("review", "gate", **{**values, **made})


def _changed_commands(view: Mapping[str, Any], phase_id: str) -> Mapping[str, Any] | None:
    """Return what the phase's commands were and are, if they are not those of the session's start."""
    changes = view.get("changed_commands") or ()
    return next((change for change in changes if change["phase_id"] == phase_id), None)


def _reviewed(
    project: Path, session_id: str, step: CurrentStep, make_presenter: PresenterFactory
) -> tuple[ReviewVerdict | None, str]:
    """Return the verdict, or None and why there is none."""
    chosen = choose(RUN_OPTIONS, {"project_dir": project}, os.environ)
    job = Job(project, chosen.options, f"Reviewing {step.phase_id}", command="review")
    flows: list[ReviewFlow] = []
    with make_presenter() as presenter:
        result = perform(job, _without_end(presenter), parts_of_review(session_id, step, flows))
    return (flows[0].verdict if flows else None), result.message


def _without_end(sink: RunSink) -> RunSink:
    """Keep the summary of a run to itself: a review is none."""

    def passing_on(event: RunEvent) -> None:
        if not isinstance(event, RunEnded):
            sink(event)

    return passing_on
