"""Open files in the project, which anybody who works there may have replaced by something else.

A pipe would make us wait for ever while a lock is held, a device would fill the memory, and a link
would let a repository choose what is read. All of them count as damage.
"""

import errno
import os
import stat
from pathlib import Path

MAX_BYTES = 256 * 1024 * 1024

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CHUNK = 1024 * 1024
_KINDS = frozenset({errno.EINVAL, errno.EISDIR, errno.ELOOP, errno.ENXIO, errno.EFBIG})


def open_regular(path: Path) -> int:
    """Return the descriptor of a regular file, open for reading.

    Raises OSError, also for any other kind of file.
    """
    descriptor = os.open(path, _FLAGS)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "it is not a regular file", str(path))


def read_regular(path: Path, limit: int | None = None) -> bytes:
    """Return the content of a regular file of sane size. Raises OSError, also for any other.

    The file's size says how much room to make: to make room for the limit would cost more than
    reading does, on every step.
    """
    limit = MAX_BYTES if limit is None else limit
    descriptor = open_regular(path)
    try:
        content = _read_to_end(descriptor, os.fstat(descriptor).st_size, limit)
    finally:
        os.close(descriptor)
    if len(content) > limit:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return content


def _read_to_end(descriptor: int, expected: int, limit: int) -> bytes:
    """Return what the file holds, though it grows meanwhile; just over `limit` bytes at most."""
    content = os.read(descriptor, min(expected, limit) + 1)
    if len(content) == expected or not content:
        return content
    parts, size = [content], len(content)
    while size <= limit:
        part = os.read(descriptor, min(_CHUNK, limit + 1 - size))
        if not part:
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def is_replaced(error: OSError) -> bool:
    """Say whether reading failed because something else has replaced the file."""
    return error.errno in _KINDS
