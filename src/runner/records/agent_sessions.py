"""What agent sessions there were, in `.runner/autonomy/agent-sessions.jsonl` (ADR-0081).

The log of a run tells everything and is swept away with the next twenty; this tells what a report
needs, and stays. One line each for a session's beginning, for what was refused to it, and for its
end; so a session that was killed is there, too, without an end.
"""

import errno
import json
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from runner.deliverables.workspace import STATE_DIRECTORY, ensure_state_directory
from runner.errors import RunnerError
from runner.events import (
    Notice,
    RunEnded,
    RunEvent,
    SessionActivity,
    SessionEnded,
    SessionStarted,
    StreamApiRetry,
    StreamToolDenied,
    StreamToolInvocation,
    Waiting,
)
from runner.ports import RunSink
from runner.text.messages import reason

STARTED = "session_started"
DENIED = "tool_denied"
ENDED = "session_ended"
WAITING = "waiting"
RUN_ENDED = "run_ended"

MOST_DENIALS = 25
"""Refused calls that are written down of a session; its end tells how many there were."""

MOST_BYTES = 64 * 1024 * 1024
"""A file of this size gets no more lines."""

_MOST_TEXT = 500
_LONGEST_LINE = 64 * 1024
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_OWNER_ONLY = 0o600

Cleaner = Callable[[Any], Any]
"""Takes credentials out of a JSON value."""


def history_path(project_dir: Path) -> Path:
    """Return where a project's history of agent sessions is."""
    return project_dir / STATE_DIRECTORY / "autonomy" / "agent-sessions.jsonl"


def history_lines(project_dir: Path) -> Iterator[dict[str, Any] | None]:
    """Yield what the history holds, oldest first, None for a line that is damaged.

    Nothing where there is none. Raises OSError.
    """
    path = history_path(project_dir)
    if not path.resolve().is_relative_to(project_dir.resolve()):
        raise PermissionError(errno.EPERM, "it leads out of the project", str(path))
    try:
        descriptor = os.open(path, _READ_FLAGS)
    except FileNotFoundError:
        return
    left = MOST_BYTES + _LONGEST_LINE
    with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor, not a path
        while left > 0 and (line := file.readline(_LONGEST_LINE)):
            left -= len(line)
            if line.strip():
                yield _parsed(line)


@dataclass(frozen=True, slots=True)
class Work:
    """What a run at work does.

    Attributes:
        said: what an agent works on, or why the run waits.
        until: when a wait ends at the latest, None where an agent is at work.
        seconds: until then; or since the agent session began.
    """

    said: str
    until: datetime | None
    seconds: float


def work_at(project_dir: Path, now: datetime) -> Work | None:
    """Return what the run does that is at work, None where the history does not tell."""
    try:
        last = deque((line for line in history_lines(project_dir) if line), maxlen=2 + MOST_DENIALS)
    except (OSError, RuntimeError):
        return None
    entries = [entry for entry in reversed(last) if entry.get("event") != DENIED]
    with suppress(ValueError, TypeError, KeyError):
        return _work_of(entries[0], now) if entries else None
    return None


def _work_of(entry: Mapping[str, Any], now: datetime) -> Work | None:
    at = datetime.fromisoformat(entry["at"])
    if entry["event"] == WAITING:
        until = at + timedelta(seconds=float(entry["seconds"]))
        left = (until - now).total_seconds()
        return Work(str(entry["reason"]), until.astimezone(UTC), left) if left > 0 else None
    if entry["event"] != STARTED:
        return None
    about = entry.get("task_id") or entry.get("phase_id")
    named = f" {about}" if about else ""
    said = f"Session {entry['number']}: {entry['instruction']}{named} ({entry['model']})"
    return Work(said, None, (now - at).total_seconds())


