"""One run at a time in a project: the run lock, and who holds it."""

import fcntl
import json
import os
import platform
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from runner.deliverables.workspace import STATE_DIRECTORY, ensure_state_directory
from runner.errors import LockTimeoutError, PrerequisiteError
from runner.files import locked, write_atomic

_PATIENCE_SECONDS = 0.2
"""Longer than `current_holder` looks, so that looking never stops a run from starting."""

_LOOK_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds the run lock, as far as its note tells."""

    pid: int | None = None
    host: str | None = None
    since: str | None = None


@contextmanager
def run_lock(project_dir: Path) -> Iterator[None]:
    """Hold the project's run lock.

    The lock ends with its process, however that dies; a note beside it tells others who
    took it last.

    Raises:
        PrerequisiteError: another run holds it; the message says which.
        StateWriteError: the lock can't be created.
    """
    ensure_state_directory(project_dir)
    path = _lock_path(project_dir)
    holder = _note_path(path)
    with ExitStack() as held:
        try:
            held.enter_context(locked(path, timeout=_PATIENCE_SECONDS))
        except LockTimeoutError as error:
            raise PrerequisiteError(
                f"Another run is at work in {project_dir}{_described(holder)}.",
                hint="Wait for it, or stop it with Ctrl-C where it runs; then run again.",
            ) from error
        write_atomic(holder, json.dumps(_ourselves()) + "\n")
        yield


def _ourselves() -> dict[str, object]:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return {"pid": os.getpid(), "host": platform.node(), "since": now}


def current_holder(project_dir: Path) -> Holder | None:
    """Return who is running in the project, None when nobody is. Writes nothing."""
    path = _lock_path(project_dir)
    return _noted(_note_path(path)) if _is_held(path) else None


def _lock_path(project_dir: Path) -> Path:
    return project_dir / STATE_DIRECTORY / "autonomy" / "locks" / "run.lock"


def _note_path(lock: Path) -> Path:
    return lock.with_suffix(".holder.json")


def _is_held(path: Path) -> bool:
    try:
        descriptor = os.open(path, _LOOK_FLAGS)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    else:
        return False
    finally:
        os.close(descriptor)


def _noted(note: Path) -> Holder:
    try:
        found = json.loads(note.read_text(encoding="utf-8"))
        pid, host, since = (found.get(key) for key in ("pid", "host", "since"))
    except (OSError, ValueError, AttributeError, RecursionError):
        return Holder()
    return Holder(
        pid if isinstance(pid, int) else None,
        host if isinstance(host, str) else None,
        since if isinstance(since, str) else None,
    )


def _described(note: Path) -> str:
    holder = _noted(note)
    if holder.pid is None:
        return ""
    return f" (process {holder.pid} on {holder.host}, since {holder.since})"
