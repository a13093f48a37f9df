"""What `run` and `sync` are each put together from."""

import math
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from runner.app.box_environment import environment_rules
from runner.app.verification import command_problem
from runner.autonomy.assembly import open_control_plane
from runner.autonomy.enums import GatePolicy
from runner.autonomy.models import SessionLimits
from runner.autonomy.service import ControlPlane
from runner.checkpoints.checkpoints import GitCheckpoints
from runner.checkpoints.ledger import was_rolled_back
from runner.checkpoints.tree_identity import tree_identity
from runner.config.options import RunOptions
from runner.config.postures import Posture, Standing
from runner.config.runner_file import load_runner_file
from runner.deliverables.repository import StatusRepository
from runner.deliverables.review import ReviewVerdict
from runner.deliverables.spec_text import SpecText
from runner.deliverables.tools import DeliverableTools, StatusChange
from runner.deliverables.verification import VerificationTracker
from runner.deliverables.workspace import derive_spec_id, status_path
from runner.errors import RunnerError
from runner.events import DeliverablesPlanned, Notice, StatusChanged
from runner.loop.claims import ClaimedDeliverables
from runner.loop.plane import Plane
from runner.loop.reviewing.brief import PhaseBriefing
from runner.loop.reviewing.plan_review import PlanReview, PlanReviewSettings
from runner.loop.reviewing.single_review import ReviewFlow
from runner.loop.run import Flow
from runner.loop.stepping import SteppedFlow, StepSettings
from runner.loop.steps.context import Judges, StepContext
from runner.loop.steps.step import CurrentStep
from runner.loop.syncing import SyncFlow, TakeOver
from runner.marker import Instruction
from runner.ports import Checkpoints, Deliverables, RunSink, SessionGuard
from runner.sandbox.status import Containment
from runner.sandbox.watch import ReadOnlyWatch, ReviewWatch
from runner.shell_policy.decision import PolicySettings
from runner.text.output import Output
from runner.verification.verifier import make_verifier

SESSIONS_IN_STEP = 4
"""How many agent sessions a step has time for before its proof must be renewed."""


def start_defaults(standing: Standing | None) -> dict[str, Any]:
    """Return what `runner run` starts a session with, where the user does not say.

    A run allows as many errors in a row with a person before it as without (CONTRACT §1), so that
    a session begun in a terminal can be taken up at night. `debug` is lax on purpose.

    Args:
        standing: whose run it is; None for the program itself.
    """
    if standing is not None and standing.posture is Posture.DEBUG:
        return {}
    return {"max_consecutive_errors": SessionLimits().max_consecutive_errors}


def start_parameters(options: RunOptions) -> dict[str, Any]:
    """Return what `session start` is told; what the user did not say is the posture's."""
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


class ToolFailures:
    """Ends a run whose injected tools could not do their work. Implements `SessionGuard`.

    Further sessions would be paid for and their work not recorded.

    Args:
        failures: what went wrong so far; others add to it.
    """

    def __init__(self, failures: Sequence[RunnerError]) -> None:
        self._failures = failures

    def before(self, instruction: Instruction) -> None:
        """See `SessionGuard.before`."""

    def after(self, instruction: Instruction) -> None:
        """See `SessionGuard.after`."""
        del instruction
        if self._failures:
            raise self._failures[0]


class ReadOnlyRun:
    """Proves that the sessions of a sync change nothing. Implements `SessionGuard`."""

    def __init__(self, project: Path, containment: Containment) -> None:
        self._watch = ReadOnlyWatch(project, containment)

    def before(self, instruction: Instruction) -> None:
        """See `SessionGuard.before`."""

    def after(self, instruction: Instruction) -> None:
        """See `SessionGuard.after`."""
        del instruction
        self._watch.after_session()


class ReadOnlyReviews:
    """Proves that each review changes nothing. Implements `SessionGuard`."""

    def __init__(self, project: Path) -> None:
        self._project = project
        self._watch: ReviewWatch | None = None

    def before(self, instruction: Instruction) -> None:
        """See `SessionGuard.before`."""
        reviewing = instruction is Instruction.REVIEW
        self._watch = ReviewWatch(self._project) if reviewing else None

    def after(self, instruction: Instruction) -> None:
        """See `SessionGuard.after`."""
        del instruction
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.after_session()


def judges_of(
    project: Path,
    session_id: str,
    *,
    containment: Containment,
    policy: PolicySettings,
    deliverables: Deliverables,
    take_verdict: Callable[[], ReviewVerdict | None],
) -> Judges:
    """Return who judges the work of an autonomous session.

    Raises:
        ConfigError: runner.toml is wrong.
    """
    file = load_runner_file(project)
    common = file.verification
    verifier = make_verifier(
        project,
        containment,
        settings=policy,
        verification=common,
        environ=os.environ,
        rules=environment_rules(project),
    )
    briefing = PhaseBriefing(
        project, session_id, load=deliverables.load, common_verification=common.commands
    )
    return Judges(verifier, briefing, take_verdict)


def checkpoints_of(project: Path, session_id: str, sink: RunSink) -> Checkpoints:
    """Return what keeps the tree of each completed step of an autonomous session."""
    return GitCheckpoints(
        project, session_id, warn=lambda problem: sink(Notice("warning", problem))
    )


@dataclass(frozen=True)
class Parts:
    """What differs between the commands.

    Attributes:
        make_tools: returns fresh tools for one session.
    """

    flow: Flow
    deliverables: Deliverables
    make_tools: Callable[[Instruction], DeliverableTools]
    guards: Sequence[SessionGuard]


