"""What a read-only session wrote: it stays in an upper folder, and one note is taken out."""

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from runner.checkpoints.folder_digest import NOTE_NAME
from runner.files import write_atomic
from runner.text.safe import has_controls

MAX_NOTE_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Overlay:
    """The throw-away layer over the project in one agent session.

    Attributes:
        project: the real folder, which the session could not reach.
        upper: what the session wrote, in the layout of the kernel's overlay file system.
    """

    project: Path
    upper: Path

    def changed_paths(self) -> tuple[str, ...]:
        """Return what the session created, changed or deleted, relative to the project.

        A folder appears where it was replaced as a whole. Contents are not compared: a file
        that was rewritten as it was counts.
        """
        return tuple(sorted(self._changed(self.upper)))

    def _changed(self, folder: Path) -> Iterator[str]:
        try:
            entries = list(os.scandir(folder))
        except OSError:
            return
        for entry in entries:
            path = Path(entry.path)
            if not entry.is_dir(follow_symlinks=False):
                yield str(path.relative_to(self.upper))
                continue
            if _is_new(self.project / path.relative_to(self.upper)) or _is_opaque(path):
                yield str(path.relative_to(self.upper))
            yield from self._changed(path)


def collect_note(overlay: Overlay, redact: Callable[[str], str]) -> bool:
    """Take the handoff note out of a finished session into the project.

    Only a regular file of at most MAX_NOTE_BYTES that is UTF-8 text without control characters
    is taken; the agent is not trusted with more. Returns whether there was a new note.

    Args:
        redact: takes credentials out of it.

    Raises:
        StateWriteError: the project's note could not be written.
    """
    content = _read_note(overlay.upper / NOTE_NAME)
    if content is None:
        return False
    write_atomic(overlay.project / NOTE_NAME, redact(content))
    return True


def _read_note(path: Path) -> str | None:
    content = _read_regular(path, MAX_NOTE_BYTES)
    if content is None:
        return None
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if has_controls(text, layout="\n\r\t") else text


def _read_regular(path: Path, limit: int) -> bytes | None:
    """Read what is opened, not what the path names a moment later."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        content = b""
        while len(content) <= limit and (chunk := os.read(descriptor, limit + 1)):
            content += chunk
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return content if len(content) <= limit else None


def _is_new(real: Path) -> bool:
    return real.is_symlink() or not real.is_dir()


def _is_opaque(folder: Path) -> bool:
    for name in ("user.overlay.opaque", "trusted.overlay.opaque"):
        try:
            if os.getxattr(folder, name, follow_symlinks=False) == b"y":
                return True
        except OSError:
            continue
    return False
