"""A small world for engine tests: a spec from a few words, a clock that tests move, a caller."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from runner.autonomy.codes import RefusedError
from runner.autonomy.engine.gates import mint_evidence
from runner.autonomy.engine.lifecycle import (
    Heartbeat,
    ResumeOptions,
    beat,
    end_session,
    pause_session,
    resume_session,
)
from runner.autonomy.engine.rebasing import rebase_session
from runner.autonomy.engine.starting import StartOptions, start_session
from runner.autonomy.engine.stepping import next_step, record_report
from runner.autonomy.engine.transition import Transition
from runner.autonomy.engine.turn import Env
from runner.autonomy.enums import (
    GatePolicy,
    GateVerdict,
    StepOutcome,
    StepType,
    TaskStatus,
)
from runner.autonomy.inputs import CommandResult, Receipt, StepReport
from runner.autonomy.models import (
    GateFinding,
    JournalEntry,
    Outbox,
    SessionLimits,
    SessionState,
    StopConditions,
    TaskChange,
    WriteLock,
)
from runner.autonomy.spec.structure import Spec, SpecPhase, SpecTask
from runner.autonomy.tokens import proof_token_of

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
KEY = b"k" * 32
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def make_spec(
    phases: Mapping[str, Sequence[str]],
    *,
    blocked: Sequence[str] = (),
    passed: Sequence[str] = (),
    depends: Mapping[str, Sequence[str]] | None = None,
    commands: Mapping[str, Sequence[str]] | None = None,
    reasons: Mapping[str, str] | None = None,
) -> Spec:
    """Build a spec: phase id → deliverable ids; `commands` by phase or deliverable id.

    `reasons` are those of blocked deliverables.
    """
    depends, commands, reasons = depends or {}, commands or {}, reasons or {}

    def status(task_id: str) -> TaskStatus:
        if task_id in blocked or task_id in reasons:
            return TaskStatus.BLOCKED
        return TaskStatus.PASSED if task_id in passed else TaskStatus.PENDING

    def phase(phase_id: str, task_ids: Sequence[str]) -> SpecPhase:
        tasks = tuple(
            SpecTask(
                id=task_id,
                title=f"Title of {task_id}",
                phase_id=phase_id,
                status=status(task_id),
                depends_on=tuple(depends.get(task_id, ())),
                verification=tuple(commands.get(task_id, ())),
                block_reason=reasons.get(task_id),
            )
            for task_id in task_ids
        )
        verification = tuple(commands.get(phase_id, ()))
        return SpecPhase(id=phase_id, title=phase_id, tasks=tasks, verification=verification)

    built = tuple(phase(phase_id, task_ids) for phase_id, task_ids in phases.items())
    return Spec(spec_id="demo", title="Demo", phases=built, mtime=1.0, size=1)


def with_status(spec: Spec, task_id: str, status: TaskStatus, *, reason: str | None = None) -> Spec:
    """Return `spec` with one deliverable's status changed, as an edit of the file."""
    phases = tuple(
        replace(
            phase,
            tasks=tuple(
                replace(t, status=status, block_reason=reason) if t.id == task_id else t
                for t in phase.tasks
            ),
        )
        for phase in spec.phases
    )
    return replace(spec, phases=phases, mtime=spec.mtime + 1)


