"""Who judges the work of a run: the verifier, the reviewer's briefing, and the checkpoints."""

import os
from collections.abc import Callable
from pathlib import Path

from runner.agent.containment.status import Containment
from runner.agent.verifying import make_verifier
from runner.deliverables.review import ReviewVerdict
from runner.loop.checkpoints import GitCheckpoints
from runner.loop.events import Notice
from runner.loop.ports import Checkpoints, Deliverables, RunSink
from runner.loop.steps.context import Judges
from runner.security.settings import PolicySettings


class CriteriaBriefing:
    """Tells a reviewer the criteria of a phase. Implements `ReviewBriefing`."""

    def __init__(self, deliverables: Deliverables) -> None:
        self._deliverables = deliverables

    def text(self, phase_id: str) -> str:
        """See `ReviewBriefing.text`."""
        file = self._deliverables.load()
        listed = file.of_phase(phase_id) if file is not None else ()
        parts = [f"Review the phase {phase_id}. Its deliverables and their criteria:"]
        for deliverable in listed:
            criteria = "\n".join(f"- {text}" for text in deliverable.acceptance_criteria)
            parts.append(
                f"{deliverable.id} [{deliverable.status}] {deliverable.description}\n{criteria}"
            )
        return "\n\n".join(parts)


def judges_of(
    project: Path,
    containment: Containment,
    policy: PolicySettings,
    deliverables: Deliverables,
    take_verdict: Callable[[], ReviewVerdict | None],
) -> Judges:
    """Return who judges the work of a run."""
    verifier = make_verifier(project, containment, settings=policy, environ=dict(os.environ))
    return Judges(verifier, CriteriaBriefing(deliverables), take_verdict)


def checkpoints_of(project: Path, session_id: str, sink: RunSink) -> Checkpoints:
    """Return what keeps the tree of each completed step of an autonomous session."""
    return GitCheckpoints(
        project, session_id, warn=lambda problem: sink(Notice("warning", problem))
    )
