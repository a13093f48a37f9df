"""Between a request and its command: who may, what is switched on, and who asks too often."""

import contextlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from runner.autonomy.access.callers import MUTATIONS, Key
from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.core import Core
from runner.autonomy.params import TaskMutationParams
from runner.config.postures import Role
from runner.errors import RunnerError
from runner.files import locked, read_regular, write_atomic

# The record is in the user's state folder and not in the project: a refused call changes
# nothing there, and an agent that is confined to the project can't forget its refusals.
MOST_REFUSALS = 10
REFUSAL_WINDOW = timedelta(minutes=1)
_LONGEST_WINDOW = timedelta(hours=1)
_MAX_BYTES = 1024 * 1024
_MOST_STAMPS = 100
_LOCK_SECONDS = 1.0


@dataclass(slots=True)
class DenialCounter:
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


_EVIDENCE_WINDOW = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Guard:
    """Judges every request of one control plane."""

    core: Core
    ledger: DenialCounter

    def admit(self, key: Key, params: Any) -> Any:
        """Return the parameters to run the command with.

        Raises:
            RefusedError: FEATURE_DISABLED or AUTHORIZATION.
        """
        policy = self.core.policy
        policy.check_command(key)
        policy.check_request(key, params)
        bounded = policy.standing is not None and policy.standing.role is not Role.MAINTAINER
        if bounded and key in MUTATIONS:
            return self._bind_to_step(" ".join(key), params)
        return params

    def judge_refusal(
        self, error: RunnerError, params: Mapping[str, Any], session_id: str | None = None
    ) -> tuple[RunnerError, bool]:
        """Return the error to answer with, and whether it repeats an earlier one.

        Ten refusals within a minute turn the next into RATE_LIMITED, over all processes.

        Args:
            session_id: of the session that the request came to, named in it or not.
        """
        if not isinstance(error, RefusedError):
            return error, False
        if error.code is ErrorCode.AUTHORIZATION:
            return self._limited(error), False
        if error.code is ErrorCode.INVALID_GATE_EVIDENCE:
            name = f"evidence {str(session_id or params.get('session_id'))[:64]}"
            repeated = self.ledger.note(name, window=_EVIDENCE_WINDOW, most=1) is not None
            return error, repeated
        return error, False

    def _limited(self, error: RefusedError) -> RefusedError:
        name = f"role {error.details.get('role')}"
        wait = self.ledger.note(name, window=REFUSAL_WINDOW, most=MOST_REFUSALS)
        if wait is None:
            return error
        seconds = whole_seconds(wait)
        return RefusedError(
            ErrorCode.RATE_LIMITED,
            f"{MOST_REFUSALS} calls were refused within a minute, and this one may not be made "
            "either.",
            hint=f"Wait {seconds} seconds. {error.hint}",
            details={**error.details, "retry_after": seconds, "limit": MOST_REFUSALS},
        )

    def _bind_to_step(self, action: str, params: TaskMutationParams) -> TaskMutationParams:
        """Let a change pass that a live, locked session judges by its proof; refuse any other.

        The session is named in the parameters, so that one that ends meanwhile ends the change.
        """
        session_id = self._locked_session()
        if session_id is None:
            self.core.policy.check_direct_change(action)
        if params.session_id is not None:
            return params
        return params.model_copy(update={"session_id": session_id})

    def _locked_session(self) -> str | None:
        spec, _ = self.core.read_spec()
        session_id = None if spec is None else self.core.live_session(spec.spec_id)
        if session_id is None:
            return None
        state = self.core.store.read(session_id)
        return session_id if state is not None and state.write_lock.enforced else None
