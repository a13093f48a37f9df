"""`runner run`: what the loop is put together from."""

import math
from functools import partial
from typing import Any

from runner.app.job import Job
from runner.app.reviewers import ReadOnlyReviews, SessionTools, judges_of, open_plane, verifier_of
from runner.app.started import StartedRun, started
from runner.app.subscribers import Subscribers
from runner.autonomy.enums import GatePolicy
from runner.autonomy.models import SessionLimits
from runner.autonomy.service import ControlPlane
from runner.checkpoints.checkpoints import GitCheckpoints
from runner.checkpoints.ledger import was_rolled_back
from runner.checkpoints.tree_identity import tree_identity
from runner.config.options import RunOptions
from runner.config.postures import Posture, Standing
from runner.deliverables.tools import DeliverableTools
from runner.events import DeliverablesPlanned, Notice, RunResult
from runner.loop.baseline import LIMIT_MINUTES, Baseline
from runner.loop.claims import ClaimedDeliverables
from runner.loop.plane import Plane
from runner.loop.reviewing.plan_review import PlanReview, PlanReviewSettings
from runner.loop.stepping import SteppedFlow, StepSettings
from runner.ports import Verifier

SESSIONS_IN_STEP = 4
"""How many agent sessions a step has time for before its proof must be renewed."""


def run(job: Job, events: Subscribers) -> RunResult:
    """Work on the project until its spec is implemented, or there is a reason to end.

    Raises:
        RunnerError: the job could not start; see `started`.
    """
    project, options = job.project, job.options
    directory = project.directory
    with started(job, events) as work:
        claims = ClaimedDeliverables(project.status.path)
        # People hear of a status when it is accepted, not when an agent claims it.
        tools = SessionTools(
            lambda: DeliverableTools(
                claims,
                on_create=lambda ids: events(DeliverablesPlanned(ids)),
                command_problem=work.command_problem,
                revises=lambda: claims.revising,
                review_problem=plan_review.problem,
            )
        )
        plane = open_plane(project, options.posture)
        standing = plane.policy.standing
        verifier = verifier_of(work)
        plan_review = _plan_review(work, plane, claims, tools, verifier)
        flow = SteppedFlow(
            StepSettings(
                project.spec_id(),
                start_parameters(options),
                options.one_phase,
                common_verification=tuple(project.file.verification.commands),
                rolled_back=lambda: was_rolled_back(directory),
                defaults=start_defaults(standing),
                tree_of=partial(tree_identity, directory),
                most_sessions=options.max_sessions_per_deliverable,
                unattended=standing is not None and standing.posture is Posture.UNATTENDED,
            ),
            plane=Plane(plane, events, own=plane.program),
            claims=claims,
            judges=lambda session_id: judges_of(work, session_id, claims, tools, verifier),
            checkpoints=lambda session_id: GitCheckpoints(
                directory, session_id, warn=lambda problem: events(Notice("warning", problem))
            ),
            spec_text=project.spec_text,
            sink=events,
            plan_review=plan_review,
        )
        return work.execute(flow, claims, tools.make, (ReadOnlyReviews(directory),))


def _plan_review(
    work: StartedRun,
    plane: ControlPlane,
    claims: ClaimedDeliverables,
    tools: SessionTools,
    verifier: Verifier,
) -> PlanReview:
    """Return what has a plan reviewed, and its commands tried, before work on it begins."""
    project, options = work.job.project, work.job.options
    table = project.file.verification
    return PlanReview(
        PlanReviewSettings(
            options.plan_review,
            GatePolicy(options.gate_policy or plane.core.defaults.gate_policy),
        ),
        project.directory,
        common=tuple(table.commands),
        claims=claims,
        take_verdict=tools.pop_verdict,
        sink=work.events,
        baseline=Baseline(
            project.directory,
            verifier=verifier,
            common=table.commands,
            tree_of=partial(tree_identity, project.directory),
            sink=work.events,
            limit_seconds=max(LIMIT_MINUTES, table.timeout_minutes or 0) * 60,
        ),
    )


def start_defaults(standing: Standing | None) -> dict[str, Any]:
    """Return the values that `runner run` starts a session with where the user gives none.

    A run allows as many errors in a row with a person watching as without, so that a session begun
    in a terminal can be continued unattended. `debug` is lax on purpose.

    Args:
        standing: whose run it is; None for the program itself.
    """
    if standing is not None and standing.posture is Posture.DEBUG:
        return {}
    return {"max_consecutive_errors": SessionLimits().max_consecutive_errors}


def start_parameters(options: RunOptions) -> dict[str, Any]:
    """Return the parameters of `session start`; what the user did not give is the posture's."""
    minutes = math.ceil(options.session_timeout_minutes * SESSIONS_IN_STEP)
    parameters = {
        "gate_policy": options.gate_policy,
        "gates_required": None if options.gates else False,
        "max_consecutive_errors": options.max_consecutive_errors,
        "max_fidelity_review_cycles_per_phase": options.max_review_cycles,
        "stop_on_phase_completion": True if options.one_phase else None,
        "step_stale_minutes": minutes,
        "step_proof_ttl_minutes": minutes,
    }
    return {name: value for name, value in parameters.items() if value is not None}
