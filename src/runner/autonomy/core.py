"""What every command needs: the store, the spec, the clock, and how a session is found."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from runner.autonomy.access.callers import PROGRAM, Policy
from runner.autonomy.calls import note_commit, note_session, require_time
from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.engine.auditing import note_problem
from runner.autonomy.engine.clock import expires_between, latest_time, went_back
from runner.autonomy.engine.starting import StartOptions
from runner.autonomy.engine.transition import Transition, seal
from runner.autonomy.engine.turn import Env
from runner.autonomy.enums import FailureReason
from runner.autonomy.integrity import AuditError, SealBrokenError
from runner.autonomy.migrations import MigrationError
from runner.autonomy.models import SessionState
from runner.autonomy.params import SessionParams
from runner.autonomy.spec.source import SpecSource, SpecUnreadableError
from runner.autonomy.spec.structure import Spec
from runner.autonomy.store.port import Loaded, SessionStore, SessionVanishedError, Tail
from runner.autonomy.store.trust import Trust
from runner.errors import RunnerError, StateCorruptError

_EXPIRIES = (
    ErrorCode.STEP_PROOF_EXPIRED,
    ErrorCode.STEP_PROOF_INVALID,
    ErrorCode.INVALID_GATE_EVIDENCE,
)


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """What a command returns, before it is put into the envelope."""

    data: dict[str, Any]
    warnings: tuple[str, ...] = ()
    pagination: dict[str, Any] | None = None


@dataclass(slots=True)
class Held:
    """A session whose lock is held. `commit` takes its new state.

    Attributes:
        problems: what is wrong beside the state; it is warned of whatever is committed.
        tail: where the journal ends, until something is committed.
    """

    state: SessionState
    warnings: list[str] = field(default_factory=list)
    problems: tuple[str, ...] = ()
    tail: Tail | None = None


@dataclass(frozen=True)
class Core:
    """The shell around the engine.

    Attributes:
        trust: the local secret and keys.
        defaults: what `start` uses where the caller says nothing.
        policy: what the caller may do, and which features are on.
        signed_evidence: gate evidence must be signed (`autonomy_signed_gate_evidence`).
        tree_of: returns what identifies the work tree; None where nobody looks at it.
    """

    store: SessionStore
    source: SpecSource
    clock: Callable[[], datetime]
    new_id: Callable[[str], str]
    trust: Trust
    defaults: StartOptions
    policy: Policy = PROGRAM
    signed_evidence: bool = False
    tree_of: Callable[[], str] | None = None

    def key(self) -> bytes:
        """Return the local secret. Raises StateError."""
        return self.trust.key

    def env(self, state: SessionState | None = None, *, look_at_tree: bool = False) -> Env:
        """Return what the engine may know now; the time is never before that of the session.

        Args:
            state: of the session; None where there is none yet.
            look_at_tree: read the work tree, too.
        """
        clock = self.clock()
        return Env(
            now=clock if state is None else max(clock, latest_time(state)),
            wall=clock,
            new_id=self.new_id,
            key=self.trust.key,
            keys=self.trust.keys,
            signed_evidence=self.signed_evidence,
            tree=self._tree() if look_at_tree else None,
            tree_seen=look_at_tree,
        )

    def _tree(self) -> str | None:
        """Return what identifies the work tree; what can't be read is like nothing before it."""
        if self.tree_of is None:
            return None
        try:
            return self.tree_of()
        except (RunnerError, OSError, ValueError):
            return self.new_id("unreadable")

    def resolve(self, params: SessionParams) -> str:
        """Return the id of the session that is meant.

        Without ids, the only live session; one whose index entry is the only one is not looked
        into here, that is `hold`'s business.

        Raises:
            RefusedError: SESSION_NOT_FOUND, NO_ACTIVE_SESSION or AMBIGUOUS_ACTIVE_SESSION.
        """
        if params.session_id is not None:
            if not self.store.exists(params.session_id):
                raise not_found(params.session_id)
            return params.session_id
        entries = self.store.active()
        found = [i for spec, i in entries.items() if params.spec_id in (None, spec)]
        if len(found) > 1:
            found = [session_id for session_id in found if self._is_live(session_id)]
        if len(found) > 1:
            raise RefusedError(
                ErrorCode.AMBIGUOUS_ACTIVE_SESSION,
                "More than one session is live.",
                details={"session_ids": sorted(found)},
            )
        if found and self.store.exists(found[0]):
            return found[0]
        raise no_active_session()

    @contextmanager
    def hold(
        self, params: SessionParams, *, step_id: str | None = None, audited: bool = False
    ) -> Iterator[Held]:
        """Hold the lock of the session that is meant, with the session as it is now.

        Args:
            params: names the session, or leaves it to the lookup.
            step_id: of a report; it finds a session that this report has completed, so that
                it is answered when it comes again.
            audited: read journal and receipts through; what is wrong is warned of and noted.

        Raises:
            RefusedError: there is no such session; SESSION_UNRECOVERABLE when it can't be used,
                GATE_INTEGRITY_CHECKSUM or GATE_AUDIT_FAILURE when it was tampered with.
            LockTimeoutError: somebody else holds it; nothing was changed.
        """
        session_id = self.resolve(params)
        with self.store.session_lock(session_id):
            try:
                loaded = self.store.load(session_id, audited=audited)
            except (StateCorruptError, MigrationError) as error:
                raise unrecoverable(session_id, error) from error
            if loaded is None:
                raise not_found(session_id)
            if params.session_id is None and not _is_found(loaded.state, step_id):
                raise no_active_session()
            held = self._held(loaded)
            held.state = self.policy.adapted(held.state)
            note_session(held.state)
            try:
                yield held
            except RefusedError as error:
                self._remember_expiry(held, error)
                raise

    def _held(self, loaded: Loaded) -> Held:
        """Return the session, with what is wrong beside it noted for its journal."""
        held = Held(loaded.state, list(loaded.warnings), tail=loaded.tail)
        problem, env = loaded.problem, self.env(loaded.state)
        if problem is not None:
            held.state = note_problem(held.state, problem, env.now)
            others = (warning for warning in loaded.warnings if warning != problem)
            held.problems, held.warnings = (problem,), [problem, *others]
        _note_clock(held, env)
        return held

    def _remember_expiry(self, held: Held, refusal: RefusedError) -> None:
        """Keep the time at which something was refused as expired: setting it back helps nobody."""
        env = self.env(held.state)
        if refusal.code in _EXPIRIES and expires_between(held.state, env.now):
            # Where the state can't be written, no report can be accepted either.
            with suppress(RunnerError):
                state = seal(held.state, env, ())
                self.commit(held, Transition(state, {}))

    def live_session(self, spec_id: str | None, *, starting: bool = False) -> str | None:
        """Return the session that holds the spec, whatever became of its index entry.

        Looks into every session, so it is for what happens rarely and must not be fooled. A
        damaged or deleted session counts as live, for its spec or, when nobody knows that, for
        any.

        Args:
            spec_id: the spec; None for any, since all specs of a workspace share its statuses.
            starting: pass over a session that vanished with all its files: a start replaces it.
        """
        entries = self.store.active()  # a damaged index fails closed, also here
        vanished = (
            None  # counts only where no other does: a start that was cut short forgets it late
        )
        for session_id in sorted(self.store.ids()):
            try:
                state = self.store.read(session_id)
            except (StateCorruptError, MigrationError) as error:
                gone = isinstance(error, SessionVanishedError)
                if starting and gone and session_id not in entries.values():
                    continue
                if spec_id is None or self.store.owner_of(session_id) in (None, spec_id):
                    if not gone:
                        return session_id
                    vanished = vanished or session_id
                continue
            fits = state is not None and spec_id in (None, state.spec_id)
            if state is not None and fits and not state.status.is_terminal:
                return session_id
        return vanished

    def commit(self, held: Held, transition: Transition) -> None:
        """Write what a transition made of a held session, if it made anything of it."""
        before = None if held.state is transition.state else held.state
        if transition.changed:
            require_time()
        held.state = transition.state
        if transition.changed:
            committed = self.store.commit(transition.state, held.tail)
            held.state, held.tail = committed.state, None
            note_commit(before, committed.state)
            held.warnings = [*held.problems, *committed.warnings]

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

    def require_spec(self, spec_id: str | None = None, *, fresh: bool = False) -> Spec:
        """Return the spec as `read_spec` does. Raises RefusedError SPEC_NOT_FOUND."""
        spec, problem = self.read_spec(fresh=fresh)
        if spec is None:
            raise RefusedError(ErrorCode.SPEC_NOT_FOUND, problem or "There is no spec.")
        if spec_id not in (None, spec.spec_id):
            raise RefusedError(
                ErrorCode.SPEC_NOT_FOUND,
                f"The workspace has another spec, {spec.spec_id}.",
                hint=f"Use --spec-id {spec.spec_id}, or another --workspace.",
                details={"spec_id": spec.spec_id},
            )
        return spec

    def _is_live(self, session_id: str) -> bool:
        try:
            state = self.store.read(session_id)
        except (StateCorruptError, MigrationError):
            return True
        return state is not None and not state.status.is_terminal


