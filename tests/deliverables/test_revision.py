"""A plan is corrected before work begins: as a whole, or not at all."""

from pathlib import Path
from typing import Any

import pytest

from runner.deliverables.model import Status, StatusFile
from runner.deliverables.repository import StatusRepository
from runner.deliverables.tools import DeliverableTools
from runner.deliverables.transitions import set_status
from runner.errors import DeliverableError


def draft(name: str, **fields: Any) -> dict[str, Any]:
    return {
        "id": name,
        "description": f"Thing {name}",
        "acceptanceCriteria": ["it works"],
        **fields,
    }


@pytest.fixture
def repository(tmp_path: Path) -> StatusRepository:
    made = StatusRepository(tmp_path / ".runner" / "status.json")
    DeliverableTools(made).create({
        "deliverables": [
            draft("A-001", phase="one"),
            draft("A-002", phase="one", dependsOn=["A-001"]),
            draft("B-001", phase="two"),
        ],
        "phases": [
            {"id": "one", "title": "One", "verification": ["make one"]},
            {"id": "two", "title": "Two"},
        ],
    })  # fmt: skip
    return made


def revised(repository: StatusRepository, **args: Any) -> StatusFile:
    tools = DeliverableTools(repository, revises=lambda: True)
    tools.create({"deliverables": [], **args})
    file = repository.load()
    assert file is not None
    return file


def ids(file: StatusFile) -> list[str]:
    return [d.id for d in file.deliverables]


def test_what_is_missing_is_added_and_the_rest_stays(repository: StatusRepository) -> None:
    file = revised(repository, deliverables=[draft("A-003", phase="one")])
    assert ids(file) == ["A-001", "A-002", "B-001", "A-003"]
    assert [p.verification for p in file.phases] == [("make one",), ()]


def test_a_known_id_replaces_the_deliverable_as_a_whole(repository: StatusRepository) -> None:
    file = revised(
        repository, deliverables=[draft("A-002", phase="two", verification=["make two"])]
    )
    found = file.find("A-002")
    assert found is not None
    assert (found.phase, found.depends_on, found.verification) == ("two", (), ("make two",))
    assert ids(file) == ["A-001", "A-002", "B-001"]


def test_a_phase_gets_commands(repository: StatusRepository) -> None:
    phase = {"id": "two", "title": "Two", "verification": ["make two"]}
    file = revised(repository, phases=[phase])
    assert [p.verification for p in file.phases] == [("make one",), ("make two",)]


def test_all_phases_given_get_the_given_order(repository: StatusRepository) -> None:
    phases = [{"id": "two", "title": "Two"}, {"id": "one", "title": "One"}]
    assert [p.id for p in revised(repository, phases=phases).phases] == ["two", "one"]


def test_what_is_removed_takes_its_empty_phase_with_it(repository: StatusRepository) -> None:
    file = revised(repository, remove=["B-001"])
    assert (ids(file), [p.id for p in file.phases]) == (["A-001", "A-002"], ["one"])


@pytest.mark.parametrize(
    "args",
    [
        {"remove": ["A-001"]},
        {"remove": ["X-001"]},
        {"remove": ["A-001", "A-002", "B-001"]},
        {"deliverables": [draft("A-001", dependsOn=["A-002"], phase="one")]},
        {"deliverables": [draft("A-001", dependsOn=["B-001"], phase="one")]},
        {"deliverables": [draft("A-009"), draft("A-009")]},
        {"deliverables": []},
    ],
)
def test_a_plan_that_would_be_wrong_changes_nothing(
    repository: StatusRepository, args: dict[str, Any]
) -> None:
    before = repository.load()
    with pytest.raises(DeliverableError):
        revised(repository, **args)
    assert repository.load() == before


@pytest.mark.parametrize("status", [Status.PASSED, Status.BLOCKED])
def test_a_plan_on_which_work_has_begun_is_not_corrected(
    repository: StatusRepository, status: Status
) -> None:
    repository.update(lambda file: set_status(file, "A-001", status, reason="no database"))
    with pytest.raises(DeliverableError, match="Work has begun"):
        revised(repository, deliverables=[draft("A-003", phase="one")])


def test_outside_of_a_correction_nothing_is_replaced_or_removed(
    repository: StatusRepository,
) -> None:
    tools = DeliverableTools(repository)
    with pytest.raises(DeliverableError, match="exists already"):
        tools.create({"deliverables": [draft("A-001")]})
    with pytest.raises(DeliverableError, match="only from a plan that is corrected"):
        tools.create({"deliverables": [draft("A-004")], "remove": ["A-001"]})
