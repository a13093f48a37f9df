"""The timeline of a report: everything in its place, and long nights folded."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cli.test_report import full

from runner.report.facts import PhaseFact, Report, SessionFact, VerificationFact
from runner.report.timeline import LABELS, WIDTH, Timeline, timeline_of

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def session(begin: float, minutes: float, *, phase: str | None = "p1") -> SessionFact:
    start = NOW + begin * MINUTE
    return SessionFact(
        1, "r", "run", "coding", "m", start, phase_id=phase, ended_at=start + minutes * MINUTE
    )


def drawn(*sessions: SessionFact, phases: tuple[str, ...] = ("p1",)) -> Timeline:
    made = tuple(PhaseFact(name, name) for name in phases)
    report: Report = replace(full("x"), sessions=sessions, phases=made)
    timeline = timeline_of(report)
    assert timeline is not None
    return timeline


def test_what_is_later_is_further_right() -> None:
    first, second = drawn(session(0, 2), session(3, 2)).bars
    assert first.x + first.width < second.x


def test_what_takes_longer_is_wider() -> None:
    first, second = drawn(session(0, 1), session(1, 3)).bars
    assert second.width > 2 * first.width


def test_a_night_is_folded_and_told() -> None:
    timeline = drawn(session(0, 10), session(10 + 8 * 60, 10))
    assert [fold.label for fold in timeline.folds] == ["8h"]


def test_a_short_rest_is_not_folded() -> None:
    assert drawn(session(0, 60), session(63, 60)).folds == ()


def test_every_phase_has_a_lane_of_its_own() -> None:
    timeline = drawn(session(0, 1), session(1, 1, phase="p2"), phases=("p1", "p2"))
    assert [lane.label for lane in timeline.lanes] == ["p1", "p2"]
    assert len({bar.y for bar in timeline.bars}) == 2


def test_work_outside_of_phases_comes_first() -> None:
    timeline = drawn(session(0, 1, phase=None), session(1, 1))
    assert [lane.label for lane in timeline.lanes] == ["Outside of phases", "p1"]


def test_many_phases_share_the_last_lane() -> None:
    names = tuple(f"p{n}" for n in range(100))
    timeline = drawn(session(0, 1), phases=names)
    assert (len(timeline.lanes), timeline.lanes[-1].label) == (30, "71 phases")


def test_a_verification_that_failed_is_marked_as_such() -> None:
    run = VerificationFact("s", NOW, 1, passed=False, accepted=False)
    report = replace(full("x"), phases=(PhaseFact("p1", "p1", verifications=(run,)),))
    timeline = timeline_of(report)
    assert timeline is not None
    assert [(mark.kind, mark.good) for mark in timeline.marks] == [("verification", False)]


def test_without_any_time_there_is_no_timeline() -> None:
    assert timeline_of(replace(full("x"), sessions=(), phases=())) is None


@settings(max_examples=100)
@given(st.lists(st.tuples(st.floats(0, 600_000), st.floats(0, 5_000)), min_size=1, max_size=30))
def test_everything_stands_inside_the_picture(times: list[tuple[float, float]]) -> None:
    timeline = drawn(*(session(begin, minutes) for begin, minutes in times))
    for bar in timeline.bars:
        assert bar.x >= LABELS
        assert bar.x + bar.width <= WIDTH
    assert all(LABELS <= tick.x <= WIDTH for tick in timeline.ticks)
    assert len(timeline.ticks) <= 40
