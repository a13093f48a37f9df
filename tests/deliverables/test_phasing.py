"""Phases as `create` records them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.deliverables.model import Deliverable, Phase, Status, StatusFile
from runner.deliverables.phasing import PhaseDraft
from runner.deliverables.transitions import DeliverableDraft, create, set_status
from runner.errors import DeliverableError

_EMPTY = StatusFile(spec_id="spec")


def _draft(name: str, phase: str | None = None, *needs: str) -> DeliverableDraft:
    return DeliverableDraft(name, "Thing", ("works",), phase=phase, depends_on=needs)


def _phase(name: str, title: str = "Title", *commands: str) -> PhaseDraft:
    return PhaseDraft(name, title, commands)


def test_phases_are_recorded_in_the_given_order() -> None:
    drafts = [_draft("UI-001", "b"), _draft("UI-002", "a")]
    file = create(_EMPTY, drafts, [_phase("a", " The  first "), _phase("b", "Next", "make x")])
    assert file.phases == (Phase("a", "The first"), Phase("b", "Next", ("make x",)))


def test_without_phases_those_named_are_recorded_in_order_of_mention() -> None:
    file = create(_EMPTY, [_draft("UI-001", "b"), _draft("UI-002"), _draft("UI-003", "a")])
    assert [phase.id for phase in file.phases] == ["b", "phase-1", "a"]


def test_a_plan_without_any_phase_records_none() -> None:
    assert create(_EMPTY, [_draft("UI-001")]).phases == ()


def test_a_later_plan_appends_its_phases() -> None:
    file = create(_EMPTY, [_draft("UI-001", "a")], [_phase("a")])
    file = create(file, [_draft("UI-002", "b")], [_phase("b")])
    assert [phase.id for phase in file.phases] == ["a", "b"]


@pytest.mark.parametrize(
    ("drafts", "phases", "reason"),
    [
        ([_draft("UI-001", "a")], [_phase("a b")], "not a valid phase id"),
        ([_draft("UI-001", "a")], [_phase("a"), _phase("a")], "exists already"),
        ([_draft("UI-001", "a")], [_phase("a", " ")], "needs a title"),
        ([_draft("UI-001", "a")], [_phase("a", "x" * 201)], "needs a title"),
        ([_draft("UI-001", "a")], [_phase("a", "A", " ")], "command that can't be used"),
        ([_draft("UI-001", "a")], [_phase("a", "A", "x\x1b")], "command that can't be used"),
        ([_draft("UI-001", "a")], [_phase("a"), _phase("b")], "No deliverable belongs to"),
        ([_draft("UI-001", "b")], [_phase("a")], "No deliverable belongs to"),
        ([_draft("UI-001", "a"), _draft("UI-002", "c")], [_phase("a")], "not among phases"),
        ([_draft("UI-001", "a"), _draft("UI-002")], [_phase("a")], "not among phases"),
        (
            [_draft("UI-001", "a", "UI-002"), _draft("UI-002", "b")],
            [_phase("a"), _phase("b")],
            "later phase b, so it could never begin",
        ),
        ([_draft("UI-001", "a", "UI-002"), _draft("UI-002", "b")], [], "later phase b"),
    ],
)
def test_a_plan_that_can_not_be_worked_through_is_refused(
    drafts: list[DeliverableDraft], phases: list[PhaseDraft], reason: str
) -> None:
    with pytest.raises(DeliverableError, match=rf"{reason}.*Nothing was created"):
        create(_EMPTY, drafts, phases)


def test_waiting_for_a_later_phase_is_fine_once_that_has_passed() -> None:
    file = create(_EMPTY, [_draft("UI-001", "a"), _draft("UI-002", "b")])
    file = set_status(file, "UI-002", Status.PASSED)
    assert create(file, [_draft("UI-003", "a", "UI-002")]).find("UI-003") is not None


def test_phases_that_a_person_wrote_stay() -> None:
    phases = (Phase("z", "Written by hand", ("true",)),)
    file = replace(_EMPTY, phases=phases, deliverables=(Deliverable("x", "X", ("y",), phase="z"),))
    assert create(file, [_draft("UI-001", "z")]).phases == phases


_NAMES = st.sampled_from([None, "a", "b", "c"])


@given(st.lists(st.tuples(_NAMES, st.sets(st.integers(0, 5))), min_size=1, max_size=6))
def test_what_is_accepted_can_be_worked_through_phase_by_phase(
    plan: list[tuple[str | None, set[int]]],
) -> None:
    names = [f"UI-{number:03}" for number in range(len(plan))]
    drafts = [
        _draft(name, phase, *(names[n] for n in needs if n < len(names)))
        for name, (phase, needs) in zip(names, plan, strict=True)
    ]
    try:
        file = create(_EMPTY, drafts)
    except DeliverableError:
        return
    for phase in file.ordered_phases:
        for _ in names:
            for deliverable in file.runnable:
                if deliverable.phase_id == phase.id:
                    file = set_status(file, deliverable.id, Status.PASSED)
        assert all(d.status is Status.PASSED for d in file.of_phase(phase.id))