PartsOf = Callable[[Path, RunOptions, Containment, PolicySettings, RunSink], Parts]
"""Makes the parts of a command for a project."""


class ToolBench:
    """Makes the tools of sessions, and knows what the last review submitted.

    Args:
        make: returns fresh tools.
    """

    def __init__(self, make: Callable[[], DeliverableTools]) -> None:
        self._make = make
        self._reviewing: DeliverableTools | None = None

    def make(self, instruction: Instruction) -> DeliverableTools:
        """Return fresh tools for a session."""
        tools = self._make()
        if instruction is Instruction.REVIEW:
            self._reviewing = tools
        return tools

    def take_verdict(self) -> ReviewVerdict | None:
        """Return what the last review session submitted, once."""
        tools, self._reviewing = self._reviewing, None
        return None if tools is None else tools.review


def parts_of_sync(
    project: Path,
    options: RunOptions,
    containment: Containment,
    policy: PolicySettings,
    sink: RunSink,
) -> Parts:
    """Return the parts of a sync."""
    repository = StatusRepository(status_path(project))
    tracker = VerificationTracker()
    take_over = TakeOver(
        project,
        deliverables=repository,
        # The rebase that follows a sync is the program's own, whoever may ask for one.
        control_plane=open_plane(project, options.posture).program,
        tracker=tracker,
        sink=sink,
    )
    return Parts(
        SyncFlow(tracker, take_over),
        repository,
        lambda _: DeliverableTools(
            repository,
            on_change=lambda change: sink(_status_changed(change)),
            on_create=lambda ids: sink(DeliverablesPlanned(ids)),
            tracker=tracker,
            command_problem=lambda command: command_problem(command, project, policy),
        ),
        (ReadOnlyRun(project, containment),),
    )


def parts_of_run(
    project: Path,
    options: RunOptions,
    containment: Containment,
    policy: PolicySettings,
    sink: RunSink,
) -> Parts:
    """Return the parts of a run."""
    claims = ClaimedDeliverables(status_path(project))
    tools = ToolBench(
        # People are told of a status when it is accepted, not when an agent says so.
        lambda: DeliverableTools(
            claims,
            on_create=lambda ids: sink(DeliverablesPlanned(ids)),
            command_problem=lambda command: command_problem(command, project, policy),
            revises=lambda: claims.revising,
        )
    )
    plane = open_plane(project, options.posture)
    common = tuple(load_runner_file(project).verification.commands)
    standing = plane.policy.standing
    flow = SteppedFlow(
        StepSettings(
            spec_id_of(project, claims),
            start_parameters(options),
            options.one_phase,
            common_verification=common,
            rolled_back=lambda: was_rolled_back(project),
            defaults=start_defaults(standing),
            tree_of=partial(tree_identity, project),
            most_sessions=options.max_sessions_per_deliverable,
            unattended=standing is not None and standing.posture is Posture.UNATTENDED,
        ),
        plane=Plane(plane, sink, own=plane.program),
        claims=claims,
        judges=lambda session_id: judges_of(
            project,
            session_id,
            containment=containment,
            policy=policy,
            deliverables=claims,
            take_verdict=tools.take_verdict,
        ),
        checkpoints=lambda session_id: checkpoints_of(project, session_id, sink),
        spec_text=SpecText(project),
        sink=sink,
        plan_review=PlanReview(
            PlanReviewSettings(
                options.plan_review,
                GatePolicy(options.gate_policy or plane.core.defaults.gate_policy),
            ),
            project,
            common=common,
            claims=claims,
            take_verdict=tools.take_verdict,
            sink=sink,
        ),
    )
    return Parts(flow, claims, tools.make, (ReadOnlyReviews(project),))


def parts_of_review(session_id: str, step: CurrentStep, flows: list[ReviewFlow]) -> PartsOf:
    """Return what makes the parts of a single review.

    Args:
        flows: gets the flow, which has the verdict afterwards.
    """

    def parts_of(
        project: Path,
        options: RunOptions,
        containment: Containment,
        policy: PolicySettings,
        sink: RunSink,
    ) -> Parts:
        claims = ClaimedDeliverables(status_path(project))
        tools = ToolBench(lambda: DeliverableTools(claims))
        judges = judges_of(
            project,
            session_id,
            containment=containment,
            policy=policy,
            deliverables=claims,
            take_verdict=tools.take_verdict,
        )
        plane = Plane(open_plane(project, options.posture), sink)
        flow = ReviewFlow(
            step,
            lambda sessions: StepContext(
                session_id, plane=plane, sessions=sessions, claims=claims, judges=judges, sink=sink
            ),
        )
        flows.append(flow)
        return Parts(flow, claims, tools.make, (ReadOnlyReviews(project),))

    return parts_of


def open_plane(project: Path, posture: str | None) -> ControlPlane:
    """Return the control plane of the project.

    Args:
        posture: what the options say; None for what configuration and surroundings say.

    Raises:
        ConfigError: runner.toml is wrong, or a posture or feature flag does not exist.
    """
    return open_control_plane(
        project,
        surface="loop",
        environ=os.environ,
        interactive=Output(sys.stdout).is_terminal(),
        posture=posture,
        tree_of=partial(tree_identity, project),
    )


def spec_id_of(project: Path, deliverables: Deliverables) -> str:
    """Return the id of the project's spec: a plan keeps its own when the folder is renamed.

    Raises:
        StateCorruptError: status.json is damaged.
    """
    file = deliverables.load()
    return file.spec_id if file is not None else derive_spec_id(project)


def _status_changed(change: StatusChange) -> StatusChanged:
    return StatusChanged(change.deliverable_id, change.new.value, change.description)
