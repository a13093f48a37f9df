"""Apply what follows from a transition: deliverable statuses first, then the journal (DESIGN §6).

The order is what makes it safe: once the journal has the last entry, the statuses are set. So
the journal's last number tells whether an outbox was applied, and applying it twice changes
nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from runner.autonomy.models import Outbox, TaskChange
from runner.autonomy.spec.source import SpecSource
from runner.autonomy.store.journal import Journal, Tail
from runner.errors import RunnerError, StateError


@dataclass(frozen=True, slots=True)
class Settled:
    """What is left of an outbox, and why; `appended` when the journal has got longer."""

    outbox: Outbox
    warnings: tuple[str, ...] = ()
    appended: bool = False


def settle(
    outbox: Outbox,
    journal: Journal,
    source: SpecSource,
    *,
    tail: Tail | None = None,
    lines: Mapping[int, bytes] | None = None,
) -> Settled:
    """Apply what was not applied yet. Nothing here stops the session: problems are warnings.

    Args:
        outbox: of the state as written.
        journal: the session's.
        source: where the statuses stand.
        tail: the journal's end as read under the lock that is held still.
        lines: entries as they were chained already.
    """
    if not outbox.entries and not outbox.changes:
        return Settled(outbox)
    try:
        tail = tail or journal.tail()
    except OSError as error:
        return Settled(outbox, (f"The journal can't be read: {error.strerror}.",))
    pending = tuple(entry for entry in outbox.entries if entry.seq > tail.seq)
    if not pending:
        return Settled(Outbox())
    left = Outbox(entries=pending, changes=outbox.changes)
    try:
        _set_statuses(outbox.changes, source)
    except RunnerError as error:
        return Settled(left, (f"A deliverable's status is not written yet: {error}",))
    try:
        journal.append(pending, tail=tail, lines=lines)
    except StateError as error:
        entries_left = Outbox(entries=pending)
        warning = f"A journal entry is not written yet: {error}"
        return Settled(entries_left, (warning,), appended=True)  # perhaps in part
    return Settled(Outbox(), appended=True)


def _set_statuses(changes: Sequence[TaskChange], source: SpecSource) -> None:
    if not changes:
        return
    tasks = source.read().tasks  # without a spec, the changes wait until it is back
    due = [c for c in changes if c.task_id in tasks and tasks[c.task_id].status is not c.status]
    if due:
        source.apply(due)
