"""What every command needs: the store, the spec, the clock, and how a session is found."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from runner.autonomy.calls import note_commit, note_session, require_time
from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.engine.starting import StartOptions
from runner.autonomy.engine.transition import Transition
from runner.autonomy.engine.turn import Env
from runner.autonomy.enums import FailureReason
from runner.autonomy.migrations import MigrationError
from runner.autonomy.models import SessionState
from runner.autonomy.params import SessionParams
from runner.autonomy.policy import PROGRAM, Policy
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
        policy: what the caller may do, and which features are on.
    """

    store: SessionStore
    source: SpecSource
    clock: Callable[[], datetime]
    new_id: Callable[[str], str]
    key: Callable[[], bytes]
    defaults: StartOptions
    policy: Policy = PROGRAM

    def env(self) -> Env:
        return Env(now=self.clock(), new_id=self.new_id, key=self.key())

    def resolve(self, params: SessionParams) -> str:
        """Return the id of the session that is meant.

        Without ids, the only live session; one whose index entry is the only one is not looked
        into here, that is `hold`'s business.

        Raises:
            RefusedError: SESSION_NOT_FOUND, NO_ACTIVE_SESSION or AMBIGUOUS_ACTIVE_SESSION.
        """
        if params.session_id is not None:
            if not self.store.files.exists(params.session_id):
                raise not_found(params.session_id)
            return params.session_id
        entries = self.store.index.read()
        found = [i for spec, i in entries.items() if params.spec_id in (None, spec)]
        if len(found) > 1:
            found = [session_id for session_id in found if self._is_live(session_id)]
        if len(found) > 1:
            raise RefusedError(
                ErrorCode.AMBIGUOUS_ACTIVE_SESSION,
                "More than one session is live.",
                details={"session_ids": sorted(found)},
            )
        if not found or not self.store.files.exists(found[0]):
            raise no_active_session()
        return found[0]

    @contextmanager
    def hold(self, params: SessionParams, *, step_id: str | None = None) -> Iterator[Held]:
        """Hold the lock of the session that is meant, with the session as it is now.

        Args:
            params: names the session, or leaves it to the lookup.
            step_id: of a report; it finds a session that this report has completed, so that
                it is answered when it comes again.

        Raises:
            RefusedError: there is no such session, or SESSION_UNRECOVERABLE when it can't be
                used.
            LockTimeoutError: somebody else holds it; nothing was changed.
        """
        session_id = self.resolve(params)
        with self.store.session_lock(session_id):
            try:
                loaded = self.store.load(session_id)
            except (StateCorruptError, MigrationError) as error:
                raise unrecoverable(session_id, error) from error
            if loaded is None:
                raise not_found(session_id)
            if params.session_id is None and not _is_found(loaded.state, step_id):
                raise no_active_session()
            note_session(loaded.state)
            yield Held(self.policy.adapted(loaded.state), list(loaded.warnings))

    def live_session(self, spec_id: str) -> str | None:
        """Return the session that holds the spec, whatever became of its index entry.

        Looks into every session, so it is for what happens rarely and must not be fooled. A
        damaged session counts as live, for its spec or, when nobody knows that, for any.
        """
        owners = {session: spec for spec, session in self.store.index.read().items()}
        for session_id in sorted(self.store.files.ids()):
            try:
                state = self.store.files.read(session_id)
            except (StateCorruptError, MigrationError):
                if owners.get(session_id, spec_id) == spec_id:
                    return session_id
                continue
            if state and state.spec_id == spec_id and not state.status.is_terminal:
                return session_id
        return None

    def spec_of(self, session_id: str) -> str | None:
        """Return the spec that the index says a session is the live one of."""
        entries = self.store.index.read().items()
        return next((spec for spec, session in entries if session == session_id), None)

    def commit(self, held: Held, transition: Transition) -> None:
        """Write what a transition made of a held session, if it made anything of it."""
        if transition.changed:
            require_time()
            before = None if held.state is transition.state else held.state
            held.warnings = list(self.store.commit(transition.state))
            note_commit(before, transition.state)
        held.state = transition.state

    def read_spec(
        self, spec_id: str | None = None, *, fresh: bool = False
    ) -> tuple[Spec | None, str | None]:
        """Return the spec, or None and the reason why there is none.

        Args:
            spec_id: the only spec that will do; None for whichever the workspace has.
            fresh: read it although nothing seems to have changed.
        """
        try:
            spec = self.source.read(fresh=fresh)
        except SpecUnreadableError as error:
            return None, str(error)
        if spec_id not in (None, spec.spec_id):
            return None, f"The workspace now has another spec, {spec.spec_id}, not {spec_id}."
        return spec, None

    def _is_live(self, session_id: str) -> bool:
        try:
            state = self.store.files.read(session_id)
        except (StateCorruptError, MigrationError):
            return True
        return state is not None and not state.status.is_terminal


def _is_found(state: SessionState, step_id: str | None) -> bool:
    """Say whether a lookup may end at the session."""
    last = state.last_report
    repeated = last is not None and last.step_id == step_id
    return not state.status.is_terminal or repeated


def no_active_session() -> RefusedError:
    return RefusedError(ErrorCode.NO_ACTIVE_SESSION, "There is no live session.")


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
