"""What the agent gets back from its tools."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from runner.deliverables.model import Phase, Status
from runner.deliverables.repository import StatusRepository
from runner.deliverables.schemas import TOOL_DESCRIPTIONS, TOOL_EXAMPLES, TOOL_SCHEMAS
from runner.deliverables.tools import DeliverableTools, StatusChange
from runner.deliverables.verification import VerificationTracker
from runner.errors import DeliverableError

_DAY = date(2026, 3, 4)


@pytest.fixture
def repository(tmp_path: Path) -> StatusRepository:
    return StatusRepository(tmp_path / ".runner" / "status.json", today=lambda: _DAY)


@pytest.fixture
def changes() -> list[StatusChange]:
    return []


@pytest.fixture
def tools(repository: StatusRepository, changes: list[StatusChange]) -> DeliverableTools:
    return DeliverableTools(repository, on_change=changes.append)


def _draft(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "description": f"Thing {name}", "acceptanceCriteria": ["works"], **more}


def _create(tools: DeliverableTools, *names: str, **more: Any) -> str:
    return tools.create({"deliverables": [_draft(name, **more) for name in names]})


def _set(tools: DeliverableTools, name: str, status: str) -> str:
    return tools.set_status({"deliverableId": name, "status": status})


def _status(repository: StatusRepository, name: str) -> Status | None:
    file = repository.load()
    found = file.find(name) if file else None
    return found.status if found else None


def test_create_says_what_was_created(tools: DeliverableTools) -> None:
    assert _create(tools, "UI-001", "UI-002") == (
        "Created 2: UI-001, UI-002. 0 of 2 passed, 2 pending, 0 blocked."
    )


def test_create_saves_every_field(tools: DeliverableTools, repository: StatusRepository) -> None:
    _create(tools, "UI-001")
    _create(tools, "UI-002", phase="two", dependsOn=["UI-001"], verification=["pytest -q"])
    file = repository.load()
    assert file is not None
    saved = file.deliverables[1]
    assert (saved.description, saved.acceptance_criteria) == ("Thing UI-002", ("works",))
    assert (saved.phase, saved.depends_on, saved.verification) == (
        "two",
        ("UI-001",),
        ("pytest -q",),
    )


def test_create_records_phases_with_titles_and_commands(
    tools: DeliverableTools, repository: StatusRepository
) -> None:
    phases = [{"id": "one", "title": "First", "verification": ["make check"]}]
    tools.create({"deliverables": [_draft("UI-001", phase="one")], "phases": phases})
    file = repository.load()
    assert file is not None
    assert file.phases == (Phase("one", "First", ("make check",)),)


@pytest.mark.parametrize(
    "plan",
    [
        {"deliverables": [_draft("UI-001", verification=["sudo x"])]},
        {
            "deliverables": [_draft("UI-001", phase="one")],
            "phases": [{"id": "one", "title": "One", "verification": ["sudo x"]}],
        },
    ],
)
def test_create_refuses_a_command_that_would_never_be_run(
    repository: StatusRepository, plan: dict[str, Any]
) -> None:
    def problem(command: str) -> str | None:
        return "sudo is not allowed." if command.startswith("sudo") else None

    tools = DeliverableTools(repository, command_problem=problem)
    with pytest.raises(DeliverableError, match=r"'sudo x' of .*sudo is not allowed"):
        tools.create(plan)
    assert repository.load() is None


def test_create_reports_the_new_ids(repository: StatusRepository) -> None:
    created: list[tuple[str, ...]] = []
    _create(DeliverableTools(repository, on_create=created.append), "UI-001", "UI-002")
    assert created == [("UI-001", "UI-002")]


def test_create_is_all_or_nothing(tools: DeliverableTools, repository: StatusRepository) -> None:
    _create(tools, "UI-001")
    with pytest.raises(DeliverableError, match="UI-001 exists already"):
        _create(tools, "UI-002", "UI-001")
    assert _status(repository, "UI-002") is None


def test_set_status_says_what_is_left_and_what_is_next(tools: DeliverableTools) -> None:
    _create(tools, "UI-001", "UI-002", "UI-003")
    assert _set(tools, "UI-001", "passed") == (
        "UI-001 is now passed. 1 of 3 passed, 2 pending, 0 blocked. Next: UI-002, UI-003."
    )


def test_a_long_list_of_what_is_next_is_cut(tools: DeliverableTools) -> None:
    _create(tools, *(f"UI-{n:03d}" for n in range(9)))
    text = _set(tools, "UI-000", "passed")
    assert text.endswith("Next: UI-001, UI-002, UI-003, UI-004, UI-005 and 3 more.")


BLOCKED = {
    "deliverableId": "UI-001",
    "status": "blocked",
    "reason": "There is no database: DATABASE_URL is not set.",
}


@pytest.mark.parametrize("reason", [None, "", "   ", "hard", "x" * 1001])
def test_blocked_needs_a_reason_of_some_length(tools: DeliverableTools, reason: str | None) -> None:
    _create(tools, "UI-001")
    args = {name: value for name, value in BLOCKED.items() if name != "reason"}
    with pytest.raises(DeliverableError, match="reason"):
        tools.set_status(args if reason is None else {**args, "reason": reason})


def test_the_reason_of_a_block_is_kept_and_listed(tools: DeliverableTools) -> None:
    _create(tools, "UI-001")
    tools.set_status(BLOCKED)
    assert "blocked because: There is no database" in tools.list({})
    _set(tools, "UI-001", "pending")
    assert "blocked because" not in tools.list({})


def test_set_status_names_no_next_when_nothing_is_left(tools: DeliverableTools) -> None:
    _create(tools, "UI-001")
    assert tools.set_status(BLOCKED) == (
        "UI-001 is now blocked. 0 of 1 passed, 0 pending, 1 blocked."
    )


def test_a_change_is_told(tools: DeliverableTools, changes: list[StatusChange]) -> None:
    _create(tools, "UI-001")
    _set(tools, "UI-001", "passed")
    assert changes == [StatusChange("UI-001", "Thing UI-001", Status.PENDING, Status.PASSED)]


def test_the_same_status_again_is_no_change(
    tools: DeliverableTools, changes: list[StatusChange]
) -> None:
    _create(tools, "UI-001")
    assert _set(tools, "UI-001", "pending").startswith("UI-001 was pending already.")
    assert changes == []


def test_a_refused_change_is_not_told(tools: DeliverableTools, changes: list[StatusChange]) -> None:
    _create(tools, "UI-001")
    with pytest.raises(DeliverableError):
        _set(tools, "UI-002", "passed")
    assert changes == []


def test_a_bound_session_sets_the_status_of_its_deliverable(
    tools: DeliverableTools, repository: StatusRepository
) -> None:
    _create(tools, "UI-001", "UI-002")
    tools.bound_task = "UI-002"
    assert _set(tools, "UI-002", "passed").endswith("This session is for UI-002 alone.")
    assert _status(repository, "UI-002") is Status.PASSED


def test_a_bound_session_can_not_touch_another_deliverable(
    tools: DeliverableTools, repository: StatusRepository
) -> None:
    _create(tools, "UI-001", "UI-002")
    tools.bound_task = "UI-001"
    with pytest.raises(DeliverableError, match=r"^AUTONOMY_WRITE_LOCK_ACTIVE: .*bound to UI-001"):
        _set(tools, "UI-002", "passed")
    assert _status(repository, "UI-002") is Status.PENDING


def test_list_shows_what_is_needed_to_work(tools: DeliverableTools) -> None:
    _create(tools, "UI-001", verification=["pytest -q"])
    _create(tools, "UI-002", dependsOn=["UI-001"], phase="two")
    assert tools.list({}) == (
        "2 of 2 shown. 0 of 2 passed, 2 pending, 0 blocked.\n\n"
        "UI-001 [pending] · phase phase-1\nThing UI-001\n- works\n$ pytest -q\n\n"
        "UI-002 [pending] · phase two · waits for UI-001\nThing UI-002\n- works"
    )


def test_list_shows_five_unless_told(tools: DeliverableTools) -> None:
    _create(tools, *(f"UI-{n:03d}" for n in range(7)))
    text = tools.list({})
    assert text.startswith("5 of 7 shown. Raise limit to see all 7.")
    assert "UI-005" not in text
    assert "UI-006" in tools.list({"limit": 7})


def test_list_filters_by_status(tools: DeliverableTools) -> None:
    _create(tools, "UI-001", "UI-002")
    _set(tools, "UI-001", "passed")
    text = tools.list({"filter": {"status": "passed"}})
    assert "UI-001 [passed]" in text
    assert "UI-002" not in text


def test_list_names_deprecated_ones_without_listing_them(tools: DeliverableTools) -> None:
    _create(tools, "UI-001", "UI-002")
    tools.deprecate({"deliverableId": "UI-001"})
    text = tools.list({})
    assert text.endswith("Deprecated, not listed: UI-001")
    assert "Thing UI-001" not in text


def test_list_of_nothing_says_so(tools: DeliverableTools) -> None:
    assert tools.list({}) == "There are no deliverables yet."


def test_list_by_verified_needs_a_sync(tools: DeliverableTools) -> None:
    _create(tools, "UI-001")
    with pytest.raises(DeliverableError, match="verify sessions of a sync only"):
        tools.list({"filter": {"verified": False}})


def test_deprecate_answers_with_the_day(tools: DeliverableTools) -> None:
    _create(tools, "UI-001", "UI-002")
    assert tools.deprecate({"deliverableId": "UI-001"}) == (
        "UI-001 is deprecated since 2026-03-04. 0 of 1 passed, 1 pending, 0 blocked."
    )


@pytest.fixture
def tracker(tools: DeliverableTools) -> VerificationTracker:
    _create(tools, "UI-001", "UI-002")
    tracker = VerificationTracker()
    tracker.start(["UI-001", "UI-002"])
    return tracker


def test_verify_marks_and_says_what_is_left(
    repository: StatusRepository, tracker: VerificationTracker
) -> None:
    tools = DeliverableTools(repository, tracker=tracker)
    assert tools.verify({"deliverableId": "UI-001"}) == (
        "UI-001 is verified as pending. 1 of 2 verified. Still to verify: UI-002."
    )
    assert tracker.is_verified("UI-001")


def test_the_last_verify_says_that_it_is_over(
    repository: StatusRepository, tracker: VerificationTracker
) -> None:
    tracker.mark("UI-001")
    tools = DeliverableTools(repository, tracker=tracker)
    assert tools.verify({"deliverableId": "UI-002"}).endswith("All are verified: finish.")


def test_list_filters_by_verified(
    repository: StatusRepository, tracker: VerificationTracker
) -> None:
    tracker.mark("UI-001")
    text = DeliverableTools(repository, tracker=tracker).list({"filter": {"verified": False}})
    assert "UI-002 [pending] · phase phase-1 · not verified" in text
    assert "UI-001" not in text


def test_verify_refuses_what_nobody_knows(
    repository: StatusRepository, tracker: VerificationTracker
) -> None:
    tools = DeliverableTools(repository, tracker=tracker)
    with pytest.raises(DeliverableError, match="no deliverable 'UI-404'"):
        tools.verify({"deliverableId": "UI-404"})


def test_verify_without_any_file_says_so(tmp_path: Path) -> None:
    tracker = VerificationTracker()
    tracker.start([])
    nothing = StatusRepository(tmp_path / "other" / ".runner" / "status.json")
    with pytest.raises(DeliverableError, match="no deliverables yet"):
        DeliverableTools(nothing, tracker=tracker).verify({"deliverableId": "UI-001"})


def test_verify_refuses_what_came_later(
    repository: StatusRepository, tracker: VerificationTracker
) -> None:
    tools = DeliverableTools(repository, tracker=tracker)
    _create(tools, "UI-003")
    with pytest.raises(DeliverableError, match="added after this sync began"):
        tools.verify({"deliverableId": "UI-003"})


def test_verify_refuses_what_is_deprecated(
    repository: StatusRepository, tracker: VerificationTracker
) -> None:
    tools = DeliverableTools(repository, tracker=tracker)
    tools.deprecate({"deliverableId": "UI-001"})
    with pytest.raises(DeliverableError, match="deprecated on 2026-03-04"):
        tools.verify({"deliverableId": "UI-001"})


@pytest.mark.parametrize("tracker", [None, VerificationTracker()])
def test_verify_needs_a_started_tracker(
    repository: StatusRepository, tracker: VerificationTracker | None
) -> None:
    tools = DeliverableTools(repository, tracker=tracker)
    _create(tools, "UI-001")
    with pytest.raises(DeliverableError, match="Nothing can be verified in this session"):
        tools.verify({"deliverableId": "UI-001"})


_BAD: list[tuple[str, Any, str]] = [
    ("create", [], "the input must be an object, not an array"),
    ("create", {}, "the input has no 'deliverables'"),
    ("create", {"deliverables": "x"}, "deliverables must be an array, not a string"),
    ("create", {"deliverables": [1]}, r"deliverables\[0\] must be an object, not a number"),
    ("create", {"deliverables": [{"id": "UI-001"}]}, r"deliverables\[0\] has no 'description'"),
    ("create", {"deliverables": [_draft("UI-001", passed=True)]}, "unknown field 'passed'"),
    ("create", {"deliverables": [_draft("UI-001", phase=1)]}, "phase must be a string"),
    ("create", {"deliverables": [_draft("UI-001", dependsOn="X")]}, "dependsOn must be an array"),
    ("create", {"deliverables": [_draft("UI-001", verification=[1])]}, r"verification\[0\] must"),
    ("create", {"deliverables": [_draft("UI-001", phase=None)]}, "phase must be a string, not null"),
    ("set_status", {"deliverableId": "UI-001"}, "the input has no 'status'"),
    ("set_status", {"deliverableId": 1, "status": "passed"}, "deliverableId must be a string"),
    ("set_status", {"deliverableId": "A", "status": "done"}, "pending, passed, blocked, not 'done'"),
    ("set_status", {"deliverableId": "A", "status": ["passed"]}, "not an array"),
    ("set_status", {"deliverableId": "A", "status": True}, "not true"),
    ("list", {"status": "passed"}, "unknown field 'status'"),
    ("list", {"filter": {"passed": True}}, "filter has the unknown field 'passed'"),
    ("list", {"filter": {"verified": "yes"}}, "filter.verified must be true or false"),
    ("list", {"filter": {"status": "x"}}, "filter.status must be one of"),
    ("list", {"filter": None}, "filter must be an object, not null"),
    ("list", {"limit": 0}, "limit must be a whole number from 1 to 100"),
    ("list", {"limit": 101}, "limit must be a whole number"),
    ("list", {"limit": True}, "limit must be a whole number"),
    ("list", {"limit": "5"}, "limit must be a whole number"),
    ("deprecate", {"id": "UI-001"}, "unknown field 'id'"),
    ("verify", {"deliverableId": None}, "deliverableId must be a string, not null"),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "args", "reason"), _BAD)
def test_wrong_input_is_refused_with_reason_and_example(
    tools: DeliverableTools, repository: StatusRepository, tool: str, args: Any, reason: str
) -> None:
    with pytest.raises(DeliverableError, match=reason) as caught:
        getattr(tools, tool)(args)
    assert str(caught.value).startswith(f"{tool}: ")
    assert f"Call it like this: {TOOL_EXAMPLES[tool]}" in str(caught.value)
    assert repository.load() is None


def test_every_tool_has_schema_description_and_example() -> None:
    names = {"create", "set_status", "list", "deprecate", "verify", "submit_review"}
    assert set(TOOL_SCHEMAS) == set(TOOL_DESCRIPTIONS) == set(TOOL_EXAMPLES) == names
    assert all(callable(getattr(DeliverableTools, name)) for name in names)


def test_the_examples_are_accepted(
    tools: DeliverableTools, repository: StatusRepository, changes: list[StatusChange]
) -> None:

    tools.create(json.loads(TOOL_EXAMPLES["create"]))
    for tool in ("set_status", "list", "deprecate"):
        getattr(tools, tool)(json.loads(TOOL_EXAMPLES[tool]))
    assert [change.new for change in changes] == [Status.PASSED]
