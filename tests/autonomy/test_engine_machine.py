"""Random walks through the engine, compared with a model of what was acknowledged."""

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.autonomy.kit import Caller, make_spec, with_status

from runner.autonomy.codes import RefusedError
from runner.autonomy.engine.auditing import audit_gates
from runner.autonomy.engine.progress import Progress
from runner.autonomy.enums import StepType, TaskStatus
from runner.autonomy.models import SessionState
from runner.autonomy.spec.structure import Spec

TASKS = ["A", "B", "C", "D"]
SHAPES = [
    {"p1": ["A", "B"], "p2": ["C", "D"]},
    {"p1": ["A", "B", "C", "D"]},
    {"p1": ["A"], "p2": [], "p3": ["B", "C", "D"]},
    {"p1": ["D", "C"], "p2": ["B", "A"]},
]
DEPENDS: list[dict[str, list[str]]] = [{}, {"B": ["A"]}, {"A": ["D"]}, {"C": ["A"], "D": ["C"]}]
COMMANDS: list[dict[str, list[str]]] = [
    {},
    {"p1": ["make"]},
    {"p2": ["make"], "A": ["pytest"]},
    {"p1": ["make one"], "p2": ["make two"], "D": ["pytest"]},
]


class EngineMachine(RuleBasedStateMachine):
    """Every operation a caller has, in any order, with right and wrong arguments."""

    caller: Caller

    @initialize(
        shape=st.sampled_from(SHAPES),
        depends=st.sampled_from(DEPENDS),
        commands=st.sampled_from(COMMANDS),
        policy=st.sampled_from(["strict", "lenient", "manual"]),
        stop=st.booleans(),
        auto_retry=st.booleans(),
        enforced=st.booleans(),
        gates=st.booleans(),
        tasks=st.integers(1, 3),
    )
    def start(self, shape: Any, depends: Any, commands: Any, tasks: int, **options: Any) -> None:
        spec = make_spec(shape, depends=depends, commands=commands)
        limits = {"max_tasks_per_session": tasks, "max_consecutive_errors": 2}
        self.caller = Caller(spec, limits=limits, **options)
        self.shape, self.depends, self.commands = shape, depends, commands
        self.before = self.caller.state
        self.shrunk_allowed = False
        self.acknowledged: set[str] = set(self.caller.state.completed_task_ids)
        self.pauses = 0
        self.green: set[str] = set()
        self.caller.tree = "begun"

    def _attempt(self, operation: Any) -> None:
        """Run an operation; a refusal must leave the state as it was."""
        self.before = before = self.caller.state
        self.shrunk_allowed = False
        entries = len(self.caller.journal)
        ran = before.last_step_issued
        try:
            operation()
        except RefusedError:
            assert self.caller.state == before
            assert len(self.caller.journal) == entries
        self._note_verification(ran)
        if self.caller.state.status == "paused" != before.status:
            self.pauses += 1
        if self.caller.state.status == "completed" != before.status:
            self.completion_means_everything_achievable_and_gated()

    def _note_verification(self, step: Any) -> None:
        """Keep which commands succeeded on the tree as it is."""
        accepted = self.caller.state.last_report
        if step is None or accepted is None or accepted.step_id != step.step_id:
            return
        if step.type is StepType.EXECUTE_VERIFICATION and accepted.outcome == "success":
            self.green |= {command.command for command in step.commands}

    @rule(name=st.sampled_from(["one", "two", None]))
    def change_the_tree(self, name: str | None) -> None:
        """Anything may change the project at any time; None is a tree that nobody can look at."""
        if name != self.caller.tree:
            self.green = set()
        self.caller.tree = name

    @rule(outcome=st.sampled_from(["success", "success", "success", "failure", "skipped"]))
    def report_and_go_on(self, outcome: str) -> None:
        step = self.caller.state.last_step_issued
        if step is None:
            self._attempt(self.caller.next)
        elif step.type is StepType.RUN_FIDELITY_GATE and outcome == "success":
            self.review("pass")
        else:
            self._attempt(lambda: self.caller.next(self.caller.report(outcome)))
        self._note(step, outcome)

    @rule(outcome=st.sampled_from(["success", "failure"]))
    def report_only(self, outcome: str) -> None:
        step = self.caller.state.last_step_issued
        if step is None or step.type is StepType.RUN_FIDELITY_GATE:
            return
        self._attempt(lambda: self.caller.record(self.caller.report(outcome)))
        self._note(step, outcome)

    def _note(self, step: Any, outcome: str) -> None:
        accepted = self.caller.state.last_report
        if step is None or accepted is None or accepted.step_id != step.step_id:
            return
        if step.task_id and outcome == "success":
            self.acknowledged.add(step.task_id)

    @rule(
        verdicts=st.lists(st.sampled_from(["pass", "pass", "warn", "fail"]), max_size=8),
        works=st.booleans(),
    )
    def work_diligently(self, verdicts: list[str], works: bool) -> None:
        """Do what a good caller does for a while: the deep states lie behind that.

        With `works` each deliverable leaves another tree, as work does.
        """
        for verdict in verdicts:
            issued = self.caller.state.last_step_issued
            if works and issued is not None and issued.type is StepType.IMPLEMENT_TASK:
                self.change_the_tree(f"after {issued.step_id}")
            if self.caller.state.status == "paused":
                self.resume(force=False)
            self.heartbeat(10)
            step = self.caller.state.last_step_issued
            if step is not None and step.type is StepType.RUN_FIDELITY_GATE:
                self.review(verdict)
            else:
                self.report_and_go_on("success")
            self.check_now()

    @rule(
        verdict=st.sampled_from(["pass", "warn", "fail"]),
        about=st.sampled_from([(), ("A",), TASKS]),
    )
    def review(self, verdict: str, about: Any = ()) -> None:
        step = self.caller.state.last_step_issued
        if step is not None and step.type is StepType.RUN_FIDELITY_GATE:
            report = self.caller.review(verdict, about=about)
            self._attempt(lambda: self.caller.next(report))

    @rule()
    def next_without_report(self) -> None:
        self._attempt(self.caller.next)

    @rule(forged=st.sampled_from(["stp_forged", None]))
    def forge(self, forged: str | None) -> None:
        state = self.caller.state
        if state.last_step_issued is None or not state.write_lock.enforced:
            return
        self._attempt(lambda: self.caller.next(self.caller.report(step_proof=forged)))
        assert self.caller.state == state

    @rule(percent=st.sampled_from([10, 90]))
    def heartbeat(self, percent: int) -> None:
        self._attempt(lambda: self.caller.heartbeat(percent))

    @rule(minutes=st.sampled_from([1, 4, 12, 70]))
    def wait(self, minutes: int) -> None:
        self.caller.wait(minutes=minutes)

    @rule()
    def pause(self) -> None:
        self._attempt(self.caller.pause)

    @rule(force=st.booleans())
    def resume(self, force: bool) -> None:
        ack = self.caller.state.pending_manual_gate_ack
        options: dict[str, Any] = {"force": force}
        if ack is not None:
            options |= {
                "acknowledge_gate_review": True,
                "acknowledged_gate_attempt_id": ack.gate_attempt_id,
            }
        self._attempt(lambda: self.caller.resume(**options))

    @rule(
        task_id=st.sampled_from(TASKS),
        status=st.sampled_from(list(TaskStatus)),
        reason=st.sampled_from([None, "no database"]),
    )
    def edit_status(self, task_id: str, status: TaskStatus, reason: str | None) -> None:
        spec = self.caller.spec
        if spec is not None and task_id in spec.tasks:
            claim = reason if status is TaskStatus.BLOCKED else None
            self.caller.spec = with_status(spec, task_id, status, reason=claim)

    @precondition(lambda self: self.caller.state.state_version > 8)
    @rule(shape=st.sampled_from(SHAPES))
    def edit_structure(self, shape: Any) -> None:
        self.shape = shape
        self.caller.spec = self._spec()

    @precondition(lambda self: self.caller.state.state_version > 8)
    @rule()
    def lose_the_spec(self) -> None:
        self.caller.spec = None

    @rule(force=st.booleans())
    def rebase(self, force: bool) -> None:
        spec = self.caller.spec or self._spec()
        self.caller.spec = spec
        self._attempt(lambda: self.caller.rebase(spec, force=force))
        if self.caller.state.state_version != self.before.state_version:
            self.shrunk_allowed = True
            self.acknowledged &= set(self.caller.state.completed_task_ids)
            self.acknowledged |= set(self.caller.state.completed_task_ids)

    @precondition(lambda self: self.caller.state.state_version > 12)
    @rule()
    def end(self) -> None:
        self._attempt(self.caller.end)

    def _spec(self) -> Spec:
        done = self.caller.state.completed_task_ids
        made = make_spec(self.shape, depends=self.depends, commands=self.commands, passed=done)
        count = float(self.caller.state.state_version + len(self.caller.journal))
        object.__setattr__(made, "mtime", 1000.0 + count)
        return made

    def check_now(self) -> None:
        self.acknowledged_work_is_completed_and_counted()
        self.completed_work_only_shrinks_in_a_rebase()
        self.every_pause_has_one_journal_entry()
        self.flags_agree_with_the_status()

    @property
    def state(self) -> SessionState:
        return self.caller.state

    @invariant()
    def acknowledged_work_is_completed_and_counted(self) -> None:
        assert set(self.state.completed_task_ids) == self.acknowledged
        assert len(self.state.completed_task_ids) == self.state.counters.tasks_completed

    @invariant()
    def completed_work_only_shrinks_in_a_rebase(self) -> None:
        if not self.shrunk_allowed:
            assert set(self.before.completed_task_ids) <= set(self.state.completed_task_ids)

    @invariant()
    def the_version_grows_with_every_change(self) -> None:
        if self.state != self.before and self.state.pending_gate_evidence is None:
            assert self.state.state_version >= self.before.state_version

    @invariant()
    def terminal_is_terminal(self) -> None:
        if self.before.status.is_terminal:
            assert self.state == self.before

    @invariant()
    def every_pause_has_one_journal_entry(self) -> None:
        assert self.caller.titles().count("Session paused") == self.pauses

    @invariant()
    def journal_entries_are_numbered_without_gaps(self) -> None:
        numbers = [entry.seq for entry in self.caller.journal]
        assert numbers == list(range(1, self.state.journal_seq + 1))

    @invariant()
    def flags_agree_with_the_status(self) -> None:
        state = self.state
        assert state.lifecycle.paused == (state.status == "paused")
        assert (state.pause_reason is not None) == (state.status == "paused")
        assert (state.failure_reason is not None) == (state.status == "failed")
        assert state.lifecycle.completed == (state.status == "completed")

    @invariant()
    def every_state_that_can_be_reached_passes_the_audit(self) -> None:
        assert audit_gates(self.state) is None

    @invariant()
    def the_active_phase_is_one_of_the_structure(self) -> None:
        known = {shape.id for shape in self.state.workflow_structure.phases}
        assert self.state.active_phase_id in known

    @invariant()
    def an_outstanding_step_is_proven_while_the_lock_is_enforced(self) -> None:
        step, proof = self.state.last_step_issued, self.state.pending_step_proof
        if step is not None and self.state.write_lock.enforced:
            assert proof is not None
            assert proof.step_id == step.step_id

    def completion_means_everything_achievable_and_gated(self) -> None:
        state, spec = self.state, self.caller.spec
        assert spec is not None
        settled = set(state.completed_task_ids) | set(state.skipped_task_ids)
        settled |= Progress.of(state, spec).unreachable
        left = [
            t.id
            for t in spec.tasks.values()
            if (t.id not in settled and t.status is not TaskStatus.BLOCKED)
            or (t.id in state.skipped_task_ids and t.status is TaskStatus.PENDING)
        ]
        assert left == []
        assert state.completed_task_ids
        for phase in spec.phases:
            if any(t.id in state.completed_task_ids for t in phase.tasks):
                assert state.gate(phase.id).is_satisfied
        if self.caller.tree is not None:
            self.all_commands_succeeded_on_this_tree(state, spec)

    def all_commands_succeeded_on_this_tree(self, state: SessionState, spec: Spec) -> None:
        for phase in spec.phases:
            if state.gate(phase.id).verification_skipped:
                continue
            for task in phase.tasks:
                if task.id in state.completed_task_ids:
                    assert set(task.verification) <= self.green
            if any(task.id in state.completed_task_ids for task in phase.tasks):
                assert set(phase.verification) <= self.green

    @invariant()
    def a_state_survives_its_file(self) -> None:
        text = self.state.model_dump_json(by_alias=True)
        assert SessionState.model_validate_json(text) == self.state


TestEngineMachine = EngineMachine.TestCase
TestEngineMachine.settings = settings(
    max_examples=60, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)


@pytest.mark.storm
@pytest.mark.timeout(4 * 3600)
@pytest.mark.skipif(not os.environ.get("RUNNER_STORM"), reason="a long run: make storm")
def test_ten_thousand_walks() -> None:
    run_state_machine_as_test(
        EngineMachine,
        settings=settings(
            max_examples=10_000,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
