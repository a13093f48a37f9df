"""Who judges the work of a run: the verifier, the reviewer's briefing, and the checkpoints."""

import os
from collections.abc import Callable
from pathlib import Path

from runner.app.box_environment import environment_rules
from runner.checkpoints.checkpoints import GitCheckpoints
from runner.config.runner_file import load_runner_file
from runner.deliverables.review import ReviewVerdict
from runner.events import Notice
from runner.loop.reviewing.brief import PhaseBriefing
from runner.loop.steps.context import Judges
from runner.ports import Checkpoints, Deliverables, RunSink
from runner.sandbox.status import Containment
from runner.shell_policy.settings import PolicySettings
from runner.verification.verifier import make_verifier


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
