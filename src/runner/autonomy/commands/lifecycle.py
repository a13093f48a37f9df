"""start, status, pause, resume, rebase, end and reset (seed 000 «session»)."""

import contextlib
from collections.abc import Callable
from typing import Any, TypeVar

from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.commands.recovery import Recovery
from runner.autonomy.core import (
    CommandAnswer,
    Core,
    Held,
    failure_reason,
    is_damaged,
    no_active_session,
    not_found,
)
from runner.autonomy.engine.lifecycle import (
    ResumeOptions,
    end_session,
    pause_if_stale,
    pause_session,
    resume_session,
)
from runner.autonomy.engine.pausing import stale_reason
from runner.autonomy.engine.rebasing import rebase_session
from runner.autonomy.engine.starting import StartOptions, start_session
from runner.autonomy.engine.transition import Transition
from runner.autonomy.engine.waiving import Justification, audit_start
from runner.autonomy.enums import SessionStatus
from runner.autonomy.migrations import MigrationError
from runner.autonomy.models import Record, SessionLimits, SessionState, WriteLock
from runner.autonomy.params import (
    ReasonParams,
    RebaseParams,
    ResumeParams,
    SessionParams,
    StartParams,
)
from runner.autonomy.spec.structure import Spec
from runner.autonomy.views import resume_context, session_view
from runner.errors import RunnerError, StateCorruptError

R = TypeVar("R", bound=Record)


class LifecycleCommands:
    """The commands that begin, rest, wake and end sessions."""

    def __init__(self, core: Core, recovery: Recovery) -> None:
        self._core = core
        self._recovery = recovery

    def start(self, params: StartParams) -> CommandAnswer:
        """Start a session, or return the one that the same request started before."""
        self._core.policy.check_start(start_options(self._core.defaults, params), params)
        spec = self._startable_spec(params.spec_id)
        with self._core.store.spec_lock(spec.spec_id):
            existing = self._existing(spec.spec_id, params)
            if existing is not None:
                return self._view(Held(existing), created=False)
            started = self._create(self._startable_spec(spec.spec_id), params)
        self._core.store.collect_garbage(self._core.clock())
        return self._view(started, created=True)

    def status(self, params: SessionParams) -> CommandAnswer:
        """Show a session; nothing is written but what a crash left undone."""
        session_id = self._core.resolve(params)
        try:
            loaded = self._core.store.inspect(session_id)
        except (StateCorruptError, MigrationError) as error:
            return self._recovery.show(session_id, error)
        if loaded is None:
            raise not_found(session_id)
        if params.session_id is None and loaded.state.status.is_terminal:
            raise no_active_session()
        return self._view(Held(loaded.state, list(loaded.warnings)))

    def pause(self, params: ReasonParams) -> CommandAnswer:
        """Pause a running session."""
        return self._change(params, lambda s: pause_session(s, self._core.env(s), params.reason))

    def end(self, params: ReasonParams) -> CommandAnswer:
        """End a session for good."""
        return self._change(params, lambda s: end_session(s, self._core.env(s), params.reason))

    def resume(self, params: ResumeParams) -> CommandAnswer:
        """Set a paused session going again, or with force a failed one."""
        options = ResumeOptions(
            force=params.force,
            acknowledge_gate_review=params.acknowledge_gate_review,
            acknowledged_gate_attempt_id=params.acknowledged_gate_attempt_id,
        )

        def resumed(state: SessionState) -> Transition:
            self._core.policy.check_session(state)
            spec, _ = self._core.read_spec(state.spec_id, fresh=True)
            return resume_session(state, spec, options, self._core.env(state))

        return self._change(params, resumed, with_context=True, recover=params.force)

    def rebase(self, params: RebaseParams) -> CommandAnswer:
        """Take over an edited spec."""

        def rebased(state: SessionState) -> Transition:
            self._core.policy.check_session(state)
            self._require_settled(state)
            spec, problem = self._core.read_spec(state.spec_id, fresh=True)
            if spec is None:
                raise RefusedError(ErrorCode.SPEC_NOT_FOUND, problem or "There is no spec.")
            return rebase_session(state, spec, force=params.force, env=self._core.env(state))

        return self._change(params, rebased, with_context=True, recover=params.force)

    def sweep(self) -> dict[str, int]:
        """Pause what has gone stale and remove what has expired; for long-lived servers.

        Sessions that somebody works on are left to them.
        """
        paused = 0
        for session_id in self._core.store.active().values():
            with contextlib.suppress(RunnerError):
                paused += self._pause_if_stale(session_id)
        return {"paused": paused, "removed": self._core.store.collect_garbage(self._core.clock())}

    def _pause_if_stale(self, session_id: str) -> bool:
        state = self._core.store.read(session_id)
        if state is None or stale_reason(state, self._core.env(state).now) is None:
            return False
        with self._core.hold(SessionParams(session_id=session_id)) as held:
            transition = pause_if_stale(held.state, self._core.env(held.state))
            self._core.commit(held, transition)
            return transition.changed

    def _startable_spec(self, spec_id: str | None) -> Spec:
        spec = self._core.require_spec(spec_id, fresh=True)
        if not spec.tasks:
            raise RefusedError(
                ErrorCode.VALIDATION_ERROR,
                "The spec has no deliverables.",
                hint="Plan it first: runner run.",
            )
        return spec

    def _existing(self, spec_id: str, params: StartParams) -> SessionState | None:
        """Return the session that this start already made; end the live one under force."""
        session_id = self._core.live_session(spec_id, starting=True)
        if session_id is None:
            return None
        try:
            state = self._core.store.read(session_id)
        except (StateCorruptError, MigrationError) as error:
            raise _exists(
                session_id,
                hint=error.hint,
                status=SessionStatus.FAILED,
                failure_reason=failure_reason(error),
            ) from error
        if state is None or state.status.is_terminal:
            return None
        if params.idempotency_key is not None and state.idempotency_key == params.idempotency_key:
            return state
        if not params.force:
            raise _exists(session_id, status=state.status, pause_reason=state.pause_reason)
        with self._core.hold(SessionParams(session_id=session_id)) as held:
            if not held.state.status.is_terminal:
                ended = end_session(
                    held.state, self._core.env(held.state), "replaced by a forced start"
                )
                self._core.commit(held, ended)
        return None

    def _create(self, spec: Spec, params: StartParams) -> Held:
        env = self._core.env()
        options = start_options(self._core.defaults, params)
        started = start_session(spec, options, env, lost=self._core.store.vanished())
        why = Justification(params.reason_code, params.reason, self._core.policy.describe())
        started = audit_start(started, why, env)
        held = Held(started.state)
        with self._core.store.session_lock(started.state.id):
            self._core.commit(held, started)
        return held

    def _change(
        self,
        params: SessionParams,
        change: Callable[[SessionState], Transition],
        *,
        with_context: bool = False,
        recover: bool = False,
    ) -> CommandAnswer:
        try:
            with self._core.hold(params, audited=with_context) as held:
                transition = change(held.state)
                self._core.commit(held, transition)
        except RefusedError as error:
            if recover and is_damaged(error):
                return self._recovered(error)
            raise
        answer = self._view(held)
        if with_context:
            answer.data.update(self._context(held.state, transition))
        return answer

    def _context(self, state: SessionState, transition: Transition) -> dict[str, Any]:
        extra = {k: v for k, v in transition.detail.items() if k == "rebase_result"}
        spec, _ = self._core.read_spec(state.spec_id)
        if spec is not None:
            last = transition.detail.get("last_pause_reason")
            extra["resume_context"] = resume_context(self._core, state, spec, last)
        return extra

    def _recovered(self, error: RefusedError) -> CommandAnswer:
        held, spec = self._recovery.remake(error.details["session_id"], error)
        answer = self._view(held)
        answer.data["resume_context"] = resume_context(
            self._core, held.state, spec, "state_corrupt"
        )
        return answer

    def _require_settled(self, state: SessionState) -> None:
        """A rebase believes the statuses in the file, so they must all be written."""
        if state.outbox.changes:
            raise RefusedError(
                ErrorCode.STATE_UNWRITABLE,
                "A deliverable's status could not be written yet.",
                details={"task_ids": [change.task_id for change in state.outbox.changes]},
            )

    def _view(self, held: Held, *, created: bool | None = None) -> CommandAnswer:
        spec, problem = self._core.read_spec(held.state.spec_id)
        data = session_view(
            self._core.policy.adapted(held.state), spec, self._core.env(held.state).now
        )
        if created is not None:
            data["created"] = created
        warnings = (*held.warnings, *((problem,) if problem else ()))
        return CommandAnswer(data, warnings)


