"""What the sessions of `run` and `review` need to have work judged."""

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from runner.app.job import environment_rules
from runner.app.started import StartedRun
from runner.autonomy.assembly import open_control_plane
from runner.autonomy.service import ControlPlane
from runner.checkpoints.tree_identity import tree_identity
from runner.deliverables.review import ReviewVerdict
from runner.deliverables.tools import DeliverableTools
from runner.loop.reviewing.brief import PhaseBriefing
from runner.loop.steps.context import Judges
from runner.marker import Instruction
from runner.ports import Deliverables, Verifier
from runner.project import Project
from runner.sandbox.watch import ReviewWatch
from runner.text.output import Output
from runner.verification.verifier import make_verifier


class SessionTools:
    """Makes the tools of sessions, and has the verdict of the last review.

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

    def pop_verdict(self) -> ReviewVerdict | None:
        """Return what the last review session submitted, once; None when it submitted nothing."""
        tools, self._reviewing = self._reviewing, None
        return None if tools is None else tools.review


class ReadOnlyReviews:
    """Proves that each review changes nothing. Implements `SessionGuard`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._watch: ReviewWatch | None = None

    def before(self, instruction: Instruction) -> None:
        """See `SessionGuard.before`."""
        reviewing = instruction is Instruction.REVIEW
        self._watch = ReviewWatch(self._directory) if reviewing else None

    def after(self, instruction: Instruction) -> None:
        """See `SessionGuard.after`."""
        del instruction
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.after_session()


def verifier_of(run: StartedRun) -> Verifier:
    """Return what runs verification commands in one run."""
    project = run.job.project
    return make_verifier(
        project.directory,
        run.containment,
        settings=run.policy,
        verification=project.file.verification,
        environ=os.environ,
        rules=environment_rules(project),
        tell=run.events,
    )


def judges_of(
    run: StartedRun,
    session_id: str,
    deliverables: Deliverables,
    tools: SessionTools,
    verifier: Verifier,
) -> Judges:
    """Return who judges the work of an autonomous session."""
    project = run.job.project
    briefing = PhaseBriefing(
        project.directory,
        session_id,
        load=deliverables.load,
        common_verification=project.file.verification.commands,
    )
    return Judges(verifier, briefing, tools.pop_verdict)


def open_plane(project: Project, posture: str | None) -> ControlPlane:
    """Return the control plane of the project, for the loop.

    Args:
        posture: the option's value; None for that of the configuration and the environment.

    Raises:
        ConfigError: runner.toml is wrong, or a posture or feature flag does not exist.
    """
    return open_control_plane(
        project.directory,
        file=project.file,
        surface="loop",
        environ=os.environ,
        interactive=Output(sys.stdout).is_terminal(),
        posture=posture,
        tree_of=partial(tree_identity, project.directory),
    )