class Caller:
    """One caller of the engine and the session it drives.

    `apply` does what the service does: keeps the new state, empties its outbox into
    `journal`, and applies the deliverable changes to the spec.
    """

    def __init__(self, spec: Spec, **options: Any) -> None:
        self.spec: Spec | None = spec
        self.now = START
        self.journal: list[JournalEntry] = []
        self.changes: list[TaskChange] = []
        self._count = 0
        self.tree: str | None = None
        self.state = self.apply(start_session(spec, start_options(**options), self.env))
        self.data: dict[str, Any] = {}

    @property
    def env(self) -> Env:
        return Env(now=self.now, new_id=self._new_id, key=KEY, tree=self.tree)

    def apply(self, transition: Transition) -> SessionState:
        state = transition.state
        self.journal += state.outbox.entries
        self.changes += state.outbox.changes
        for change in state.outbox.changes:
            if self.spec is not None and change.task_id in self.spec.tasks:
                self.spec = with_status(
                    self.spec, change.task_id, change.status, reason=change.reason
                )
        self.state = state.evolve(outbox=Outbox())
        self.data = transition.data
        return self.state

    def apply_status(self, task_id: str, status: TaskStatus, reason: str | None = None) -> None:
        """Change a deliverable in the spec, as a protected change of the step does."""
        assert self.spec is not None
        self.spec = with_status(self.spec, task_id, status, reason=reason)

    def wait(self, **span: float) -> None:
        self.now += timedelta(**span)

    def next(self, report: StepReport | None = None) -> dict[str, Any] | None:
        """Ask for the next step and return it, None where there is none."""
        self.apply(next_step(self.state, self.spec, report, self.env))
        step: dict[str, Any] | None = self.data["next_step"]
        return step

    def next_type(self, report: StepReport | None = None) -> str | None:
        step = self.next(report)
        return None if step is None else step["type"]

    def record(self, report: StepReport) -> None:
        self.apply(record_report(self.state, self.spec, report, self.env))

    def report(self, outcome: str = "success", **fields: Any) -> StepReport:
        """Make a valid report on the outstanding step, `fields` over it."""
        step = self.state.last_step_issued
        assert step is not None
        proof = self.state.pending_step_proof
        values: dict[str, Any] = {
            "step_id": step.step_id,
            "step_type": step.type,
            "task_id": step.task_id,
            "phase_id": step.phase_id,
            "outcome": StepOutcome(outcome),
            "step_proof": proof_token_of(KEY, self.state, proof) if proof else None,
        }
        if step.type is StepType.EXECUTE_VERIFICATION and outcome == "success":
            values["verification_receipt"] = self.receipt()
        return StepReport(**(values | fields))

    def receipt(self, **fields: Any) -> Receipt:
        step = self.state.last_step_issued
        assert step is not None
        results = tuple(
            CommandResult(command_hash=c.command_hash, exit_code=0, output_digest=digest("out"))
            for c in step.commands
        )
        values: dict[str, Any] = {
            "step_id": step.step_id,
            "issued_at": self.now,
            "results": results,
        }
        return Receipt(**(values | fields))

    def review(self, verdict: str = "pass", *, about: Sequence[str | None] = ()) -> StepReport:
        """Have the outstanding gate step reviewed, and make the report with its evidence.

        Each entry of `about` is a finding that names this deliverable.
        """
        step = self.state.last_step_issued
        assert step is not None
        evidence, token = mint_evidence(
            self.state,
            self.env,
            phase_id=step.phase_id,
            step_id=step.step_id,
            verdict=GateVerdict(verdict),
            findings=[
                GateFinding(severity="major", title="It is wrong.", deliverable_id=task_id)
                for task_id in about
            ],
        )
        self.state = self.state.evolve(pending_gate_evidence=evidence)
        return self.report(gate_attempt_id=evidence.gate_attempt_id, gate_evidence_token=token)

    def succeed(self) -> dict[str, Any] | None:
        """Report success on whatever is outstanding, and return the next step."""
        step = self.state.last_step_issued
        assert step is not None
        return self.next(
            self.review() if step.type is StepType.RUN_FIDELITY_GATE else self.report()
        )

    def succeed_until(self, step_type: str) -> dict[str, Any]:
        """Go on from step to step until one of `step_type` is outstanding or answered."""
        step = self.next() if self.state.last_step_issued is None else self.data["next_step"]
        while step is not None and step["type"] != step_type:
            step = self.succeed()
        assert step is not None
        return step

    def pause(self) -> None:
        self.apply(pause_session(self.state, self.env))

    def resume(self, **options: Any) -> None:
        self.apply(resume_session(self.state, self.spec, ResumeOptions(**options), self.env))

    def rebase(self, spec: Spec, *, force: bool = False) -> Transition:
        self.spec = spec
        transition = rebase_session(self.state, spec, force=force, env=self.env)
        self.apply(transition)
        return transition

    def end(self) -> None:
        self.apply(end_session(self.state, self.env))

    def heartbeat(self, percent: int = 10, **fields: int) -> RefusedError | None:
        """Give a sign of life; return what it is refused with, None when it counts."""
        transition = beat(self.state, Heartbeat(percent, **fields), self.env)
        self.apply(transition)
        return transition.refusal

    def titles(self) -> list[str]:
        return [entry.title for entry in self.journal]

    def _new_id(self, prefix: str) -> str:
        self._count += 1
        digits, rest = "", self._count
        while rest:
            rest, digit = divmod(rest, len(_ALPHABET))
            digits = _ALPHABET[digit] + digits
        return f"{prefix}_{digits:0>26}"


def start_options(
    *,
    limits: Mapping[str, int] | None = None,
    stop: bool = False,
    auto_retry: bool = True,
    enforced: bool = True,
    policy: str = "strict",
    gates: bool = True,
    proof_ttl: int = 15,
) -> StartOptions:
    return StartOptions(
        limits=SessionLimits(**(limits or {})),
        stop_conditions=StopConditions(
            stop_on_phase_completion=stop, auto_retry_fidelity_gate=auto_retry
        ),
        write_lock=WriteLock(enforced=enforced, step_proof_ttl_minutes=proof_ttl),
        gate_policy=GatePolicy(policy),
        gates_required=gates,
    )


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
