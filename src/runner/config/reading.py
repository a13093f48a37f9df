"""Read the small text files that configure a project."""

import os
import stat
from pathlib import Path

from runner.errors import ConfigError

MAX_BYTES = 1024 * 1024
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe must not make us wait


def read_text(path: Path) -> str | None:
    """Return the text of a configuration file without a byte order mark, None without a file.

    Raises:
        ConfigError: it can't be read, is no regular file, is too large or not UTF-8.
    """
    try:
        descriptor = os.open(path, _FLAGS)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    try:
        content = _content(path, descriptor)
    finally:
        os.close(descriptor)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _unreadable(path, f"line {line} is not UTF-8") from error


def _content(path: Path, descriptor: int) -> bytes:
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        raise _unreadable(path, "it is not a regular file")
    if found.st_size > MAX_BYTES:
        raise _unreadable(path, f"it has {found.st_size} bytes, the limit is {MAX_BYTES}")
    with open(descriptor, "rb", closefd=False) as file:
        return file.read()


def _unreadable(path: Path, reason: str) -> ConfigError:
    return ConfigError(
        f"{path} can't be read: {reason}.",
        hint="Make it a readable UTF-8 text file, or remove it to use the defaults.",
    )
