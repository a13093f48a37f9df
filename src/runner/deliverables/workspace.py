"""The folder `.runner/` in a project: its creation, and the id that its spec gets."""

import contextlib
import errno
import re
import unicodedata
from pathlib import Path

from runner.errors import StateWriteError
from runner.files import write_error

STATE_DIRECTORY = ".runner"
STATUS_FILE = "status.json"

# status.json, agent.json and the instruction overrides are for the user's repository.
_IGNORED = """\
# Volatile state of runner; everything else in this folder is worth committing.
autonomy/
logs/
.*.tmp
"""
_MAX_SPEC_ID_LENGTH = 64
_READ_ONLY_HINT = (
    "runner keeps its state in the project: check the folder's owner, permissions and mount "
    "options, or work on a copy that can be written."
)


def derive_spec_id(project_dir: Path) -> str:
    """Return the id of a project's spec: a slug of the folder's name.

    Lower-case ASCII letters and digits in groups joined by hyphens, at most 64 characters;
    `spec` when nothing is left of the name.
    """
    name = unicodedata.normalize("NFKD", project_dir.resolve().name)
    ascii_name = name.encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", ascii_name).strip("-")
    return slug[:_MAX_SPEC_ID_LENGTH].rstrip("-") or "spec"


def ensure_state_directory(project_dir: Path) -> Path:
    """Create `.runner/` with its `.gitignore`, and return it.

    An existing `.gitignore` is never touched. `.runner` as a symbolic link that leads out of
    the project is refused, so that a repository can't choose where we write.

    Raises:
        StateWriteError: it can't be created.
    """
    return prepare_state_directory(project_dir / STATE_DIRECTORY)


def status_path(project_dir: Path) -> Path:
    """Return where a project's `status.json` is."""
    return project_dir / STATE_DIRECTORY / STATUS_FILE


def prepare_state_directory(directory: Path) -> Path:
    """Do what `ensure_state_directory` does, for a state folder of any name."""
    _refuse_foreign_link(directory)
    try:
        directory.mkdir(exist_ok=True)
        _create_once(directory / ".gitignore", _IGNORED)
    except OSError as error:
        cause = write_error(directory, error)
        is_denied = error.errno in (errno.EROFS, errno.EACCES, errno.EPERM)
        hint = _READ_ONLY_HINT if is_denied else cause.hint
        raise StateWriteError(cause.message, hint=hint) from error
    return directory


def _refuse_foreign_link(directory: Path) -> None:
    try:
        target = directory.resolve()
    except RuntimeError as error:  # what pathlib makes of a link that leads to itself
        raise StateWriteError(
            f"{directory} is a symbolic link that leads to itself.",
            hint="Replace it by a real folder.",
        ) from error
    if directory.is_symlink() and not target.is_relative_to(directory.parent.resolve()):
        raise StateWriteError(
            f"{directory} is a symbolic link to {target}, outside the project.",
            hint="Replace it by a real folder.",
        )


def _create_once(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return
    except OSError:
        with contextlib.suppress(OSError):
            if path.stat().st_size == 0:
                path.unlink()
        raise
