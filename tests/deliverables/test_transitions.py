"""The state machine: what is allowed, and what a refusal tells the agent."""

from dataclasses import replace
from datetime import date

import pytest

from runner.deliverables.model import Deliverable, Status, StatusFile
from runner.deliverables.transitions import DeliverableDraft, create, deprecate, set_status
from runner.errors import DeliverableError

_DAY = date(2025, 1, 10)
_EMPTY = StatusFile(spec_id="spec")


def _draft(name: str, *needs: str) -> DeliverableDraft:
    return DeliverableDraft(
        id=name, description="Thing", acceptance_criteria=("works",), depends_on=needs
    )


def _with(status: Status) -> StatusFile:
    return replace(_EMPTY, deliverables=(Deliverable("UI-001", "Thing", ("works",), status),))


@pytest.mark.parametrize("old", Status)
@pytest.mark.parametrize("new", Status)
def test_only_passed_to_blocked_is_forbidden(old: Status, new: Status) -> None:
    if (old, new) == (Status.PASSED, Status.BLOCKED):
        with pytest.raises(DeliverableError, match="set UI-001 to pending first"):
            set_status(_with(old), "UI-001", new)
    else:
        assert set_status(_with(old), "UI-001", new) == _with(new)


def test_setting_a_status_leaves_the_others_alone() -> None:
    file = create(_EMPTY, [_draft("UI-001"), _draft("UI-002")])
    changed = set_status(file, "UI-002", Status.PASSED)
    assert changed.deliverables[0] == file.deliverables[0]


def test_an_unknown_id_is_refused_with_the_known_ones() -> None:
    with pytest.raises(DeliverableError, match=r"no deliverable 'UI-009'.*UI-001"):
        set_status(_with(Status.PENDING), "UI-009", Status.PASSED)


def test_a_deprecated_deliverable_can_not_change() -> None:
    file = deprecate(_with(Status.PENDING), "UI-001", _DAY)
    with pytest.raises(DeliverableError, match="deprecated on 2025-01-10"):
        set_status(file, "UI-001", Status.PASSED)


def test_deprecating_keeps_record_and_status() -> None:
    found = deprecate(_with(Status.PASSED), "UI-001", _DAY).find("UI-001")
    assert found is not None
    assert (found.status, found.deprecated_at) == (Status.PASSED, _DAY)


def test_deprecating_twice_keeps_the_first_date() -> None:
    once = deprecate(_with(Status.PENDING), "UI-001", _DAY)
    assert deprecate(once, "UI-001", date(2026, 1, 1)) is once


def test_deprecating_an_unknown_id_is_refused() -> None:
    with pytest.raises(DeliverableError, match="no deliverables yet"):
        deprecate(_EMPTY, "UI-001", _DAY)


def test_created_deliverables_are_pending_and_in_order() -> None:
    file = create(_EMPTY, [_draft("UI-002"), _draft("UI-001", "UI-002")])
    assert [(d.id, d.status, d.depends_on) for d in file.deliverables] == [
        ("UI-002", Status.PENDING, ()),
        ("UI-001", Status.PENDING, ("UI-002",)),
    ]


def test_texts_are_tidied() -> None:
    draft = replace(
        _draft("UI-001"),
        description=" Log\n  in ",
        acceptance_criteria=(" a\nb ",),
        verification=(" pytest -q\n",),
    )
    created = create(_EMPTY, [draft]).deliverables[0]
    assert (created.description, created.acceptance_criteria, created.verification) == (
        "Log in",
        ("a\nb",),
        ("pytest -q",),
    )


def test_repeated_dependencies_are_named_once() -> None:
    file = create(_EMPTY, [_draft("A-001"), _draft("A-002", "A-001", "A-001")])
    assert file.deliverables[1].depends_on == ("A-001",)


@pytest.mark.parametrize("good", ["UI-001", "BE-042", "E2E-1000", "API-AUTH-001", "DATA_SET-001"])
def test_ids_of_the_usual_kind_are_accepted(good: str) -> None:
    assert create(_EMPTY, [_draft(good)]).find(good) is not None


