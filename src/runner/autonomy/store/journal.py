"""The journal of a session: append-only JSON lines, each with the hash of the one before.

A torn last line, as a crash leaves it, is dropped. Pages are read from the end by byte offset,
so that their cost does not depend on the journal's length.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from runner.autonomy.models import JournalEntry
from runner.autonomy.store.regular import open_regular
from runner.files import write_error

GENESIS = "sha256:" + "0" * 64
_BLOCK = 16 * 1024
_MOST_RUBBISH = 1000  # lines; a journal of nothing else must not hold up every call
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Tail:
    """The end of a journal: number and hash of its last whole line, and where that ends."""

    seq: int
    line_hash: str
    end: int


@dataclass(frozen=True, slots=True)
class Page:
    """Entries, newest first; `next_end` is where the page before this one ends, None if none.

    `is_chained` says whether each of its lines fits the one before it, as far as the page shows.
    """

    entries: tuple[dict[str, Any], ...]
    next_end: int | None
    is_chained: bool = True


class Journal:
    """One session's journal. Appending needs the session's lock; reading needs none."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def tail(self) -> Tail:
        """Return the journal's end; number 0 for an empty or missing one. Raises OSError."""
        try:
            with open_regular(self._path) as file:
                return _tail(file)
        except FileNotFoundError:
            return Tail(0, GENESIS, 0)

    def append(
        self,
        entries: Sequence[JournalEntry],
        *,
        tail: Tail | None = None,
        lines: Mapping[int, bytes] | None = None,
    ) -> None:
        """Write the entries that are not there yet, as told by their numbers.

        Args:
            entries: in order.
            tail: the journal's end as just read, to save reading it again.
            lines: entries that were chained already, by number.

        Raises:
            StateWriteError: they could not be written, or only in part; appending them again
                later sets that right.
        """
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with open(os.open(self._path, _FLAGS), "r+b") as file:  # noqa: PTH123
                _append(file, entries, tail or _tail(file), lines or {})
        except OSError as error:
            raise write_error(self._path, error) from error

    def page(self, limit: int, end: int | None = None) -> Page:
        """Return up to `limit` entries that end before the byte `end`, newest first.

        A position inside a line is taken for the start of that line. Raises OSError.
        """
        try:
            with open_regular(self._path) as file:
                size = _whole_lines_end(file, _size(file))
                stop = size if end is None else _whole_lines_end(file, min(end, size))
                return _page(file, limit, stop)
        except FileNotFoundError:
            return Page((), None)

    def first_break(self) -> int | None:
        """Return the number of the first line that does not fit the chain, None if all do.

        Reads everything: for audits.
        """
        expected, seq = GENESIS, 0
        if not self._path.exists():
            return None
        with open_regular(self._path) as file:
            for line in file:
                if not line.endswith(b"\n"):
                    break
                seq += 1
                entry = _parse(line)
                if entry is None or entry.get("prev") != expected or entry.get("seq") != seq:
                    return seq
                expected = _hash(line)
        return None


def chain(entries: Sequence[JournalEntry], previous: str) -> tuple[dict[int, bytes], str]:
    """Return the lines of entries that follow a line with the hash `previous`, and the last hash."""
    lines = {}
    for entry in entries:
        lines[entry.seq] = line = _line(entry, previous)
        previous = _hash(line)
    return lines, previous


def _append(
    file: BinaryIO, entries: Sequence[JournalEntry], tail: Tail, known: Mapping[int, bytes]
) -> None:
    new, previous = b"", tail.line_hash
    for entry in entries:
        if entry.seq > tail.seq:
            line = known.get(entry.seq) or _line(entry, previous)
            new += line
            previous = _hash(line)
    if not new:
        return
    file.seek(tail.end)
    file.truncate()
    file.write(new)
    file.flush()
    os.fsync(file.fileno())


def _line(entry: JournalEntry, previous: str) -> bytes:
    document = {**entry.model_dump(mode="json"), "prev": previous}
    return json.dumps(document, separators=(",", ":")).encode() + b"\n"


def _hash(line: bytes) -> str:
    return "sha256:" + hashlib.sha256(line).hexdigest()


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def _size(file: BinaryIO) -> int:
    return file.seek(0, os.SEEK_END)


def _tail(file: BinaryIO) -> Tail:
    size = end = _whole_lines_end(file, _size(file))
    for _ in range(_MOST_RUBBISH):
        if end == 0:
            return Tail(0, GENESIS, 0)
        start = _whole_lines_end(file, end - 1)
        file.seek(start)
        line = file.read(end - start)
        entry = _parse(line)
        if entry is not None and isinstance(entry.get("seq"), int):
            return Tail(entry["seq"], _hash(line), end)
        end = start  # a line of rubbish, as after a crash of the machine
    return Tail(0, GENESIS, size)  # no crash leaves so many: what stands there stays


def _whole_lines_end(file: BinaryIO, end: int) -> int:
    """Return the offset after the last line break before `end`, 0 when there is none."""
    while end > 0:
        start = max(0, end - _BLOCK)
        file.seek(start)
        found = file.read(end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def _page(file: BinaryIO, limit: int, end: int) -> Page:
    start, found, blocks = end, 0, []
    while start > 0 and found <= limit:
        size = min(_BLOCK, start)
        start -= size
        file.seek(start)
        blocks.append(file.read(size))
        found += blocks[-1].count(b"\n")
    lines = b"".join(reversed(blocks)).splitlines(keepends=True)
    if start > 0:
        start += len(lines.pop(0))  # its beginning lies in the block before
    chosen = lines[-limit:]
    begin = end - sum(map(len, chosen))
    parsed = [_parse(line) for line in chosen]
    entries = tuple(entry for entry in reversed(parsed) if entry is not None)
    before = (0, GENESIS) if begin == 0 else None
    return Page(entries, begin if begin > 0 else None, _is_chained(chosen, parsed, before))


def _is_chained(
    lines: Sequence[bytes], entries: Sequence[dict[str, Any] | None], before: tuple[int, str] | None
) -> bool:
    """Say whether lines follow each other, the first of them number and hash of what is before."""
    for line, entry in zip(lines, entries, strict=True):
        if entry is None or not isinstance(seq := entry.get("seq"), int):
            return False
        if before is not None and (seq - 1, entry.get("prev")) != before:
            return False
        before = (seq, _hash(line))
    return True
