"""One run at a time in a project: the run lock, and who holds it."""

import json
import os
import platform
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from runner.deliverables.workspace import ensure_state_directory
from runner.errors import LockTimeoutError, PrerequisiteError
from runner.files import locked, write_atomic


@contextmanager
def run_lock(project_dir: Path) -> Iterator[None]:
    """Hold the project's run lock.

    The lock ends with its process, however that dies; a note beside it tells others who
    took it last.

    Raises:
        PrerequisiteError: another run holds it; the message says which.
        StateWriteError: the lock can't be created.
    """
    path = ensure_state_directory(project_dir) / "autonomy" / "locks" / "run.lock"
    holder = path.with_suffix(".holder.json")
    with ExitStack() as held:
        try:
            held.enter_context(locked(path, timeout=0))
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


def _described(holder: Path) -> str:
    try:
        found = json.loads(holder.read_text(encoding="utf-8"))
        return f" (process {found['pid']} on {found['host']}, since {found['since']})"
    except (OSError, ValueError, KeyError, TypeError):
        return ""
