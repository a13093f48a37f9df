"""What the lines for people are made of, besides the answer itself."""

import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from runner.autonomy.placing import placed_command
from runner.text.columns import columns, labelled, wrap
from runner.text.durations import format_duration
from runner.text.output import Output

_NARROWEST, _NORMAL, _WIDEST = 40, 80, 120
_MINUTE = 60
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR


@dataclass(frozen=True)
class Scene:
    """An answer and where it is shown.

    Attributes:
        data: the envelope's data.
        pagination: the envelope's, empty where there is none.
        now: timezone-aware.
        width: of the lines, in columns.
        place: what commands need to mean the same workspace, e.g. ` --workspace ../app`.
        is_looped: whether `runner run` is at home in the workspace, so that it goes on.
    """

    data: Mapping[str, Any]
    now: datetime
    pagination: Mapping[str, Any] = field(default_factory=dict)
    width: int = _NORMAL
    place: str = ""
    is_looped: bool = False

    def command(self, *words: str) -> str:
        """Return a command line that works when it is pasted."""
        return placed_command(shlex.join(["runner", *words]), self.place)

    def next(self, *words: str, meaning: str = "") -> Iterator[str]:
        """Yield the command that comes next, and what it is good for."""
        yield from self.pasteable(self.command(*words), "Next: ")
        if meaning:
            yield from wrap(meaning, self.width, " " * 6)

    def pasteable(self, command: str, start: str) -> Iterator[str]:
        """Yield a command, broken before its options in a way that a shell understands."""
        return pasteable(command, start, self.width)

    def labelled(self, *pairs: tuple[str, str]) -> Iterator[str]:
        return labelled(pairs, self.width)

    def ago(self, moment: str | None) -> str:
        """Return how long ago an ISO 8601 time was, `-` for none."""
        if moment is None:
            return "-"
        return f"{span((self.now - datetime.fromisoformat(moment)).total_seconds())} ago"

    def until(self, moment: str | None) -> str:
        """Return when an ISO 8601 time is, and in how long; empty for none."""
        if moment is None:
            return ""
        seconds = (datetime.fromisoformat(moment) - self.now).total_seconds()
        return f"{clock(moment)}, {f'in {span(seconds)}' if seconds > 0 else 'over'}"


Lines = Callable[[Scene], Iterator[str]]


def pasteable(command: str, start: str, width: int) -> Iterator[str]:
    """Yield a command, broken before its options in a way that a shell understands."""
    line = start
    for part in re.split(r" (?=--)", command):
        if line.strip() and line != start and columns(f"{line} {part} \\") > width:
            yield f"{line} \\"
            line = " " * len(start) + "  "
        line += part if line.endswith(" ") else f" {part}"
    yield line


def clock(moment: str) -> str:
    """Return an ISO 8601 time as `2026-03-01 12:00:00Z`."""
    return f"{datetime.fromisoformat(moment).astimezone(UTC):%Y-%m-%d %H:%M:%SZ}"


def span(seconds: float) -> str:
    """Return a duration in its two greatest parts: `3d 2h`, `2h 5m`, `5m`, `12s`."""
    if seconds >= _DAY:
        days, rest = divmod(int(seconds), _DAY)
        hours = rest // _HOUR
        return f"{days}d {hours}h" if hours else f"{days}d"
    if seconds >= _MINUTE:
        seconds -= seconds % _MINUTE
    return format_duration(seconds)


def screen_width() -> int:
    """Return how wide lines may be: the terminal's width within reason, 80 in a pipe."""
    if not Output(sys.stdout).is_terminal():
        return _NORMAL
    return min(max(shutil.get_terminal_size().columns, _NARROWEST), _WIDEST)


def utc_now() -> datetime:
    return datetime.now(UTC)
