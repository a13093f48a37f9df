"""Objects of a git repository, read without git: loose ones and packs, hashes of 20 bytes.

Nothing of the repository's configuration is obeyed, and nothing is fetched or written.
"""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

TREE = 0o040000
_LARGEST = 64_000_000
_MAX_STORES = 8
_MAX_DELTAS = 60
_KINDS = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}


class UnknownError(Exception):
    """The repository holds something that can't be understood here."""


@dataclass(frozen=True, slots=True)
class GitObjectReader:
    """The objects of a repository, those of its alternates included.

    Args:
        folder: the `objects` folder.
    """

    folder: Path
    _known: dict[str, tuple[str, bytes]] = field(default_factory=dict)

    def read(self, oid: str) -> tuple[str, bytes]:
        """Return the kind and the content of an object. Raises UnknownError."""
        if oid not in self._known:
            self._known[oid] = self._loose(oid) or self._packed(oid)
        return self._known[oid]

    def _loose(self, oid: str) -> tuple[str, bytes] | None:
        for objects in self._stores():
            path = objects / oid[:2] / oid[2:]
            if path.is_file():
                header, _, content = _inflated(file_bytes(path)).partition(b"\0")
                return header.split(b" ")[0].decode("ascii"), content
        return None

    def _packed(self, oid: str) -> tuple[str, bytes]:
        for pack in self._packs():
            offset = pack.offset(bytes.fromhex(oid))
            if offset is not None:
                return self._at(pack, offset, 0)
        raise UnknownError

    def _at(self, pack: "_Pack", offset: int, depth: int) -> tuple[str, bytes]:
        if depth > _MAX_DELTAS:
            raise UnknownError
        number, base, content = pack.read(offset)
        if number in _KINDS:
            return _KINDS[number], content
        if isinstance(base, int):
            kind, source = self._at(pack, base, depth + 1)
        elif isinstance(base, str):
            kind, source = self.read(base)
        else:
            raise UnknownError
        return kind, _patched(source, content)

    def _stores(self) -> list[Path]:
        stores = [self.folder]
        for store in stores:
            others = store / "info/alternates"
            if others.is_file() and len(stores) < _MAX_STORES:
                lines = file_bytes(others).decode("utf-8", "surrogateescape").splitlines()
                stores += [store / line for line in lines if line and not line.startswith("#")]
        return stores

    def _packs(self) -> Iterator["_Pack"]:
        for objects in self._stores():
            for path in sorted((objects / "pack").glob("*.idx")):
                yield _Pack(path)

    def starting_with(self, start: str) -> Iterator[str]:
        """Return the names of objects that may begin with `start` (4 digits or more)."""
        for objects in self._stores():
            folder = objects / start[:2]
            if folder.is_dir():
                yield from (start[:2] + one.name for one in folder.iterdir())
        for pack in self._packs():
            yield from pack.starting_with(start)


class _Pack:
    """A pack and its index (version 2), read in pieces."""

    def __init__(self, index: Path) -> None:
        self._index = file_bytes(index)
        self._path = index.with_suffix(".pack")
        if self._index[:8] != b"\xfftOc\0\0\0\x02":
            raise UnknownError
        self._count = struct.unpack_from(">I", self._index, 8 + 255 * 4)[0]

    def _name(self, position: int) -> bytes:
        start = 8 + 1024 + position * 20
        return self._index[start : start + 20]

    def _range(self, first: int) -> tuple[int, int]:
        low = struct.unpack_from(">I", self._index, 8 + (first - 1) * 4)[0] if first else 0
        return low, struct.unpack_from(">I", self._index, 8 + first * 4)[0]

    def offset(self, oid: bytes) -> int | None:
        low, high = self._range(oid[0])
        while low < high:
            middle = (low + high) // 2
            if self._name(middle) < oid:
                low = middle + 1
            else:
                high = middle
        if low >= self._count or self._name(low) != oid:
            return None
        table = 8 + 1024 + self._count * 24
        offset: int = struct.unpack_from(">I", self._index, table + low * 4)[0]
        if offset & 0x80000000:
            large = table + self._count * 4 + (offset & 0x7FFFFFFF) * 8
            offset = struct.unpack_from(">Q", self._index, large)[0]
        return offset

    def starting_with(self, start: str) -> Iterator[str]:
        low, high = self._range(int(start[:2], 16))
        names = (self._name(position).hex() for position in range(low, high))
        return (name for name in names if name.startswith(start))

    def read(self, offset: int) -> tuple[int, int | str | None, bytes]:
        """Return the kind of an object, what it is a difference to, and its content."""
        with self._path.open("rb") as file:
            file.seek(offset)
            head = file.read(64)
            number, position = (head[0] >> 4) & 7, 1
            size, shift, byte = head[0] & 15, 4, head[0]
            while byte & 0x80:
                byte = head[position]
                size |= (byte & 0x7F) << shift
                shift, position = shift + 7, position + 1
            base: int | str | None = None
            if number == 6:
                distance, position = varint(head, position)
                base = offset - distance
            elif number == 7:
                base = head[position : position + 20].hex()
                position += 20
            if size > _LARGEST:
                raise UnknownError
            file.seek(offset + position)
            return number, base, _inflated_from(file.read(size + 4096 + size // 8), size)


def file_bytes(path: Path) -> bytes:
    """Return a file's content. Raises OSError, and UnknownError for one that is too large."""
    with path.open("rb") as file:
        data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise UnknownError
    return data


def _inflated(data: bytes) -> bytes:
    return _inflated_from(data, _LARGEST)


def _inflated_from(data: bytes, size: int) -> bytes:
    return zlib.decompressobj().decompress(data, size)


def varint(data: bytes, position: int) -> tuple[int, int]:
    """Read the number coding of offsets in packs and of names in an index of version 4."""
    byte = data[position]
    value, position = byte & 0x7F, position + 1
    while byte & 0x80:
        byte = data[position]
        value, position = ((value + 1) << 7) | (byte & 0x7F), position + 1
    return value, position


def _patched(source: bytes, delta: bytes) -> bytes:
    position = 0
    for _ in range(2):  # the two sizes
        while delta[position] & 0x80:
            position += 1
        position += 1
    pieces = []
    while position < len(delta):
        code, position = delta[position], position + 1
        if code & 0x80:
            numbers = []
            for bits, width in ((code & 15, 4), ((code >> 4) & 7, 3)):
                value = 0
                for place in range(width):
                    if bits & (1 << place):
                        value |= delta[position] << (8 * place)
                        position += 1
                numbers.append(value)
            start, length = numbers[0], numbers[1] or 0x10000
            pieces.append(source[start : start + length])
        else:
            pieces.append(delta[position : position + code])
            position += code
    return b"".join(pieces)


def entries(content: bytes) -> Iterator[tuple[int, str, str]]:
    """Return the mode, name and hash of each entry of a tree."""
    position = 0
    while position < len(content):
        end = content.index(b"\0", position)
        mode, _, name = content[position:end].partition(b" ")
        yield (
            int(mode, 8),
            name.decode("utf-8", "surrogateescape"),
            content[end + 1 : end + 21].hex(),
        )
        position = end + 21
