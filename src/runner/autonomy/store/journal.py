"""The journal of a session: append-only JSON lines, each with the hash of the one before.

A torn last line, as a crash leaves it, is dropped. Pages are read from the end by byte offset,
so that their cost does not depend on the journal's length.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from runner.autonomy.models import JournalEntry
from runner.autonomy.store.port import GENESIS, Page, Tail
from runner.autonomy.store.regular import open_regular
from runner.files import write_error

_BLOCK = 16 * 1024
_MOST_RUBBISH = 1000  # lines; a journal of nothing else must not hold up every call
_NEW_FILE_MODE = 0o666  # the umask takes its share
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class Journal:
    """One session's journal. Appending needs the session's lock; reading needs none."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def tail(self) -> Tail:
        """Return the journal's end; number 0 for an empty or missing one. Raises OSError."""
        try:
            with _reading(self._path) as file:
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
            tail: the journal's end as read under the lock that is held still, to save reading
                it again; it is read again when the file ends elsewhere.
            lines: entries that were chained already, by number.

        Raises:
            StateWriteError: they could not be written, or only in part; appending them again
                later sets that right.
        """
        try:
            file = self._opened()
            try:
                _append(file, entries, _known_end(file, tail), lines or {})
            finally:
                os.close(file)
        except OSError as error:
            raise write_error(self._path, error) from error

    def page(self, limit: int, end: int | None = None) -> Page:
        """Return up to `limit` entries that end before the byte `end`, newest first.

        Raises OSError.
        """
        try:
            with _reading(self._path) as file:
                size = _whole_lines_end(file, _size(file))
                stop = size if end is None else _whole_lines_end(file, min(end, size))
                return _page(file, limit, stop)
        except FileNotFoundError:
            return Page((), None)

    def has_line_end(self, end: int) -> bool:
        """Whether a line ends at the byte `end`, so that a page can begin there. Raises OSError."""
        try:
            with _reading(self._path) as file:
                return 0 < end <= _size(file) and _read(file, end - 1, end) == b"\n"
        except FileNotFoundError:
            return False

    def first_break(self) -> int | None:
        """Return the number of the first line that does not fit the chain, None if all do.

        Reads everything: for audits.
        """
        expected, seq = GENESIS, 0
        if not self._path.exists():
            return None
        with open(open_regular(self._path), "rb") as file:  # noqa: PTH123 - a descriptor
            for line in file:
                if not line.endswith(b"\n"):
                    break
                seq += 1
                entry = _parse(line)
                if entry is None or entry.get("prev") != expected or entry.get("seq") != seq:
                    return seq
                expected = _hash(line)
        return None

    def _opened(self) -> int:
        """Return a descriptor to append with; the folder is made when it is missing."""
        try:
            return os.open(self._path, _FLAGS, _NEW_FILE_MODE)
        except FileNotFoundError:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            return os.open(self._path, _FLAGS, _NEW_FILE_MODE)


def chain(entries: Sequence[JournalEntry], previous: str) -> tuple[dict[int, bytes], str]:
    """Return the lines of entries that follow a line with the hash `previous`, and the last hash."""
    lines = {}
    for entry in entries:
        lines[entry.seq] = line = _line(entry, previous)
        previous = _hash(line)
    return lines, previous


def _append(
    file: int, entries: Sequence[JournalEntry], tail: Tail, known: Mapping[int, bytes]
) -> None:
    new, previous = b"", tail.line_hash
    for entry in entries:
        if entry.seq > tail.seq:
            line = known.get(entry.seq) or _line(entry, previous)
            new += line
            previous = _hash(line)
    if not new:
        return
    if _size(file) != tail.end:
        os.ftruncate(file, tail.end)
    os.lseek(file, tail.end, os.SEEK_SET)
    while new:
        new = new[os.write(file, new) :]
    os.fsync(file)


def _known_end(file: int, tail: Tail | None) -> Tail:
    """Return the journal's end: as read before, if it still is where the file ends."""
    return tail if tail is not None and tail.end == _size(file) else _tail(file)


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


@contextmanager
def _reading(path: Path) -> Iterator[int]:
    """Hold a descriptor of a regular file. Raises OSError."""
    descriptor = open_regular(path)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _size(file: int) -> int:
    return os.fstat(file).st_size


def _read(file: int, start: int, end: int) -> bytes:
    os.lseek(file, start, os.SEEK_SET)
    return os.read(file, end - start)


def _tail(file: int) -> Tail:
    size = _size(file)
    block = _read(file, max(0, size - _BLOCK), size)
    end = block.rfind(b"\n") + 1
    start = block.rfind(b"\n", 0, max(end - 1, 0)) + 1
    if start > 0 or size <= _BLOCK:  # the last whole line lies in the block, or there is none
        found = _tail_at(block[start:end], max(0, size - _BLOCK) + end)
        if found is not None:
            return found
    return _find_tail(file, size)


def _find_tail(file: int, size: int) -> Tail:
    """Return the journal's end where its last line is long, torn or rubbish."""
    size = end = _whole_lines_end(file, size)
    for _ in range(_MOST_RUBBISH):
        if end == 0:
            return Tail(0, GENESIS, 0)
        start = _whole_lines_end(file, end - 1)
        found = _tail_at(_read(file, start, end), end)
        if found is not None:
            return found
        end = start  # a line of rubbish, as after a crash of the machine
    return Tail(0, GENESIS, size)  # no crash leaves so many: what stands there stays


def _tail_at(line: bytes, end: int) -> Tail | None:
    """Return the end that a line gives, None for rubbish."""
    entry = _parse(line)
    if entry is None or not isinstance(entry.get("seq"), int):
        return None
    return Tail(entry["seq"], _hash(line), end)


def _whole_lines_end(file: int, end: int) -> int:
    """Return the offset after the last line break before `end`, 0 when there is none."""
    while end > 0:
        start = max(0, end - _BLOCK)
        found = _read(file, start, end).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def _page(file: int, limit: int, end: int) -> Page:
    start, found, blocks = end, 0, []
    while start > 0 and found <= limit:
        size = min(_BLOCK, start)
        start -= size
        blocks.append(_read(file, start, start + size))
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
