"""Which verification commands of a plan pass before any work on it (ADR 0571).

A command that passes then proves nothing about the work by itself. What each gave is kept in
`.runner/autonomy/baseline.json`, where agents can't write, by its text and by the tree it ran on.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

import anyio

from runner.deliverables.model import Deliverable, Status, StatusFile
from runner.deliverables.workspace import STATE_DIRECTORY, ensure_state_directory
from runner.events import Notice
from runner.files import read_regular, write_atomic
from runner.ports import RunSink, VerificationRun, VerifiedCommand, Verifier
from runner.records.receipts import BASELINE, command_hash
from runner.text.messages import plural
from runner.text.safe import end_of

LIMIT_MINUTES = 10.0
"""How long the commands of one plan may take together, unless a single one may take longer."""

PROVES_NOTHING = "passed before the work began; proves nothing by itself"

LOST = "which verification commands passed before the work began is not known any more"

_DENIED = 126
_LIMIT_BYTES = 16 * 1024 * 1024
_OUTPUT_CHARACTERS = 600
_LISTED = 20


class Outcome(StrEnum):
    """What a command gave before any work."""

    PASSES = "passes"
    FAILS = "fails"
    NOT_RUN = "not_run"


@dataclass(frozen=True, slots=True)
class Result:
    """What one command gave.

    Attributes:
        tree: identifies the files that it ran on.
        at: ISO 8601.
        output: the end of what it printed, as harmless text.
        remark: why it was not run, or what its surroundings lacked; "" for nothing.
    """

    command: str
    tree: str
    outcome: Outcome
    exit_code: int
    at: str
    output: str = ""
    remark: str = ""


@dataclass(frozen=True, slots=True)
class BaselineRecord:
    """All that is known.

    Attributes:
        results: by the hash of the command and the tree.
        trees: deliverable → commands that are to prove it, and the tree on which they were tried.
        damaged: there is a record, and it can't be used.
    """

    results: Mapping[tuple[str, str], Result] = field(default_factory=dict)
    trees: Mapping[str, tuple[tuple[str, ...], str]] = field(default_factory=dict)
    damaged: bool = False

    def of(self, deliverable: Deliverable) -> tuple[Result, ...]:
        """Return what the commands of a deliverable gave; () where they were not all tried."""
        commands, tree = self.trees.get(deliverable.id, ((), ""))
        if deliverable.verification and commands != deliverable.verification:
            return ()
        found = [self.results.get((command_hash(command), tree)) for command in commands]
        return tuple(r for r in found if r is not None) if None not in found else ()

    def unproved(self, file: StatusFile | None) -> tuple[Deliverable, ...]:
        """Return the active deliverables of which every command passed before any work."""
        active = () if file is None else file.active
        return tuple(d for d in active if _all_pass(self.of(d)))

    def holds(self, deliverable: Deliverable, commands: Sequence[str], tree: str | None) -> bool:
        """Whether exactly these commands were tried, on the tree where one is given."""
        known, tried_on = self.trees.get(deliverable.id, ((), ""))
        if known != tuple(commands) or tree not in (None, tried_on):
            return False
        return all((command_hash(command), tried_on) in self.results for command in known)


class BaselineBook:
    """The record of one project. Whoever writes it holds the run lock."""

    def __init__(self, project_dir: Path) -> None:
        self.path = project_dir / STATE_DIRECTORY / "autonomy" / "baseline.json"
        self._project = project_dir

    def read(self) -> BaselineRecord:
        """Return the record; an empty one where there is none, or none that can be used."""
        try:
            text = read_regular(self.path, limit=_LIMIT_BYTES, within=self._project)
            return _record(json.loads(text))
        except FileNotFoundError:
            return BaselineRecord()
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return BaselineRecord(damaged=True)

    def write(self, record: BaselineRecord) -> None:
        """Write the record, without results that no deliverable has any more.

        Raises:
            StateWriteError: it can't be written.
        """
        trees = {tree for _, tree in record.trees.values()}
        document = {
            "results": [asdict(r) for r in record.results.values() if r.tree in trees],
            "deliverables": {
                name: {"commands": commands, "tree": tree}
                for name, (commands, tree) in record.trees.items()
            },
        }
        ensure_state_directory(self._project)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(self.path, json.dumps(document, indent=2) + "\n")


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


def with_baseline(
    project_dir: Path, rows: Iterable[Mapping[str, Any]], file: StatusFile | None
) -> list[dict[str, Any]]:
    """Return rows of phases with what passed in them and is unproved (`passed_before_work`)."""
    found = BaselineBook(project_dir).read().unproved(file)
    passed = [d for d in found if d.status is Status.PASSED]
    return [
        {
            **row,
            "passed_before_work": [d.id for d in passed if d.phase_id == row["phase_id"]],
        }
        for row in rows
    ]


def unproved_sentences(project_dir: Path, file: StatusFile | None) -> Iterator[str]:
    """Yield a sentence for each deliverable of which every command passed before any work."""
    record = BaselineBook(project_dir).read()
    if record.damaged:
        yield f"{BaselineBook(project_dir).path} is damaged: {LOST}"
    for deliverable in record.unproved(file):
        yield f"The verification of {deliverable.id} {PROVES_NOTHING}"


def _all_pass(results: Sequence[Result]) -> bool:
    return bool(results) and all(r.outcome is Outcome.PASSES for r in results)


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


def _record(document: Any) -> BaselineRecord:
    results = [
        Result(
            str(one["command"]),
            str(one["tree"]),
            Outcome(one["outcome"]),
            int(one["exit_code"]),
            str(one["at"]),
            str(one["output"]),
            str(one["remark"]),
        )
        for one in document["results"]
    ]
    return BaselineRecord(
        {(command_hash(result.command), result.tree): result for result in results},
        {
            str(name): (tuple(map(str, one["commands"])), str(one["tree"]))
            for name, one in document["deliverables"].items()
        },
    )
