"""Options that a session which is already there does not follow are named, not swallowed."""

from pathlib import Path

import pytest
from tests.loop.bench import Bench
from tests.loop.fakes import deliverable

from runner.autonomy.client import SessionView
from runner.events import ExitReason, Notice
from runner.loop.opening import ignored_options

DATA = {
    "session_id": "auto_1",
    "status": "running",
    "effective_status": "running",
    "gate_policy": "strict",
    "gates_required": True,
    "limits": {"max_consecutive_errors": 3},
}
VIEW = SessionView.of(DATA)


def test_what_is_in_force_is_no_news() -> None:
    wanted = {"gate_policy": "strict", "gates_required": True, "max_consecutive_errors": 3}
    assert ignored_options(wanted, VIEW) is None


@pytest.mark.parametrize(
    ("wanted", "named"),
    [
        ({"gate_policy": "manual"}, "--gate-policy manual (it has strict)"),
        ({"gates_required": False}, "--no-gates"),
        ({"max_consecutive_errors": 9}, "--max-consecutive-errors 9 (it has 3)"),
    ],
)
def test_what_has_no_effect_is_named_with_the_way_to_have_it(
    wanted: dict[str, object], named: str
) -> None:
    notice = ignored_options(wanted, VIEW)
    assert notice is not None
    assert notice.message.endswith(f"without effect: {named}")
    assert "runner session end --session-id auto_1" in str(notice.hint)


def test_times_follow_the_run_and_are_not_named() -> None:
    assert (
        ignored_options(
            {"step_stale_minutes": 1}, SessionView.of(DATA | {"limits": {"step_stale_minutes": 2}})
        )
        is None
    )


@pytest.mark.anyio
async def test_a_run_that_takes_a_session_up_warns_of_its_options(tmp_path: Path) -> None:
    first = Bench(tmp_path, one_phase=True, start={"stop_on_phase_completion": True})
    first.plan.put(deliverable(1, phase="one"), deliverable(2, phase="two"))
    await first.execute()
    again = Bench(tmp_path, start={"gate_policy": "manual"})
    result = await again.execute()
    warned = [
        e.message for e in again.events if isinstance(e, Notice) and "without effect" in e.message
    ]
    assert (result.exit_reason, len(warned)) == (ExitReason.ALL_PASSED, 1)
