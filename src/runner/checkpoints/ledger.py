"""Which checkpoints there are: a file of the runner's own.

`.git` is writable for agents, `.runner` is not. So what a name stands for is looked up here, and
the objects of what is named here are never thrown away.
"""

import json
import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from runner.checkpoints.object_store import CHECKPOINTS, INDEX
from runner.deliverables.workspace import STATE_DIRECTORY, ensure_state_directory
from runner.errors import StateWriteError
from runner.files import write_error

STEP = "step"
PHASE = "phase"
STASH = "stash"
PLANNING = "planning"
REVIEWED = "reviewed"

OWN = "own"
"""The store of a checkpoint whose objects are the runner's own."""

_FILE = "ledger.jsonl"
_TEXTS = ("kind", "name", "scope", "commit", "tree", "ref", "at", "summary")
_LATER_TEXTS = ("store", "manifest", "since", "entered")
_OBJECT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A work tree that was kept.

    Attributes:
        kind: `step`, `phase` (what its review compares with), `stash` (before a rollback),
            `planning` (before it) or `reviewed` (what a review of the phase saw last).
        name: the step's or phase's id, or the stash's name.
        scope: what the name is unique in: an autonomous session, `stash` or `planning`.
        commit: the id of the commit that holds it.
        tree: the id of its tree, rooted at the project.
        at: when, ISO 8601 with its zone.
        nested: folders with a repository of their own, which are not in it.
        left_out: files that are not in it, too large or unreadable.
        spec: the text of SPEC.md that its plan was made from (`SpecText.noted`); None where that
            is not known.
        store: `own`, or "" for one whose objects are in the project's repository, where versions
            before kept them.
        manifest: the id of what stood beside the tree (`unversioned`); "" where it was not kept.
        since: the kind of the earlier checkpoint that a phase's tree was taken from; "" for none.
        entered: the id of the tree at the moment when the phase began, where `since` is set.
    """

    kind: str
    name: str
    scope: str
    commit: str
    tree: str
    ref: str
    at: str
    phase_id: str | None = None
    summary: str = ""
    nested: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    spec: str | None = None
    store: str = ""
    manifest: str = ""
    since: str = ""
    entered: str = ""

    @property
    def heads(self) -> tuple[str, ...]:
        """The ids of all objects that it names in the runner's own store."""
        names = (self.commit, self.tree, self.manifest, self.entered)
        return tuple(name for name in names if name) if self.store == OWN else ()


class CheckpointLedger:
    """The checkpoints of a project, in the order in which they were made."""

    def __init__(self, project_dir: Path) -> None:
        self.project = project_dir
        self._folder = project_dir.joinpath(STATE_DIRECTORY, *CHECKPOINTS)

    @property
    def index(self) -> Path:
        """Where the snapshots' own git index is."""
        return self._folder / INDEX

    @property
    def seen(self) -> Path:
        """Where the last manifest is, which spares reading files again."""
        return self._folder / "manifest"

    @property
    def before(self) -> Path:
        """Where a reviewer finds files as they were."""
        return self._folder / "before"

    def prepare(self) -> None:
        """Make the folder.

        Raises:
            StateWriteError: it can't be made, or leads out of the project.
        """
        state = ensure_state_directory(self.project)
        if not self._folder.resolve().is_relative_to(state.resolve()):
            raise StateWriteError(
                f"{self._folder} leads out of the project.",
                hint="Replace the symbolic link by a folder.",
            )
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / "index").unlink(missing_ok=True)  # of versions before
        except OSError as error:
            raise write_error(self._folder, error) from error

    @property
    def heads(self) -> set[str]:
        """The ids of all objects in the runner's own store that are named here."""
        return {head for entry in self.entries() for head in entry.heads}

    def add(self, checkpoint: Checkpoint) -> None:
        """Write a checkpoint down.

        Raises:
            StateWriteError: it could not be written.
        """
        path = self._folder / _FILE
        line = json.dumps(asdict(checkpoint)).encode()
        try:
            # A line that a crash cut off ends here, and is passed over when reading.
            with path.open("ab") as file:
                file.write(b"\n" + line + b"\n" if file.tell() else line + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise write_error(path, error) from error

    def entries(self) -> tuple[Checkpoint, ...]:
        """Return all checkpoints, the last of each name, oldest first. Never raises."""
        try:
            lines = (self._folder / _FILE).read_bytes().splitlines()
        except OSError:
            return ()
        found: dict[tuple[str, str, str], Checkpoint] = {}
        for line in lines:
            entry = _read(line)
            if entry is not None:
                key = (entry.kind, entry.scope, entry.name)
                found.pop(key, None)
                found[key] = entry
        return tuple(found.values())

    def find(self, kind: str, scope: str, name: str) -> Checkpoint | None:
        """Return one checkpoint, None when there is none."""
        wanted = (kind, scope, name)
        return next((e for e in self.entries() if (e.kind, e.scope, e.name) == wanted), None)


def _read(line: bytes) -> Checkpoint | None:
    """Return what a line says, None when it is damaged."""
    try:
        raw: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(raw, dict) or not all(isinstance(raw.get(name), str) for name in _TEXTS):
        return None
    if not (_OBJECT_ID.fullmatch(raw["commit"]) and _OBJECT_ID.fullmatch(raw["tree"])):
        return None
    phase_id, spec = raw.get("phase_id"), raw.get("spec")
    return Checkpoint(
        **{name: raw[name] for name in _TEXTS},
        phase_id=phase_id if isinstance(phase_id, str) else None,
        nested=_texts(raw.get("nested")),
        left_out=_texts(raw.get("left_out")),
        spec=spec if isinstance(spec, str) else None,
        **{name: raw[name] for name in _LATER_TEXTS if _is_later_text(raw.get(name))},
    )


def _is_later_text(value: Any) -> bool:
    return isinstance(value, str) and (value.isalpha() or bool(_OBJECT_ID.fullmatch(value)))


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(v for v in value if isinstance(v, str)) if isinstance(value, list) else ()


def was_rolled_back(project_dir: Path) -> bool:
    """Whether the last thing that was done to the kept trees of a project was a rollback."""
    marks = [e for e in CheckpointLedger(project_dir).entries() if e.kind in (STEP, PHASE, STASH)]
    return bool(marks) and marks[-1].kind == STASH
