"""Where a page goes: a new file, or one that is a report already."""

import os
from pathlib import Path

from runner.errors import StateWriteError, UsageError
from runner.files import read_regular, write_atomic
from runner.report.page import GENERATOR
from runner.text.messages import reason

_HEAD_BYTES = 4096
_OTHER_NAME = "Name another file, e.g. report.html; `-` writes to stdout."


def check_target(path: Path) -> None:
    """Find out whether a report may be written to `path`, before anything is gathered.

    Raises:
        UsageError: it is a folder, something that is no report, or its folder is missing.
    """
    try:
        _check(path)
    except OSError as error:  # a name that is too long, say
        raise UsageError(
            f"{path} can't be written: {reason(error, named=True)}.", hint=_OTHER_NAME
        ) from error


def _check(path: Path) -> None:
    if path.is_symlink():
        raise UsageError(
            f"{path} is a symbolic link, and runner does not write through it.", hint=_OTHER_NAME
        )
    if path.is_dir():
        raise UsageError(f"{path} is a folder.", hint=_OTHER_NAME)
    if os.path.lexists(path):
        _require_report(path)
    elif not path.parent.is_dir():
        raise UsageError(
            f"{path} can't be written: there is no folder {path.parent}.",
            hint="Create the folder first, or name another file.",
        )


def write_page(path: Path, page: str) -> int:
    """Write a page, in one step that survives a crash; return its size in bytes.

    Raises:
        UsageError: see `check_target`; or it can't be written, and what was there still stands.
    """
    check_target(path)
    content = page.encode("utf-8", "replace")
    try:
        write_atomic(path, content)
    except StateWriteError as error:
        raise UsageError(error.message, hint=error.hint) from error
    return len(content)


def _require_report(path: Path) -> None:
    try:
        head = read_regular(path, limit=_HEAD_BYTES)
    except OSError as error:
        raise UsageError(
            f"{path} is there and can't be replaced: {error.strerror}.", hint=_OTHER_NAME
        ) from error
    if head and f'<meta name="generator" content="{GENERATOR}">'.encode() not in head:
        raise UsageError(
            f"{path} is there and is no report of runner; it is not overwritten.", hint=_OTHER_NAME
        )
