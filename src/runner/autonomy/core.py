"""What every command needs: the store, the spec, the clock, and how a session is found."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.engine.starting import StartOptions
from runner.autonomy.engine.transition import Transition
from runner.autonomy.engine.turn import Env
from runner.autonomy.enums import FailureReason
from runner.autonomy.migrations import MigrationError
from runner.autonomy.models import SessionState
from runner.autonomy.params import SessionParams
from runner.autonomy.spec.source import SpecSource, SpecUnreadableError
from runner.autonomy.spec.structure import Spec
from runner.autonomy.store.facade import SessionStore
from runner.errors import StateCorruptError


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command returns, before it is put into the envelope."""

    data: dict[str, Any]
    warnings: tuple[str, ...] = ()
    pagination: dict[str, Any] | None = None


@dataclass(slots=True)
class Held:
    """A session whose lock is held. `commit` takes its new state."""

    state: SessionState
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Core:
    """The shell around the engine.

    Attributes:
        key: returns the local secret; called when it is first needed.
        defaults: what `start` uses where the caller says nothing.
    """

    store: SessionStore
    source: SpecSource
    clock: Callable[[], datetime]
    new_id: Callable[[str], str]
    key: Callable[[], bytes]
    defaults: StartOptions

    def env(self) -> Env:
        return Env(now=self.clock(), new_id=self.new_id, key=self.key())

    def resolve(self, params: SessionParams) -> str:
        """Return the id of the session that is meant.

        Raises:
            RefusedError: SESSION_NOT_FOUND, NO_ACTIVE_SESSION or AMBIGUOUS_ACTIVE_SESSION.
        """
        if params.session_id is not None:
            if not self.store.files.exists(params.session_id):
                raise not_found(params.session_id)
            return params.session_id
        live = self.live_sessions(params.spec_id)
        if not live:
            raise RefusedError(ErrorCode.NO_ACTIVE_SESSION, "There is no live session.")
        if len(live) > 1:
            raise RefusedError(
                ErrorCode.AMBIGUOUS_ACTIVE_SESSION,
                "More than one session is live.",
                details={"session_ids": sorted(live)},
            )
        return live[0]

    def live_sessions(self, spec_id: str | None = None) -> list[str]:
        """Return the ids of all sessions that are not terminal; damaged ones count as live."""
        entries = self.store.index.read()
        return [
            session_id
            for spec, session_id in entries.items()
            if spec_id in (None, spec) and self._is_live(session_id)
        ]

    @contextmanager
    def hold(self, session_id: str) -> Iterator[Held]:
        """Hold a session's lock, with the session as it is now.

        Raises:
            RefusedError: SESSION_NOT_FOUND, or SESSION_UNRECOVERABLE when it can't be used.
            LockTimeoutError: somebody else holds it; nothing was changed.
        """
        with self.store.session_lock(session_id):
            try:
                loaded = self.store.load(session_id)
            except (StateCorruptError, MigrationError) as error:
                raise unrecoverable(session_id, error) from error
            if loaded is None:
                raise not_found(session_id)
            yield Held(loaded.state, list(loaded.warnings))

    def commit(self, held: Held, transition: Transition) -> None:
        """Write what a transition made of a held session, if it made anything of it."""
        if transition.changed:
            held.warnings = list(self.store.commit(transition.state))
        held.state = transition.state

    def read_spec(self, *, fresh: bool = False) -> tuple[Spec | None, str | None]:
        """Return the spec, or None and the reason why it can't be read."""
        try:
            return self.source.read(fresh=fresh), None
        except SpecUnreadableError as error:
            return None, str(error)

    def _is_live(self, session_id: str) -> bool:
        try:
            state = self.store.files.read(session_id)
        except (StateCorruptError, MigrationError):
            return True
        return state is not None and not state.status.is_terminal


def not_found(session_id: str) -> RefusedError:
    return RefusedError(
        ErrorCode.SESSION_NOT_FOUND,
        "There is no such session.",
        details={"session_id": session_id},
    )


def failure_reason(error: Exception) -> FailureReason:
    """Return why a session counts as failed whose file can't be used."""
    if isinstance(error, MigrationError):
        return FailureReason.MIGRATION_FAILED
    return FailureReason.STATE_CORRUPT


def unrecoverable(session_id: str, error: StateCorruptError | MigrationError) -> RefusedError:
    """Return the refusal for a session whose file can't be used. It fails closed."""
    return RefusedError(
        ErrorCode.SESSION_UNRECOVERABLE,
        error.message,
        hint=error.hint,
        details={"session_id": session_id, "failure_reason": failure_reason(error)},
    )
