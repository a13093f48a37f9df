"""What a reviewer gets to see of files that no diff shows: ignored ones, above all."""

import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from runner.checkpoints.references import without_references
from runner.checkpoints.unversioned import Differences, Manifest, UnversionedEntry
from runner.files import read_regular
from runner.loop.reviewing.check_files import is_check_file
from runner.text.messages import plural
from runner.text.safe import fenced

_LISTED = 150
_LISTED_FOLDERS = 40
_LISTED_UNREAD = 20
_LINE_CHARACTERS = 300
_FLAGS_AT = 4
_UNCHECKED_HASH = 1
# Files that a program loads or obeys without being asked to.
_LOADED = re.compile(
    r"""
      .*\.(?:pyc|pyo|pth|so|dylib|dll|node|jar|class|egg-link) | (?:site|user)customize\.py
    | \.(?:npmrc|yarnrc.*|pnpmfile\.cjs|env.*|bashrc|profile|bash_profile|gitconfig|netrc|curlrc|wgetrc)
    | (?:pip|setup|pyvenv|tox|nose)\.(?:conf|cfg|ini) | init\.gradle.* | config(?:\.toml|\.worktree)?
    | CLAUDE\.md | AGENTS\.md | \.mcp\.json | settings.*\.json
    """,
    re.VERBOSE,
)
_FIRST = ("on PATH", "git obeys it")


@dataclass(frozen=True, slots=True)
class _Line:
    change: str
    path: str
    entry: UnversionedEntry
    why: str

    @property
    def rank(self) -> tuple[int, bool, str]:
        first = self.why in _FIRST or self.why.startswith("never compared")
        return (0 if first else 1 if self.why else 2, self.change == "added", self.path)


class Beside:
    """Describes the files that no diff shows.

    Args:
        project: the project's folder.
        now: all of these files.
        differences: what differs since the beginning; None where that is not known.
        commands: the verification commands.
    """

    def __init__(
        self,
        project: Path,
        now: Manifest,
        differences: Differences | None,
        commands: Sequence[str],
    ) -> None:
        self._project = project
        self._now = now
        self._differences = differences
        self._commands = commands
        path = os.environ.get("PATH", "").split(os.pathsep)
        inside = (Path(p).resolve() for p in path if Path(p).is_absolute())
        root = project.resolve()
        self._on_path = {str(p.relative_to(root)) for p in inside if p.is_relative_to(root)}

    def text(self) -> Iterator[str]:
        """Yield paragraphs of Markdown."""
        yield from self._limits()
        found = self._differences
        if found is None:
            yield (
                "What these files were when the phase began was not kept. All that are there now are "
                f"listed: {plural(len(without_references(self._now.entries)), 'file')}."
            )
            found = Differences(self._now.entries, {}, {})
        found = Differences(*map(without_references, (found.added, found.changed, found.removed)))
        lines = [*self._lines("added", found.added), *self._lines("changed", found.changed)]
        lines += self._lines("removed", found.removed)
        if not lines:
            yield "None of these files was added, changed or removed."
            return
        yield (
            "The diff does not show the files below: git ignores them, or they are large, or a part "
            "of `.git`. They can decide what a command does all the same: a program on PATH, a "
            "compiled file that is loaded in place of its source, a configuration. "
            f"{len(found.added)} added, {len(found.changed)} changed, {len(found.removed)} removed. "
            "Look at each that a check could load or run."
        )
        lines.sort(key=lambda line: line.rank)
        yield fenced("\n".join(map(_shown, lines[:_LISTED])), "paths")
        if len(lines) > _LISTED:
            yield f"And {len(lines) - _LISTED} more, by folder:"
            yield fenced("\n".join(_by_folder(lines[_LISTED:])), "folders")

    def _limits(self) -> Iterator[str]:
        if not self._now.is_complete:
            yield (
                f"There are more than {len(self._now.entries)} files that git ignores. Those beyond "
                "were NOT looked at, the deepest folders first. Nobody knows what is in them."
            )
        unread = sorted(p for p, e in self._now.entries.items() if e.is_unread_folder)
        if unread:
            yield f"{plural(len(unread), 'folder')} can't be read. Nobody knows what is in them:"
            yield fenced("\n".join(_name(path) for path in unread[:_LISTED_UNREAD]), "paths")

    def _lines(self, change: str, entries: Mapping[bytes, UnversionedEntry]) -> Iterator[_Line]:
        for path, entry in entries.items():
            if not entry.is_unread_folder:
                yield _Line(change, os.fsdecode(path), entry, self._why(os.fsdecode(path), entry))

    def _why(self, path: str, entry: UnversionedEntry) -> str:
        """Return why a file is worth a look, "" where nothing says so."""
        place = PurePosixPath(path)
        checks: tuple[tuple[str, Callable[[], bool]], ...] = (
            ("on PATH", lambda: str(place.parent) in self._on_path),
            ("git obeys it", lambda: ".git" in place.parts),
            ("never compared with its source", lambda: self._is_unchecked(place)),
            ("a check", lambda: is_check_file(path, self._commands)),
            ("loaded or obeyed unasked", lambda: _LOADED.fullmatch(place.name) is not None),
            ("a program", lambda: entry.is_executable),
            ("a link", lambda: stat.S_ISLNK(entry.mode)),
            ("no ordinary file", lambda: not stat.S_ISREG(entry.mode)),
        )
        return next((why for why, holds in checks if holds()), "")

    def _is_unchecked(self, place: PurePosixPath) -> bool:
        """Whether Python loads this compiled file without a look at its source."""
        if place.suffix != ".pyc":
            return False
        try:
            header = read_regular(self._project / place, limit=_FLAGS_AT + 1, within=self._project)
        except OSError:
            return False
        return header[_FLAGS_AT:] == bytes([_UNCHECKED_HASH])


def _shown(line: _Line) -> str:
    why = f"  ({line.why})" if line.why else ""
    name = " ".join(line.path.splitlines())
    return f"{line.change:<8} {line.entry.size:>12} bytes  {name[:_LINE_CHARACTERS]}{why}"


def _by_folder(lines: Sequence[_Line]) -> Iterator[str]:
    counts = Counter((line.change, _folder(line.path)) for line in lines)
    for (change, folder), count in counts.most_common(_LISTED_FOLDERS):
        yield f"{change:<8} {count:>8}  {folder[:_LINE_CHARACTERS]}"
    if len(counts) > _LISTED_FOLDERS:
        yield f"and {len(counts) - _LISTED_FOLDERS} more folders"


def _folder(path: str) -> str:
    parts = PurePosixPath(path).parts[:-1]
    return "/".join(parts[:2]) + "/" if parts else "./"


def _name(path: bytes) -> str:
    return " ".join(os.fsdecode(path).splitlines())[:_LINE_CHARACTERS] or "."
