"""The questions that planning and termination ask."""

from dataclasses import replace
from datetime import date

from runner.deliverables.model import Counts, Deliverable, Phase, Status, StatusFile

_DAY = date(2025, 1, 10)


def _make(
    name: str, status: str = "pending", *needs: str, phase: str | None = None, old: bool = False
) -> Deliverable:
    return Deliverable(
        id=name,
        description=name,
        acceptance_criteria=("works",),
        status=Status(status),
        phase=phase,
        depends_on=needs,
        deprecated_at=_DAY if old else None,
    )


def _file(*deliverables: Deliverable, phases: tuple[Phase, ...] = ()) -> StatusFile:
    return StatusFile(spec_id="spec", deliverables=deliverables, phases=phases)


def _ids(deliverables: tuple[Deliverable, ...]) -> list[str]:
    return [d.id for d in deliverables]


def test_deprecated_deliverables_are_counted_nowhere() -> None:
    file = _file(_make("A", "passed", old=True), _make("B"), _make("C", "blocked"))
    assert file.counts == Counts(total=2, passed=0, blocked=1, pending=1)


def test_blocked_deliverables_are_active_but_not_achievable() -> None:
    file = _file(_make("A"), _make("B", "blocked"))
    assert (_ids(file.active), _ids(file.achievable)) == (["A", "B"], ["A"])


def test_the_goal_is_reached_with_blocked_deliverables_left_out() -> None:
    assert _file(_make("A", "passed"), _make("B", "blocked")).all_achievable_passed


def test_the_goal_is_not_reached_while_one_is_pending() -> None:
    assert not _file(_make("A", "passed"), _make("B")).all_achievable_passed


def test_the_goal_is_not_reached_without_a_passed_deliverable() -> None:
    assert not _file(_make("A", "blocked")).all_achievable_passed


def test_nothing_left_but_deprecated_ones_is_neither_goal_nor_blockade() -> None:
    file = _file(_make("A", "passed", old=True), _make("B", "blocked", old=True))
    assert (file.all_achievable_passed, file.all_blocked) == (False, False)


def test_all_blocked_means_every_active_one() -> None:
    file = _file(_make("A", "blocked"), _make("B", old=True))
    assert file.all_blocked
    assert not replace(file, deliverables=(*file.deliverables, _make("C"))).all_blocked


def test_an_empty_file_asks_for_nothing() -> None:
    file = _file()
    assert (file.all_blocked, file.all_achievable_passed, file.next_runnable) == (
        False,
        False,
        None,
    )


def test_without_phases_there_is_one() -> None:
    assert [p.id for p in _file(_make("A"), _make("B")).ordered_phases] == ["phase-1"]


def test_listed_phases_come_first_and_others_as_they_appear() -> None:
    file = _file(
        _make("A", phase="late"),
        _make("B", phase="two"),
        _make("C", phase="one"),
        phases=(Phase("one", "One"), Phase("two", "Two")),
    )
    assert [p.id for p in file.ordered_phases] == ["one", "two", "late"]


def test_work_goes_by_phase_and_then_by_the_order_in_the_file() -> None:
    file = _file(
        _make("A", phase="two"),
        _make("B", phase="one"),
        _make("C", phase="one"),
        phases=(Phase("one", "One"),),
    )
    assert _ids(file.runnable) == ["B", "C", "A"]


def test_a_deliverable_waits_for_its_dependencies() -> None:
    file = _file(_make("A", "pending", "B"), _make("B"))
    assert _ids(file.runnable) == ["B"]
    assert file.unmet_dependencies(file.deliverables[0]) == ("B",)


def test_passed_and_deprecated_dependencies_are_met() -> None:
    file = _file(_make("A", "pending", "B", "C"), _make("B", "passed"), _make("C", old=True))
    assert _ids(file.runnable) == ["A"]


def test_a_blocked_dependency_is_not_met() -> None:
    assert _file(_make("A", "pending", "B"), _make("B", "blocked")).next_runnable is None


def test_a_dependency_that_nobody_has_is_never_met() -> None:
    assert _file(_make("A", "pending", "GHOST")).next_runnable is None


def test_passed_blocked_and_deprecated_deliverables_are_not_worked_on() -> None:
    file = _file(_make("A", "passed"), _make("B", "blocked"), _make("C", old=True), _make("D"))
    assert file.next_runnable == _make("D")


def test_a_phase_has_its_active_deliverables() -> None:
    file = _file(_make("A", phase="x"), _make("B"), _make("C", phase="x", old=True))
    assert (_ids(file.of_phase("x")), _ids(file.of_phase("phase-1"))) == (["A"], ["B"])


def test_blocked_lists_the_active_blocked_ones() -> None:
    assert _ids(_file(_make("A", "blocked"), _make("B", "blocked", old=True)).blocked) == ["A"]