def start_options(defaults: StartOptions, params: StartParams) -> StartOptions:
    """Return the defaults with what the caller chose over them.

    Raises:
        RefusedError: VALIDATION_ERROR, the limits contradict each other.
    """
    limits = _limits(defaults.limits, params)
    return StartOptions(
        limits=limits,
        stop_conditions=_over(defaults.stop_conditions, params),
        write_lock=_over(
            defaults.write_lock,
            params,
            enforced=params.enforce_autonomy_write_lock,
            step_proof_ttl_minutes=_proof_minutes(defaults.write_lock, limits, params),
        ),
        gate_policy=params.gate_policy or defaults.gate_policy,
        gates_required=(
            defaults.gates_required if params.gates_required is None else params.gates_required
        ),
        idempotency_key=params.idempotency_key,
    )


def _limits(defaults: SessionLimits, params: StartParams) -> SessionLimits:
    """Return the limits; the first heartbeat is due before a later one would be (seed 000)."""
    limits = _over(defaults, params)
    stale, grace = limits.heartbeat_stale_minutes, limits.heartbeat_grace_minutes
    if grace < stale:
        return limits
    if params.heartbeat_grace_minutes is None:
        return limits.evolve(heartbeat_grace_minutes=max(stale - 1, 1))
    raise RefusedError(
        ErrorCode.VALIDATION_ERROR,
        f"heartbeat_grace_minutes ({grace}) must be less than heartbeat_stale_minutes ({stale}).",
        hint="Lower the grace, or raise the time after which a heartbeat is stale.",
        details={"field": "heartbeat_grace_minutes"},
    )


def _proof_minutes(defaults: WriteLock, limits: SessionLimits, params: StartParams) -> int:
    """Return how long a proof holds: as long as its step may take, unless the caller chose."""
    if params.step_proof_ttl_minutes is not None:
        return params.step_proof_ttl_minutes
    return max(defaults.step_proof_ttl_minutes, limits.step_stale_minutes)


def _over(record: R, params: StartParams, **named: Any) -> R:
    wanted = {name: getattr(params, name, None) for name in type(record).model_fields} | named
    return record.evolve(**{name: value for name, value in wanted.items() if value is not None})


def _exists(session_id: str, *, hint: str | None = None, **details: Any) -> RefusedError:
    return RefusedError(
        ErrorCode.SPEC_SESSION_EXISTS,
        "The spec has a session that is not over.",
        hint=hint,
        details={"session_id": session_id, **details},
    )