class HistoryKeeper:
    """A subscriber that records which sessions there are.

    A failed write is reported once, and never ends a run.

    Args:
        project_dir: its history is added to.
        command: `run`, `sync` or `review`.
        publish: gets a notice where that fails.
        clean: takes credentials out of what is written.
        now: the time that the lines carry.
    """

    def __init__(
        self,
        project_dir: Path,
        command: str,
        publish: RunSink,
        *,
        clean: Cleaner,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._project_dir = project_dir
        self._command = command
        self._publish = publish
        self._clean = clean
        self._now = now
        self._run = f"{now():%Y%m%dT%H%M%SZ}-{os.getpid()}"
        self._counts = {"tools": 0, "denied": 0, "retries": 0}
        self._number = 0
        self._over = False

    def __call__(self, event: RunEvent) -> None:
        """Take in one event."""
        problem = self._note(event)
        if problem is not None:
            self._publish(problem)

    def _note(self, event: RunEvent) -> Notice | None:
        match event:
            case SessionStarted():
                return self._begin(event)
            case SessionActivity(event=StreamToolDenied() as denied):
                return self._denied(denied)
            case SessionActivity(event=StreamToolInvocation()):
                self._counts["tools"] += 1
            case SessionActivity(event=StreamApiRetry()):
                self._counts["retries"] += 1
            case SessionEnded():
                return self._end(event)
            case Waiting():
                return self._write(WAITING, asdict(event))
            case RunEnded():
                return self._end_of_run(event)
            case _:
                pass
        return None

    def _begin(self, event: SessionStarted) -> Notice | None:
        self._counts = dict.fromkeys(self._counts, 0)
        self._number = event.number
        names = ("number", "instruction", "iteration", "model", "task_id", "phase_id", "step_id")
        return self._write(STARTED, {name: getattr(event, name) for name in names})

    def _denied(self, event: StreamToolDenied) -> Notice | None:
        self._counts["denied"] += 1
        if self._counts["denied"] > MOST_DENIALS:
            return None
        # Cleaned before it is cut: half a key would no longer be known for one.
        asked = json.dumps(self._clean(event.input), default=str, ensure_ascii=False)
        told = {"number": self._number, "name": event.name, "input": asked, "reason": event.reason}
        return self._write(DENIED, told)

    def _end(self, event: SessionEnded) -> Notice | None:
        result = event.result
        told = {
            "number": event.number,
            "outcome": result.outcome.value,
            "error": result.error,
            "text": result.text,
            "cost_usd": result.cost_usd,
            "turns": result.turns,
            "seconds": round(result.duration_seconds, 3),
            "tokens": [asdict(used) for used in result.tokens],
        }
        return self._write(ENDED, {**told, **self._counts})

    def _end_of_run(self, event: RunEnded) -> Notice | None:
        result = event.result
        told = {
            "exit_reason": result.exit_reason.value,
            "message": result.message,
            "hint": result.hint,
            "session_id": event.details.get("session_id"),
            "agent_sessions": result.agent_sessions,
            "seconds": round(result.duration_seconds, 3),
            "cost_usd": result.total_cost_usd,
        }
        return self._write(RUN_ENDED, told)

    def _write(self, event: str, told: Mapping[str, Any]) -> Notice | None:
        if self._over:
            return None
        cleaned = {name: _cut(value) for name, value in self._clean(dict(told)).items()}
        head = {
            "event": event,
            "at": self._now().astimezone(UTC).isoformat(timespec="milliseconds"),
            "run": self._run,
            "command": self._command,
        }
        try:
            self._append(json.dumps({**head, **cleaned}, default=str).encode() + b"\n")
        except (OSError, RunnerError) as error:
            self._over = True
            message = f"The agent sessions could not be noted for `runner report`: {reason(error)}."
            return Notice("warning", message)
        return None

    def _append(self, line: bytes) -> None:
        path = history_path(self._project_dir)
        state = ensure_state_directory(self._project_dir)
        path.parent.mkdir(exist_ok=True)
        if not path.parent.resolve().is_relative_to(state.resolve()):
            raise NotADirectoryError(f"{path.parent} leads out of the project")
        with open(os.open(path, _FLAGS, _OWNER_ONLY), "rb+", buffering=0) as file:  # noqa: PTH123
            size = file.seek(0, os.SEEK_END)
            if size > MOST_BYTES:
                raise OSError(errno.EFBIG, "it is full", str(path))
            if size and os.pread(file.fileno(), 1, size - 1) != b"\n":
                line = b"\n" + line  # a crash cut the last line off
            file.write(line)


def _cut(value: Any) -> Any:
    if isinstance(value, str) and len(value) > _MOST_TEXT:
        return f"{value[: _MOST_TEXT - 1]}…"
    return value


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None
