"""`runner sync`: what it is put together from."""

from pathlib import Path

from runner.app.job import Job
from runner.app.reviewers import open_plane
from runner.app.started import started
from runner.app.subscribers import Subscribers
from runner.deliverables.tools import DeliverableTools
from runner.deliverables.verification import VerificationTracker
from runner.events import DeliverablesPlanned, RunResult, StatusChanged
from runner.loop.syncing import SyncFlow, TakeOver
from runner.marker import Instruction
from runner.sandbox.status import Containment
from runner.sandbox.watch import ReadOnlyWatch


def sync(job: Job, events: Subscribers) -> RunResult:
    """Bring the deliverables in line with SPEC.md, and verify what exists.

    Raises:
        RunnerError: the job could not start; see `started`.
    """
    project = job.project
    with started(job, events) as work:
        tracker = VerificationTracker()
        take_over = TakeOver(
            project.directory,
            deliverables=project.status,
            # The rebase that follows a sync is the program's own, whoever may ask for one.
            control_plane=open_plane(project, job.options.posture).program,
            tracker=tracker,
            sink=events,
        )

        def make_tools(_instruction: Instruction) -> DeliverableTools:
            return DeliverableTools(
                project.status,
                on_change=lambda change: events(
                    StatusChanged(change.deliverable_id, change.new.value, change.description)
                ),
                on_create=lambda ids: events(DeliverablesPlanned(ids)),
                tracker=tracker,
                command_problem=work.command_problem,
            )

        guard = ReadOnlyRun(project.directory, work.containment)
        return work.execute(SyncFlow(tracker, take_over), project.status, make_tools, (guard,))


class ReadOnlyRun:
    """Proves that the sessions of a sync change nothing. Implements `SessionGuard`."""

    def __init__(self, directory: Path, containment: Containment) -> None:
        self._watch = ReadOnlyWatch(directory, containment)

    def before(self, instruction: Instruction) -> None:
        """See `SessionGuard.before`."""

    def after(self, instruction: Instruction) -> None:
        """See `SessionGuard.after`."""
        del instruction
        self._watch.after_session()
