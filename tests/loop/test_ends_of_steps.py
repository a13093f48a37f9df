"""How a stepped run ends where nothing is left to step, or nothing may be stepped."""

from pathlib import Path

import pytest
from tests.loop.bench import SPEC_ID, Bench
from tests.loop.fakes import COMPLETED, FakeSession, deliverable

from runner.autonomy.client import SessionAnswer
from runner.deliverables.model import Status
from runner.deliverables.review import Verdict
from runner.events import ExitReason, Notice, SessionResult
from runner.loop.endings import ending_of
from runner.marker import Instruction, PromptMarker

pytestmark = pytest.mark.anyio


async def test_options_that_are_refused_cost_no_plan(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.mortal.refusals["session", "start"] = {
        "error_code": "AUTHORIZATION",
        "loop_signal": "blocked_runtime",
    }
    result = await bench.execute()
    assert (result.exit_reason, bench.instructions()) == (ExitReason.BLOCKED_RUNTIME, [])


async def test_one_phase_also_ends_a_session_that_does_not_stop_there(tmp_path: Path) -> None:
    bench = Bench(tmp_path, one_phase=True, start={"stop_on_phase_completion": False})
    bench.plan.put(deliverable(1, phase="one"), deliverable(2, phase="two"))
    result = await bench.execute()
    assert (result.exit_reason, bench.plan.passed()) == (ExitReason.PHASE_COMPLETE, ["D-001"])
    assert bench.details["loop_signal"] == "phase_complete"


async def _passed_and_not_approved(folder: Path) -> None:
    """Leave a session whose only phase has passed but for its review."""
    bench = Bench(folder, start={"max_fidelity_review_cycles_per_phase": 1})
    bench.plan.put(deliverable(1))
    bench.judges.verdicts = [Verdict.FAIL]
    assert (await bench.execute()).exit_reason is ExitReason.PAUSED


async def test_ending_a_session_does_not_get_round_its_gate(tmp_path: Path) -> None:
    await _passed_and_not_approved(tmp_path)
    again = Bench(tmp_path)
    again.ask("session", "end", spec_id=SPEC_ID)
    result = await again.execute()
    assert (result.exit_reason, again.instructions()) == (ExitReason.ALL_PASSED, ["review"])


async def test_a_plan_that_has_passed_is_judged_in_a_session_that_was_started(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path)
    bench.plan.put(deliverable(1, Status.PASSED))
    bench.ask("session", "start")
    await bench.execute()
    assert bench.instructions() == ["review"]


class Silent(Bench):
    """Its reviews end without a verdict."""

    async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
        if marker.instruction is Instruction.REVIEW:
            return COMPLETED
        return await super().work(session, marker)


async def test_failing_steps_end_with_the_last_error_and_the_command_to_look(
    tmp_path: Path,
) -> None:
    bench = Silent(tmp_path)
    bench.plan.put(deliverable(1))
    result = await bench.execute()
    assert "without submit_review" in result.message
    session_id = bench.details["session_id"]
    assert f": `runner session events --session-id {session_id}`.\nThen" in str(result.hint)


async def test_an_edited_spec_has_a_signal_and_a_command(tmp_path: Path) -> None:
    first = Bench(tmp_path, one_phase=True, start={"stop_on_phase_completion": True})
    first.plan.put(deliverable(1, phase="one"), deliverable(2, phase="two"))
    await first.execute()
    again = Bench(tmp_path)
    again.spec.write_text("# other\n", encoding="utf-8")
    await again.execute()
    assert again.details["loop_signal"] == "blocked_runtime"
    assert [a["command"] for a in again.details["recommended_actions"]] == ["runner sync"]


@pytest.mark.parametrize(
    ("signal", "reason"),
    [("blocked_runtime", ExitReason.BLOCKED_RUNTIME), ("failed", ExitReason.FAILED)],
)
async def test_a_session_that_was_tampered_with_is_no_ordinary_failure(
    signal: str, reason: ExitReason
) -> None:
    answer = {"session_id": "auto_1", "status": "failed", "failure_reason": "state_corrupt"}
    told = SessionAnswer.of(answer | {"session_signal": signal})
    assert ending_of(told, None, stalled=False).reason is reason


async def test_under_the_manual_policy_a_review_is_not_said_to_fail(tmp_path: Path) -> None:
    bench = Bench(tmp_path, start={"gate_policy": "manual"})
    bench.plan.put(deliverable(1))
    await bench.execute()
    (told,) = [
        e.message for e in bench.events if isinstance(e, Notice) and e.message.startswith("Review")
    ]
    assert "under the manual policy a person decides" in told


async def test_a_word_that_was_not_accepted_is_not_in_the_result(tmp_path: Path) -> None:
    class Refusing(Bench):
        async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
            for request in (("step", "next"), ("step", "report")):
                self.mortal.refusals[request] = {"error_code": "STATE_UNWRITABLE"}
            return await super().work(session, marker)

    bench = Refusing(tmp_path)
    bench.plan.put(deliverable(1))
    result = await bench.execute()
    assert (result.exit_reason, result.counts.passed) == (ExitReason.ERROR, 0)


async def test_a_refusal_says_what_can_be_done(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.plan.put(deliverable(1))
    actions = [{"action": "make_room", "description": "Make room."}]
    bench.mortal.refusals["step", "next"] = {
        "error_code": "STATE_UNWRITABLE",
        "loop_signal": "paused_needs_attention",
        "recommended_actions": actions,
    }
    await bench.execute()
    assert bench.details["recommended_actions"] == actions
