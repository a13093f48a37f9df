"""`runner run` as the control plane's caller: what is stepped, reported and refused."""

from pathlib import Path

import anyio
import pytest
from tests.loop.bench import Bench
from tests.loop.fakes import COMPLETED, FAILED, FakeSession, deliverable

from runner.deliverables.model import Phase, Status
from runner.deliverables.review import Verdict
from runner.events import ExitReason, Notice, SessionResult, SessionStarted, StatusChanged
from runner.loop.termination import RunLimits
from runner.marker import Instruction, PromptMarker

pytestmark = pytest.mark.anyio

CHECK = ("make check",)


async def test_a_phase_is_implemented_verified_and_reviewed_in_this_order(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.plan.put(deliverable(1, verification=CHECK))
    await bench.execute()
    assert [step.split()[0] for step in bench.checkpoints.steps] == [
        "implement_task",
        "execute_verification",
        "run_fidelity_gate",
    ]


async def test_each_phase_is_closed_before_the_next_begins(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.plan.put(deliverable(1, phase="one"), deliverable(2, phase="two"))
    await bench.execute()
    assert bench.instructions() == ["coding D-001", "review", "coding D-002", "review"]
    assert bench.checkpoints.phases == ["one", "two"]


async def test_the_result_names_the_session_its_signal_and_its_gates(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.plan.put(deliverable(1))
    await bench.execute()
    assert bench.details["session_id"].startswith("auto_")
    assert bench.details["loop_signal"] == "spec_complete"
    assert bench.details["gates"] == [{"phase_id": "phase-1", "verdict": "pass", "cycles": 1}]


async def test_a_status_is_written_when_the_control_plane_has_the_report(tmp_path: Path) -> None:
    class Late(Bench):
        seen: tuple[str, ...] = ()

        async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
            result = await super().work(session, marker)
            if marker.instruction is Instruction.CODING:
                self.seen = tuple(self.plan.passed())
            return result

    bench = Late(tmp_path)
    bench.plan.put(deliverable(1))
    await bench.execute()
    assert (bench.seen, bench.plan.passed()) == ((), ["D-001"])


async def test_people_are_told_of_a_status_once(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.plan.put(deliverable(1))
    await bench.execute()
    told = [(e.deliverable_id, e.status) for e in bench.events if isinstance(e, StatusChanged)]
    assert told == [("D-001", "passed")]


class Wavering(Bench):
    """Its agent says passed, then pending, and again, and ends with `last`."""

    last = Status.PASSED

    async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
        if marker.task and len(self.factory.prompts) == 1:
            words = (Status.PASSED, Status.PENDING, Status.PASSED, Status.PENDING, self.last)
            for word in words:
                self.plan.set(marker.task, word)
            return COMPLETED
        return await super().work(session, marker)


async def test_an_agents_last_word_counts(tmp_path: Path) -> None:
    bench = Wavering(tmp_path)
    bench.plan.put(deliverable(1))
    await bench.execute()
    assert bench.instructions() == ["coding D-001", "review"]


async def test_what_was_taken_back_is_not_passed(tmp_path: Path) -> None:
    bench = Wavering(tmp_path)
    bench.last = Status.PENDING
    bench.plan.put(deliverable(1))
    await bench.execute()
    assert bench.instructions() == ["coding D-001", "coding D-001", "review"]


class Blocking(Bench):
    """Its agent blocks D-001."""

    async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
        if marker.task == "D-001":
            self.plan.set("D-001", Status.BLOCKED)
            return COMPLETED
        return await super().work(session, marker)


async def test_blocked_work_is_left_out_and_the_rest_goes_on(tmp_path: Path) -> None:
    bench = Blocking(tmp_path)
    bench.plan.put(deliverable(1), deliverable(2))
    result = await bench.execute()
    assert (result.exit_reason, result.blocked_ids) == (ExitReason.PARTLY_PASSED, ("D-001",))
    assert bench.instructions() == ["coding D-001", "coding D-002", "review"]


async def test_a_run_in_which_everything_gets_blocked_needs_a_person(tmp_path: Path) -> None:
    bench = Blocking(tmp_path)
    bench.plan.put(deliverable(1))
    result = await bench.execute()
    assert result.exit_reason is ExitReason.ALL_BLOCKED
    assert bench.details["pause_reason"] == "blocked"


async def test_work_that_waits_for_blocked_work_needs_a_person(tmp_path: Path) -> None:
    bench = Blocking(tmp_path)
    bench.plan.put(deliverable(1), deliverable(2, needs=("D-001",)))
    result = await bench.execute()
    assert result.exit_reason is ExitReason.ALL_BLOCKED
    assert "D-002 waits for D-001" in result.message


async def test_a_failing_verification_is_mended_and_run_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.plan.put(deliverable(1, verification=CHECK))
    bench.judges.exit_codes = [1, 1, 0]
    result = await bench.execute()
    assert result.exit_reason is ExitReason.ALL_PASSED
    assert bench.instructions() == ["coding D-001", "remediate", "remediate", "review"]


async def test_a_mending_session_is_told_the_command_and_its_output(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.plan.put(deliverable(1, verification=CHECK))
    bench.judges.exit_codes = [1]
    await bench.execute()
    assert "`make check` failed (exit code 1)" in bench.factory.prompts[1]
    assert "~~~~ output\nsaid\n~~~~" in bench.factory.prompts[1]


async def test_a_verification_that_is_never_mended_needs_a_person(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.plan.put(deliverable(1, verification=CHECK))
    bench.judges.exit_codes = [1] * 20
    result = await bench.execute()
    assert (result.exit_reason, len(bench.judges.verified)) == (ExitReason.PAUSED, 9)
    assert bench.details["pause_reason"] == "error_threshold"


async def test_a_failed_review_is_mended_verified_and_reviewed_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.plan.put(deliverable(1, verification=CHECK))
    bench.judges.verdicts = [Verdict.FAIL]
    await bench.execute()
    assert bench.instructions() == ["coding D-001", "review", "remediate", "review"]
    assert len(bench.judges.verified) == 2
    assert bench.details["gates"] == [{"phase_id": "phase-1", "verdict": "pass", "cycles": 2}]


async def test_who_mends_a_review_is_told_its_findings(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.plan.put(deliverable(1))
    bench.judges.verdicts = [Verdict.FAIL]
    await bench.execute()
    assert "1. major: It lies\n\n~~~~ finding\nSee there.\n~~~~" in bench.factory.prompts[2]


async def test_reviews_that_keep_failing_need_a_person(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.plan.put(deliverable(1))
    bench.judges.verdicts = [Verdict.FAIL] * 9
    result = await bench.execute()
    assert (result.exit_reason, bench.details["pause_reason"]) == (
        ExitReason.PAUSED,
        "fidelity_cycle_limit",
    )


class Silent(Bench):
    """Its reviewers submit nothing."""

    async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
        if marker.instruction is Instruction.REVIEW:
            return COMPLETED
        return await super().work(session, marker)


async def test_a_review_without_a_verdict_is_never_a_pass(tmp_path: Path) -> None:
    bench = Silent(tmp_path)
    bench.plan.put(deliverable(1))
    result = await bench.execute()
    assert (result.exit_reason, bench.details["gates"]) == (ExitReason.PAUSED, [])


async def test_a_review_that_can_not_compare_is_never_a_pass(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.plan.put(deliverable(1))
    bench.judges.has_no_diff = True
    result = await bench.execute()
    assert (result.exit_reason, bench.details["gates"]) == (ExitReason.PAUSED, [])
    assert bench.instructions() == ["coding D-001"]


async def test_the_project_is_kept_before_a_session_plans(tmp_path: Path) -> None:
    class Planning(Bench):
        kept_before: int | None = None

        async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
            if marker.instruction is Instruction.INITIALIZER:
                self.kept_before = self.checkpoints.plannings
                self.plan.put(deliverable(1))
            return await super().work(session, marker)

    bench = Planning(tmp_path)
    await bench.execute()
    assert bench.kept_before == 1


async def test_reviews_are_no_iterations(tmp_path: Path) -> None:
    bench = Bench(tmp_path, RunLimits(max_iterations=1))
    bench.plan.put(deliverable(1))
    result = await bench.execute()
    assert (result.exit_reason, result.iterations, result.agent_sessions) == (
        ExitReason.ALL_PASSED,
        1,
        2,
    )


async def test_a_review_is_briefed_about_its_phase(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.plan.put(deliverable(1))
    await bench.execute()
    assert "The diff of phase-1." in bench.factory.prompts[-1]


async def test_without_gates_a_phase_is_verified_and_not_reviewed(tmp_path: Path) -> None:
    bench = Bench(tmp_path, start={"gates_required": False})
    bench.plan.put(deliverable(1, verification=CHECK))
    result = await bench.execute()
    assert (result.exit_reason, bench.instructions()) == (ExitReason.ALL_PASSED, ["coding D-001"])
    assert len(bench.judges.verified) == 1


async def test_without_gates_and_commands_the_end_says_that_nothing_was_proved(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path, start={"gates_required": False})
    bench.plan.put(deliverable(1))
    result = await bench.execute()
    assert result.exit_reason is ExitReason.ALL_PASSED
    assert result.message == (
        "All achievable deliverables passed, but nothing was proved: nobody has verified or "
        "reviewed 1 deliverable in phase-1"
    )
    assert "What their agents claim is all there is" in (result.hint or "")


@pytest.mark.parametrize("gates", [True, False])
async def test_what_was_verified_or_reviewed_is_not_said_to_be_unproved(
    tmp_path: Path, *, gates: bool
) -> None:
    bench = Bench(tmp_path, start={"gates_required": gates})
    bench.plan.put(deliverable(1, verification=() if gates else CHECK))
    result = await bench.execute()
    reviewed = "No verification command was run for phase-1: closed by review alone."
    hint = reviewed if gates else None
    assert (result.message, result.hint) == ("All achievable deliverables passed", hint)


async def test_a_run_says_before_any_work_which_phases_no_command_covers(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.plan.put(deliverable(1))
    await bench.execute()
    warned = [event for event in bench.events if isinstance(event, Notice)]
    assert warned[0].message.startswith("No verification command covers phase-1: ")


@pytest.mark.parametrize("seconds", [3600.0, 3 * 24 * 3600.0])
async def test_a_clock_that_is_put_right_while_an_agent_works_costs_a_step_and_not_the_run(
    tmp_path: Path, seconds: float
) -> None:
    class PutRight(Bench):
        async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
            if marker.task == "D-001" and self.ahead_of_clock:
                self.ahead_of_clock = 0.0
            return await super().work(session, marker)

    bench = PutRight(tmp_path)
    bench.ahead_of_clock = seconds
    bench.plan.put(deliverable(1), deliverable(2))
    result = await bench.execute()
    assert result.exit_reason is ExitReason.ALL_PASSED
    events = bench.ask("session", "events", session_id=bench.details["session_id"], limit=50)
    assert "Clock went back" in [event["title"] for event in events["events"]]


async def test_no_prompt_carries_the_proof_of_its_step(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.plan.put(deliverable(1))
    bench.judges.verdicts = [Verdict.FAIL]
    await bench.execute()
    assert not [prompt for prompt in bench.factory.prompts if "stp_" in prompt or "gev_" in prompt]


async def test_each_prompt_names_its_step(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.plan.put(deliverable(1))
    await bench.execute()
    assert all((marker.step or "").startswith("step_") for marker in bench.factory.markers)


async def test_a_crashed_session_is_tried_again_within_its_step(tmp_path: Path) -> None:
    class Crashing(Bench):
        async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
            if len(self.factory.prompts) < 3:
                return FAILED
            return await super().work(session, marker)

    bench = Crashing(tmp_path)
    bench.plan.put(deliverable(1))
    await bench.execute()
    steps = {m.step for m in bench.factory.markers if m.instruction is Instruction.CODING}
    assert (bench.instructions()[:3], len(steps)) == (["coding D-001"] * 3, 1)


async def test_phases_that_the_plan_lists_are_gone_over_without_stopping(tmp_path: Path) -> None:
    bench = Bench(tmp_path, start={"stop_on_phase_completion": True})
    bench.plan.put(
        deliverable(1, phase="one"),
        deliverable(2, phase="two"),
        phases=(Phase("one", "First"), Phase("two", "Second")),
    )
    assert (await bench.execute()).exit_reason is ExitReason.ALL_PASSED


async def test_a_run_for_one_phase_ends_where_it_does(tmp_path: Path) -> None:
    bench = Bench(tmp_path, one_phase=True, start={"stop_on_phase_completion": True})
    bench.plan.put(deliverable(1, phase="one"), deliverable(2, phase="two"))
    result = await bench.execute()
    assert (result.exit_reason, bench.details["loop_signal"]) == (
        ExitReason.PHASE_COMPLETE,
        "phase_complete",
    )
    assert bench.plan.passed() == ["D-001"]


async def test_under_the_manual_policy_a_person_decides(tmp_path: Path) -> None:
    bench = Bench(tmp_path, start={"gate_policy": "manual"})
    bench.plan.put(deliverable(1))
    result = await bench.execute()
    assert result.exit_reason is ExitReason.PAUSED
    assert "--acknowledge-gate-review" in str(result.hint)


@pytest.mark.parametrize(
    ("code", "signal", "reason"),
    [
        ("AUTHORIZATION", "blocked_runtime", ExitReason.BLOCKED_RUNTIME),
        ("GATE_INTEGRITY_CHECKSUM", "blocked_runtime", ExitReason.BLOCKED_RUNTIME),
        ("LOCK_TIMEOUT", None, ExitReason.ERROR),
    ],
)
@pytest.mark.parametrize("request_", [("session", "start"), ("step", "next"), ("review", "gate")])
async def test_a_refusal_ends_the_run_with_its_signal_and_what_to_do(
    tmp_path: Path,
    code: str,
    signal: str | None,
    reason: ExitReason,
    request_: tuple[str, str],
) -> None:
    bench = Bench(tmp_path)
    bench.plan.put(deliverable(1))
    bench.mortal.refusals[request_] = {
        "error_code": code,
        "loop_signal": signal,
        "remediation": "Ask somebody.",
    }
    result = await bench.execute()
    assert (result.exit_reason, result.hint) == (reason, "Ask somebody.")
    assert bench.details.get("loop_signal") == signal


async def test_heartbeats_carry_what_the_running_agent_measures(tmp_path: Path) -> None:
    class Waiting(Bench):
        seen = 0

        async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
            if marker.task:
                for _ in range(2000):
                    self.seen = self.ask("session", "status")["context_usage_pct"]
                    if self.seen:
                        break
                    await anyio.sleep(0.01)
            return await super().work(session, marker)

    bench = Waiting(tmp_path, beat_seconds=0.01)
    bench.plan.put(deliverable(1))
    await bench.execute()
    assert bench.seen == 40


@pytest.mark.parametrize("beat_seconds", [0.01, 30.0])
async def test_a_machine_that_was_suspended_while_an_agent_worked_goes_on(
    tmp_path: Path, beat_seconds: float
) -> None:
    class Suspended(Bench):
        async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
            if marker.task == "D-001" and not self.ahead_of_clock:
                self.ahead_of_clock = 3 * 3600.0
                await anyio.sleep(0.2)  # where beats are frequent, the late ones are refused now
            return await super().work(session, marker)

    bench = Suspended(tmp_path, beat_seconds=beat_seconds)
    bench.plan.put(deliverable(1), deliverable(2))
    result = await bench.execute()
    assert result.exit_reason is ExitReason.ALL_PASSED
    events = bench.ask("session", "events", session_id=bench.details["session_id"], limit=50)
    reasons = [event["data"].get("pause_reason") for event in events["events"]]
    assert "heartbeat_stale" in reasons


async def test_an_agent_that_fills_its_context_is_followed_by_a_fresh_one(tmp_path: Path) -> None:
    class Full(Bench):
        async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
            if marker.task:
                self.ask("step", "heartbeat", context_usage_pct=99)
            return await super().work(session, marker)

    bench = Full(tmp_path)
    bench.plan.put(deliverable(1), deliverable(2))
    assert (await bench.execute()).exit_reason is ExitReason.ALL_PASSED


async def test_the_command_that_a_person_needs_stands_on_a_line_of_its_own(tmp_path: Path) -> None:
    bench = Bench(tmp_path, start={"gate_policy": "manual"})
    bench.plan.put(deliverable(1))
    result = await bench.execute()
    *_, command, then = str(result.hint).splitlines()
    assert command.startswith("  runner session resume --session-id auto_")
    assert then == "Then `runner run` goes on from here."


async def test_the_end_tells_how_the_phases_stand(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.plan.put(deliverable(1, verification=CHECK))
    await bench.execute()
    (row,) = bench.details["phases"]
    assert (row["phase_id"], row["tasks_completed"], row["gate_status"]) == ("phase-1", 1, "passed")
    assert row["receipt_hash"].startswith("sha256:")


async def test_a_session_names_the_phase_that_it_works_in(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.plan.put(deliverable(1))
    await bench.execute()
    started = [event for event in bench.events if isinstance(event, SessionStarted)]
    assert [event.phase_id for event in started] == ["phase-1", "phase-1"]


class Loosening(Bench):
    """Its agent swaps the command that its work is verified by."""

    async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
        if marker.instruction is Instruction.CODING:
            path = self.folder / ".runner" / "status.json"
            path.write_text(path.read_text().replace(CHECK[0], "true"))
        return await super().work(session, marker)


async def test_a_reviewer_is_told_of_changed_verification_commands(tmp_path: Path) -> None:
    bench = Loosening(tmp_path)
    bench.plan.put(deliverable(1, verification=CHECK))
    await bench.execute()
    assert bench.judges.changed_commands == {
        "phase_id": "phase-1",
        "was": ["make check"],
        "is": ["true"],
    }


async def test_people_are_told_of_changed_verification_commands(tmp_path: Path) -> None:
    bench = Loosening(tmp_path)
    bench.plan.put(deliverable(1, verification=CHECK))
    await bench.execute()
    told = [event.message for event in bench.events if isinstance(event, Notice)]
    assert any("they are `true`" in message for message in told)
