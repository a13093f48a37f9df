"""How often a workspace's callers were refused of late, over all processes (CONTRACT §6).

The record stands in the user's state folder and not in the project: a refused call changes
nothing there, and an agent that is confined to the project can't forget its refusals.
"""

import contextlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from runner.errors import RunnerError
from runner.files import locked, read_regular, write_atomic

MOST_REFUSALS = 10
REFUSAL_WINDOW = timedelta(minutes=1)
_LONGEST_WINDOW = timedelta(hours=1)
_MAX_BYTES = 1024 * 1024
_MOST_STAMPS = 100
_LOCK_SECONDS = 1.0


@dataclass(slots=True)
class Ledger:
    """Times of refusals, by what was refused.

    A record that can't be read or written never turns a refusal into permission: this process
    then goes by what it has seen itself.

    Attributes:
        path: the file, made on demand with its folder.
        clock: returns the time, timezone-aware.
    """

    path: Path
    clock: Callable[[], datetime]
    _seen: dict[str, list[float]] = field(default_factory=dict)

    def note(self, key: str, *, window: timedelta, most: int) -> float | None:
        """Note one more refusal, or return the seconds to wait when there were `most` already.

        What is not noted does not prolong the wait.
        """
        with self._exclusive():
            stamps = self._read()
            now = self.clock().timestamp()
            # A clock that was set back forgets no refusal: one of later counts as one of now.
            known = [min(at, now) for at in stamps.get(key, [])]
            recent = [at for at in known if now - at < window.total_seconds()]
            if len(recent) >= most:
                if known != stamps[key]:
                    self._write(stamps | {key: known}, now)
                return recent[-most] + window.total_seconds() - now
            stamps[key] = [*known, now][-_MOST_STAMPS:]
            self._write(stamps, now)
        return None

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(RunnerError, OSError):
                stack.enter_context(locked(self.path.with_suffix(".lock"), _LOCK_SECONDS))
            yield

    def _read(self) -> dict[str, list[float]]:
        """Return what the file says and what this process knows besides."""
        stamps = dict(self._seen)
        with contextlib.suppress(OSError, ValueError, TypeError, RecursionError, AttributeError):
            for key, written in json.loads(read_regular(self.path, limit=_MAX_BYTES)).items():
                times = Counter(float(at) for at in written if isinstance(at, int | float))
                stamps[key] = sorted((times | Counter(stamps.get(key, ()))).elements())
        return stamps

    def _write(self, stamps: dict[str, list[float]], now: float) -> None:
        oldest = now - _LONGEST_WINDOW.total_seconds()
        self._seen = {k: v for k, v in stamps.items() if any(oldest < at for at in v)}
        with contextlib.suppress(RunnerError, OSError):
            write_atomic(self.path, json.dumps(self._seen), mode=0o600)


def whole_seconds(seconds: float) -> int:
    """Return what a caller should wait at least, never 0."""
    return max(math.ceil(seconds), 1)
