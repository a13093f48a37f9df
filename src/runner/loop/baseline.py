"""Which verification commands of a plan pass before any work on it (ADR-0098).

A command that passes then proves nothing about the work by itself. What each gave is kept in
`.runner/autonomy/baseline.json`, where agents can't write, by its text and by the tree it ran on.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import anyio

from runner.deliverables.model import Deliverable, Status, StatusFile
from runner.events import Notice
from runner.ports import RunSink, VerificationRun, VerifiedCommand, Verifier
from runner.records.baseline import BaselineBook, BaselineRecord, Outcome, Result
from runner.records.receipts import BASELINE, command_hash
from runner.text.messages import plural
from runner.text.safe import end_of

LIMIT_MINUTES = 10.0
"""How long the commands of one plan may take together, unless a single one may take longer."""

_DENIED = 126
_LIMIT_BYTES = 16 * 1024 * 1024
_OUTPUT_CHARACTERS = 600
_LISTED = 20


class Baseline:
    """Runs the verification commands of a plan before any work on it.

    Args:
        project_dir: the project.
        verifier: runs the commands.
        common: commands that close every phase.
        tree_of: returns what identifies the work tree.
        sink: is told what came of it.
        limit_seconds: for all commands together.
    """

    def __init__(
        self,
        project_dir: Path,
        *,
        verifier: Verifier,
        common: Sequence[str],
        tree_of: Callable[[], str],
        sink: RunSink,
        limit_seconds: float = LIMIT_MINUTES * 60,
    ) -> None:
        self._book = BaselineBook(project_dir)
        self._verifier = verifier
        self._common = tuple(common)
        self._tree_of = tree_of
        self._sink = sink
        self._limit = limit_seconds

    async def take(self, file: StatusFile, *, changed: bool) -> BaselineRecord:
        """Return what the commands of pending deliverables gave; run those that were not tried.

        Args:
            changed: a sync changed the plan while work was under way. Then what was tried before
                the work stays, and only deliverables with other commands are tried.

        Raises:
            StateWriteError: it can't be recorded.
        """
        tree = await self._tree()
        record = await anyio.to_thread.run_sync(self._book.read)
        due = {
            d: commands
            for d in file.in_phase_order
            if d.status is Status.PENDING
            and (commands := closing_commands(file, d, self._common))
            and not record.holds(d, commands, None if changed else tree)
        }
        if not due:
            return record
        missing = [
            command
            for command in dict.fromkeys(c for commands in due.values() for c in commands)
            if (command_hash(command), tree) not in record.results
        ]
        results = {**record.results, **await self._run(missing, tree)}
        ids = {d.id for d in file.deliverables}
        trees = {name: tried for name, tried in record.trees.items() if name in ids}
        trees |= {d.id: (commands, tree) for d, commands in due.items()}
        record = BaselineRecord(results, trees)
        await anyio.to_thread.run_sync(self._book.write, record)
        self._sink(_told(record, file, due))
        return record

    async def _tree(self) -> str:
        try:
            return f"tree:{await anyio.to_thread.run_sync(self._tree_of)}"
        except OSError:  # like no other tree
            return f"unknown:{datetime.now(UTC).isoformat()}"

    async def _run(self, commands: Sequence[str], tree: str) -> dict[tuple[str, str], Result]:
        if not commands:
            return {}
        issued = [{"command": c, "command_hash": command_hash(c)} for c in commands]
        run = await self._verifier.run(BASELINE, issued, within_seconds=self._limit)
        at = str(run.receipt.get("issued_at", ""))
        return {
            (result.command_hash, tree): _result(result, tree, at, _lacking(run))
            for result in run.results
        }


def closing_commands(
    file: StatusFile, deliverable: Deliverable, common: Sequence[str]
) -> tuple[str, ...]:
    """Return the commands that are to prove a deliverable: its own, else those of its phase."""
    if deliverable.verification:
        return deliverable.verification
    of_phase = (p.verification for p in file.phases if p.id == deliverable.phase_id)
    return tuple(dict.fromkeys((*next(of_phase, ()), *common)))


def _result(result: VerifiedCommand, tree: str, at: str, lacking: str) -> Result:
    # A command that names what the work is still to make is denied until then: it can't pass.
    denied = result.exit_code == _DENIED
    if result.remark and not denied:
        outcome = Outcome.NOT_RUN
    else:
        outcome = Outcome.FAILS if result.exit_code else Outcome.PASSES
    return Result(
        result.command,
        tree,
        outcome,
        result.exit_code,
        at,
        end_of(result.output_tail, _OUTPUT_CHARACTERS),
        result.remark or (lacking if outcome is Outcome.FAILS else ""),
    )


def _lacking(run: VerificationRun) -> str:
    failed = run.conditions.failed_setup if run.conditions is not None else ()
    return "".join(f"the setup command `{one.command}` had failed" for one in failed[:1])


def _told(record: BaselineRecord, file: StatusFile, due: Iterable[Deliverable]) -> Notice:
    commands = {r.command: r for d in due for r in record.of(d)}
    outcomes = [r.outcome for r in commands.values()]
    passing, lost = outcomes.count(Outcome.PASSES), outcomes.count(Outcome.NOT_RUN)
    failing = len(outcomes) - passing - lost
    parts = [f"{failing} {'fails' if failing == 1 else 'fail'} as expected"]
    parts += [f"{passing} {'passes' if passing == 1 else 'pass'} already"] if passing else []
    parts += [f"{lost} could not be run"] if lost else []
    ran = plural(len(outcomes), "verification command")
    text = f"Tried {ran} before any work: {', '.join(parts)}."
    unproved = [d.id for d in record.unproved(file) if d.status is Status.PENDING]
    if not unproved:
        return Notice("warning" if lost else "info", text)
    more = f" and {len(unproved) - _LISTED} more" if len(unproved) > _LISTED else ""
    return Notice(
        "warning",
        f"{text} Every command of {', '.join(unproved[:_LISTED])}{more} passes without the work, "
        "so verification alone proves nothing there.",
    )
