"""`runner review gate` without a verdict: an agent makes the review."""

import json
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from runner.app.control_plane import control_plane
from runner.app.job import Job
from runner.app.reviewers import ReadOnlyReviews, SessionTools, judges_of, open_plane, verifier_of
from runner.app.started import started
from runner.app.subscribers import subscribers_of
from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.commands.review_request import due_review
from runner.autonomy.envelope import Envelope, failure
from runner.autonomy.service import ControlPlane, new_ulid
from runner.config.options import RUN_OPTIONS
from runner.config.resolve import choose
from runner.deliverables.review import ReviewVerdict
from runner.deliverables.tools import DeliverableTools
from runner.errors import AgentStartError, PrerequisiteError
from runner.events import RunEnded, RunEvent
from runner.loop.claims import ClaimedDeliverables
from runner.loop.plane import Plane
from runner.loop.reviewing.single_review import ReviewFlow
from runner.loop.steps.context import StepContext
from runner.loop.steps.step import CurrentStep
from runner.ports import RunSink
from runner.project import Project
from runner.report.workspace_flag import place_of, placed

PresenterFactory = Callable[[], AbstractContextManager[RunSink]]
_GATE = "run_fidelity_gate"


def review_with_agent(
    plane: ControlPlane, values: Mapping[str, Any], presenter: PresenterFactory
) -> Envelope:
    """Have an agent review a phase, and return the envelope with its evidence, or a refusal.

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
    changes = view.get("changed_commands") or ()
    step = CurrentStep(
        values["step_id"],
        _GATE,
        phase_id,
        changed_commands=next((c for c in changes if c["phase_id"] == phase_id), None),
        scope=view.get("last_step_scope") or "phase",
    )
    try:
        verdict, problem = _reviewed(plane.workspace, due, step, presenter)
    except (AgentStartError, PrerequisiteError) as error:
        # No agent can be set to work here, for a sandbox or another run, for example.
        return _unavailable(error.message, error.hint)
    if verdict is None:
        return _unavailable(problem)
    # The verdict is the program's own: it has just made the review.
    made = {
        "session_id": due,
        "verdict": verdict.verdict.value,
        "summary": verdict.summary,
        "findings": [finding.as_tool_input() for finding in verdict.findings],
    }
    return plane.program.call("review", "gate", **{**values, **made})


def _unavailable(problem: str, hint: str | None = None) -> Envelope:
    error = RefusedError(ErrorCode.REVIEW_UNAVAILABLE, problem, hint=hint)
    return failure(error, request_id=new_ulid("req"))


def _reviewed(
    workspace: Path, session_id: str, step: CurrentStep, presenter: PresenterFactory
) -> tuple[ReviewVerdict | None, str]:
    chosen = choose(RUN_OPTIONS, {"project_dir": workspace}, os.environ)
    project = Project.of(chosen, os.environ)
    job = Job(project, chosen.options, f"Reviewing {step.phase_id}", command="review")
    with presenter() as sink:
        return review(job, sink, session_id, step)


def review(
    job: Job, sink: RunSink, session_id: str, step: CurrentStep
) -> tuple[ReviewVerdict | None, str]:
    """Return the verdict of an agent, or None and why there is none.

    Args:
        sink: shows the review; the summary of a run, which a review is not, is kept from it.
        session_id: of the autonomous session.
        step: the outstanding gate step.
    """

    def show(event: RunEvent) -> None:
        if not isinstance(event, RunEnded):
            sink(event)

    project = job.project
    events = subscribers_of(job, job.redactor, show)
    with started(job, events) as work:
        claims = ClaimedDeliverables(project.status.path)
        tools = SessionTools(lambda: DeliverableTools(claims))
        judges = judges_of(work, session_id, claims, tools, verifier_of(work))
        plane = Plane(open_plane(project, job.options.posture), events)
        flow = ReviewFlow(
            step,
            lambda sessions: StepContext(
                session_id,
                plane=plane,
                sessions=sessions,
                claims=claims,
                judges=judges,
                sink=events,
            ),
        )
        guards = (ReadOnlyReviews(project.directory),)
        result = work.execute(flow, claims, tools.make, guards)
        return flow.verdict, result.message


def answer_request(text: str, presenter: PresenterFactory) -> Envelope:
    """Answer a request that the MCP server makes of a process of its own.

    Args:
        text: a JSON object with the `workspace` and the `params` of `review gate`.
        presenter: makes what shows the review to people.

    Raises:
        RunnerError: it did not come to a call; nothing was changed.
    """
    request = json.loads(text)
    plane = control_plane(Path(request["workspace"]))
    envelope = review_with_agent(plane, request["params"], presenter)
    envelope["data"] = placed(envelope["data"], place_of(request["workspace"]))
    return envelope
