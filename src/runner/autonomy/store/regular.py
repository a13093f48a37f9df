"""Open files in the project, which anybody who works there may have replaced by something else.

A pipe would make us wait for ever while a lock is held, a device would fill the memory, and a link
would let a repository choose what is read. None of them is ours: they are all damage.
"""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

MAX_BYTES = 256 * 1024 * 1024

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_KINDS = frozenset({errno.EINVAL, errno.EISDIR, errno.ELOOP, errno.ENXIO, errno.EFBIG})


def open_regular(path: Path) -> BinaryIO:
    """Return a regular file, open for reading. Raises OSError, also for what is none."""
    descriptor = os.open(path, _FLAGS)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return open(descriptor, "rb")  # noqa: PTH123 - a descriptor, not a path
    os.close(descriptor)
    raise OSError(errno.EINVAL, "it is not a regular file", str(path))


def read_regular(path: Path) -> bytes:
    """Return the content of a regular file of sane size. Raises OSError, also for any other."""
    with open_regular(path) as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return content


def is_replaced(error: OSError) -> bool:
    """Say whether reading failed since something else stands in the file's place."""
    return error.errno in _KINDS
