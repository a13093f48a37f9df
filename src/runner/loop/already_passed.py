"""A plan that has passed by `status.json` alone: who has judged it, and does it hold? (ADR 0407)."""

from collections.abc import Sequence

from runner.autonomy.client import SessionView
from runner.autonomy.engine.progress import Progress
from runner.autonomy.enums import SessionStatus
from runner.autonomy.service import new_ulid
from runner.autonomy.spec.source import build_spec
from runner.deliverables.model import Status, StatusFile
from runner.events import Notice
from runner.loop.edited_inputs import other_phases
from runner.ports import RunSink, VerificationRun, Verifier
from runner.records.receipts import command_hash
from runner.text.messages import plural

_HOW = "To have it reviewed, too: `runner session start`, then `runner run`."
UNKNOWN = (
    "All deliverables have passed by .runner/status.json, but no autonomous session is known here"
)
CHANGED = "The files are not those on which the last session verified everything"


def was_judged(view: SessionView, file: StatusFile | None, *, rolled_back: bool) -> bool:
    """Whether the last session of a spec has judged the work as it is.

    Args:
        view: of that session.
        file: the plan as it is on disk.
        rolled_back: whether the tree was changed by a rollback since.
    """
    completed = view.status is SessionStatus.COMPLETED
    return completed and not rolled_back and not other_phases(view, file)


async def still_holds(
    file: StatusFile,
    verifier: Verifier,
    common: Sequence[str],
    sink: RunSink,
    *,
    known: str = UNKNOWN,
) -> bool:
    """Run every verification command of what has passed, each once; say what came of it.

    Args:
        file: the plan.
        verifier: runs the commands.
        common: commands that close every phase.
        sink: is told what came of it.
        known: why that is done, as the beginning of a sentence.

    Returns:
        Whether all of them passed; also where there is none.
    """
    spec = build_spec(file, title="", common_verification=tuple(common))
    done = frozenset(d.id for d in file.active if d.status is Status.PASSED)
    progress = Progress(spec, done=done, skipped=frozenset())
    commands = list(dict.fromkeys(c for phase in spec.phases for c in progress.commands(phase)))
    if not commands:
        sink(Notice("warning", f"{known}: this run has neither verified nor reviewed them", _HOW))
        return True
    issued = [{"command": c, "command_hash": command_hash(c)} for c in commands]
    run = await verifier.run(new_ulid("step"), issued)
    sink(_told(run, known))
    return run.passed


def _told(run: VerificationRun, known: str) -> Notice:
    failed = sum(result.exit_code != 0 for result in run.results)
    ran = plural(len(run.results), "verification command")
    if not failed:
        return Notice("warning", f"{known}: {ran} passed in this run, nothing was reviewed", _HOW)
    return Notice(
        "warning",
        f"{known}, and {failed} of {ran} failed: every phase is verified and reviewed now",
    )