def _note_clock(held: Held, env: Env) -> None:
    """Warn of a clock that went back, and have it noted in the journal once."""
    behind = went_back(held.state, env.clock)
    if behind is not None:
        held.problems, held.warnings = (*held.problems, behind), [*held.warnings, behind]
        if not held.state.clock_is_behind:
            held.state = note_problem(held.state, behind, env.now, "Clock went back")
    if held.state.clock_is_behind is not (behind is not None):
        held.state = held.state.evolve(clock_is_behind=behind is not None)


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
        _code_of(error),
        error.message,
        hint=error.hint,
        details={"session_id": session_id, "failure_reason": failure_reason(error)},
    )


def is_damaged(error: RefusedError) -> bool:
    """Say whether a refusal is about a file that `resume --force` may make anew."""
    reason = error.details.get("failure_reason")
    return error.code is ErrorCode.SESSION_UNRECOVERABLE and reason is FailureReason.STATE_CORRUPT


def _code_of(error: StateCorruptError | MigrationError) -> ErrorCode:
    if isinstance(error, SealBrokenError):
        return ErrorCode.GATE_INTEGRITY_CHECKSUM
    if isinstance(error, AuditError):
        return ErrorCode.GATE_AUDIT_FAILURE
    return ErrorCode.SESSION_UNRECOVERABLE
