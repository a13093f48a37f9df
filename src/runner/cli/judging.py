"""Who judges the work of a run: the verifier, the reviewer's briefing, and the checkpoints."""

import os
from collections.abc import Callable
from pathlib import Path

from runner.agent.containment.status import Containment
from runner.agent.verifying import make_verifier
from runner.cli.box_environment import environment_rules
from runner.config.runner_file import load_runner_file
from runner.deliverables.review import ReviewVerdict
from runner.loop.checkpoints import GitCheckpoints
from runner.loop.events import Notice
from runner.loop.ports import Checkpoints, Deliverables, RunSink
from runner.loop.review_brief import PhaseBriefing
from runner.loop.steps.context import Judges
from runner.security.settings import PolicySettings


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
