"""The result object of a command that ended before it began (CONTRACT §3)."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from runner.app.result import result_object
from runner.deliverables.model import Counts, StatusFile
from runner.deliverables.repository import StatusRepository
from runner.deliverables.workspace import derive_spec_id, status_path
from runner.errors import RunnerError
from runner.events import ExitReason, RunEnded, RunResult


def never_began(
    command: str,
    project: Path,
    code: int,
    message: str,
    hint: str | None,
    *,
    signal_number: int | None = None,
) -> Mapping[str, Any]:
    """Return the result object, with the project as it stands.

    Args:
        code: the exit code.
        message: why it did not begin.
        hint: what to do about it.
        signal_number: of the signal that kept it from beginning, None where something else did.
    """
    spec_id, file = _standing(project)
    ended = RunEnded(
        RunResult(
            command=command,
            exit_reason=ExitReason.ERROR if signal_number is None else ExitReason.INTERRUPTED,
            message=message,
            hint=hint,
            spec_id=spec_id,
            counts=file.counts if file else Counts(),
            blocked_ids=tuple(d.id for d in file.blocked) if file else (),
            signal_number=signal_number,
        )
    )
    return {**result_object(ended), "exit_code": code}


def _standing(project: Path) -> tuple[str, StatusFile | None]:
    """Return the id of a project's spec and its deliverables, as far as they can be told."""
    with suppress(RunnerError, OSError, ValueError):
        if project.is_dir():
            file = StatusRepository(status_path(project)).load()
            return (file.spec_id if file else derive_spec_id(project)), file
    return "", None
