"""Which verification commands of a plan passed before any work on it (ADR-0098).

Kept in `.runner/autonomy/baseline.json`, where agents can't write.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from runner.deliverables.model import Deliverable, Status, StatusFile
from runner.deliverables.workspace import STATE_DIRECTORY, ensure_state_directory
from runner.files import read_regular, write_atomic
from runner.records.receipts import command_hash

PROVES_NOTHING = "passed before the work began; proves nothing by itself"

LOST = "which verification commands passed before the work began is not known any more"

_LIMIT_BYTES = 16 * 1024 * 1024


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
