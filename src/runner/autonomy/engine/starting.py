"""Make a session for a spec."""

from dataclasses import dataclass

from runner.autonomy.engine.phases import enter_phase
from runner.autonomy.engine.progress import Progress
from runner.autonomy.engine.transition import Transition, seal
from runner.autonomy.engine.turn import EngineTurn, Env, JournalDraft
from runner.autonomy.enums import EntryType, GatePolicy, TaskStatus
from runner.autonomy.models import (
    Counters,
    LostSession,
    SessionLimits,
    SessionState,
    StopConditions,
    WriteLock,
)
from runner.autonomy.spec.structure import Spec


@dataclass(frozen=True, slots=True)
class StartOptions:
    """What a caller may choose at the start."""

    limits: SessionLimits
    stop_conditions: StopConditions
    write_lock: WriteLock
    gate_policy: GatePolicy
    gates_required: bool = True
    idempotency_key: str | None = None


def start_session(
    spec: Spec,
    options: StartOptions,
    env: Env,
    *,
    session_id: str | None = None,
    after: int = 0,
    lost: tuple[LostSession, ...] = (),
) -> Transition:
    """Return a running session for `spec`; what has passed already counts as completed.

    Args:
        spec: what the session is for.
        options: what the caller chose.
        env: time, ids and key.
        session_id: of a session that is recreated because its file was lost; else None.
        after: the last number in the journal of such a session.
        lost: live sessions that vanished with all their files; this one replaces them.
    """
    passed = tuple(t.id for t in spec.tasks.values() if t.status is TaskStatus.PASSED)
    state = SessionState(
        id=session_id or env.new_id("auto"),
        spec_id=spec.spec_id,
        spec_title=spec.title,
        idempotency_key=options.idempotency_key,
        spec_structure_hash=spec.structure_hash,
        spec_file_mtime=spec.mtime,
        spec_file_size=spec.size,
        created_at=env.now,
        updated_at=env.now,
        counters=Counters(tasks_completed=len(passed)),
        limits=options.limits,
        stop_conditions=options.stop_conditions,
        write_lock=options.write_lock,
        gate_policy=options.gate_policy,
        gates_required=options.gates_required,
        completed_task_ids=passed,
        workflow_structure=spec.structure,
        agreed_commands=spec.commands_by_phase,
        lost_sessions=lost,
        journal_seq=after,
    )
    state = open_first_phase(state, spec, env)
    sealed = seal(state, env, (_started(state), *map(_lost, lost)))
    return Transition(sealed.evolve(state_version=1), {})


def open_first_phase(state: SessionState, spec: Spec, env: Env) -> SessionState:
    """Make the first phase with work the active one; the last phase when none has any."""
    first = Progress.of(state, spec).first_open(state) or (spec.phases or (None,))[-1]
    if first is None:
        return state.evolve(active_phase_id=None)
    return enter_phase(state, first.id, EngineTurn(state=state, spec=spec, env=env))


def _started(state: SessionState) -> JournalDraft:
    content = f"Session {state.id} started with gate_policy={state.gate_policy}"
    data = {"gate_policy": state.gate_policy, "spec_id": state.spec_id}
    return JournalDraft(EntryType.SESSION, "Autonomous session started", content, data)


def _lost(gone: LostSession) -> JournalDraft:
    content = (
        f"Session {gone.session_id} was live, last seen {gone.last_seen_at.isoformat()}, and has "
        "vanished with all its files. Its counters, gates and journal are gone; this session "
        "begins anew in its place."
    )
    return JournalDraft(
        EntryType.SESSION, "Live session lost", content, gone.model_dump(mode="json")
    )