@pytest.mark.parametrize(
    "bad",
    ["", "ui-001", "UI-01", "UI001", "-001", "1-001", "UI-00a", "UI-001\n", "UI 001", "UI-\u0660\u0660\u0661",
     "../X-001", "A" * 70 + "-001"],
)  # fmt: skip
def test_other_ids_are_refused_with_an_example(bad: str) -> None:
    with pytest.raises(DeliverableError, match=r"not a valid id.*UI-001"):
        create(_EMPTY, [_draft(bad)])


def test_an_id_that_exists_is_refused_with_a_free_one() -> None:
    file = create(_EMPTY, [_draft("UI-001"), _draft("UI-007")])
    with pytest.raises(DeliverableError, match=r"UI-001 exists already.*UI-008"):
        create(file, [_draft("UI-001")])


def test_an_id_of_a_deprecated_deliverable_is_not_free() -> None:
    file = deprecate(create(_EMPTY, [_draft("UI-001")]), "UI-001", _DAY)
    with pytest.raises(DeliverableError, match="exists already"):
        create(file, [_draft("UI-001")])


def test_an_id_twice_in_one_call_is_refused() -> None:
    with pytest.raises(DeliverableError, match="exists already"):
        create(_EMPTY, [_draft("UI-001"), _draft("UI-001")])


def test_free_ids_ignore_what_only_looks_alike() -> None:
    odd = Deliverable("UI-³", "hand-written", ())
    file = create(replace(_EMPTY, deliverables=(odd,)), [_draft("UI-001")])
    with pytest.raises(DeliverableError, match="UI-002"):
        create(file, [_draft("UI-001")])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"description": " \n"}, "empty text in description"),
        ({"description": "\x1b[2J"}, "control characters in description"),
        ({"description": "\ud800"}, "control characters in description"),
        ({"acceptance_criteria": ()}, "no acceptance criteria"),
        ({"acceptance_criteria": ("a", " ")}, "empty text in acceptanceCriteria"),
        ({"verification": ("",)}, "empty text in verification"),
        ({"phase": ""}, "not a valid phase id"),
        ({"phase": "../x"}, "not a valid phase id"),
        ({"phase": "Phase 1"}, "not a valid phase id"),
        ({"depends_on": ("UI-001",)}, "depends on itself"),
        ({"depends_on": ("UI-404",)}, "unknown ids: UI-404"),
    ],
)
def test_a_broken_draft_is_refused_with_the_reason(change: dict[str, str], reason: str) -> None:
    with pytest.raises(DeliverableError, match=f"UI-001.*{reason}.*Nothing was created"):
        create(_EMPTY, [replace(_draft("UI-001"), **change)])  # type: ignore[arg-type]


def test_nothing_to_create_is_refused() -> None:
    with pytest.raises(DeliverableError, match="nothing to create"):
        create(_EMPTY, [])


def test_a_circle_is_refused_and_shown() -> None:
    drafts = [_draft("A-001", "A-002"), _draft("A-002", "A-003"), _draft("A-003", "A-001")]
    with pytest.raises(DeliverableError, match="A-001 → A-002 → A-003 → A-001"):
        create(_EMPTY, drafts)


def test_a_circle_through_a_hand_written_dependency_is_refused() -> None:
    waiting = Deliverable("old", "waits for what did not exist", (), depends_on=("A-001",))
    with pytest.raises(DeliverableError, match="A-001 → old → A-001"):
        create(replace(_EMPTY, deliverables=(waiting,)), [_draft("A-001", "old")])


def test_a_diamond_is_no_circle() -> None:
    drafts = [
        _draft("A-001"),
        _draft("A-002", "A-001"),
        _draft("A-003", "A-001"),
        _draft("A-004", "A-002", "A-003"),
    ]
    assert len(create(_EMPTY, drafts).deliverables) == 4


def test_long_chains_are_no_problem() -> None:
    drafts = [_draft("A-0000")]
    drafts += [_draft(f"A-{n:04d}", f"A-{n - 1:04d}") for n in range(1, 3000)]
    assert len(create(_EMPTY, drafts[::-1]).deliverables) == 3000
