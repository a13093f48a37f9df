"""Find out before the night whether notifications would arrive."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from runner.app.notify.notifier import body_of, targets_of
from runner.app.notify.targets import NotSentError, Target
from runner.app.result import result_object
from runner.config.runner_file import Notify
from runner.deliverables.model import Counts
from runner.deliverables.workspace import derive_spec_id
from runner.events import ExitReason, RunEnded, RunResult

_ENDING_OF: Mapping[str, ExitReason] = {
    "finished": ExitReason.ALL_PASSED,
    "paused": ExitReason.PAUSED,
    "failed": ExitReason.FAILED,
    "quota": ExitReason.QUOTA_EXCEEDED,
    "budget": ExitReason.BUDGET_EXCEEDED,
    "stopped": ExitReason.MAX_ITERATIONS,
}


def unready(wishes: Notify, project: Path) -> Iterator[tuple[str, str]]:
    """Yield those that nothing could reach, with the reason. Nothing is sent."""
    for target, problem in _each(wishes, project, lambda target: target.check()):
        if problem is not None:
            yield target.title, problem


def try_out(wishes: Notify, event: str, project_dir: Path) -> Iterator[tuple[str, str | None]]:
    """Send the end of a run that never was, once to each.

    Yields:
        whom it was sent to, and why it did not arrive, None when it did.
    """
    message = f"This is a trial of `{event}` by `runner doctor --notify`; no run has ended."
    spec_id = derive_spec_id(project_dir)
    ended = RunEnded(RunResult("run", _ENDING_OF[event], message, spec_id, Counts()))
    body = body_of({**result_object(ended), "trial": True})
    for target, problem in _each(wishes, project_dir, lambda target: target.send(event, body)):
        yield target.title, problem


def _each(
    wishes: Notify, project: Path, act: Callable[[Target], None]
) -> Iterator[tuple[Target, str | None]]:
    for target in targets_of(wishes, project):
        try:
            act(target)
        except NotSentError as error:
            yield target, str(error)
        else:
            yield target, None
