"""The page about `status.json`: its example is one, and it names every field that there is."""

import re
from datetime import date
from pathlib import Path

import pytest
from tests.autonomy.plane import Client

from runner.deliverables.codec import encode
from runner.deliverables.model import Deliverable, Phase, StatusFile
from runner.deliverables.repository import StatusRepository
from runner.deliverables.workspace import status_path

PAGE = Path(__file__).parents[2] / "docs" / "status-json.md"
DAY = date(2026, 3, 1)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with the page's example for its plan."""
    found = re.search(
        r"^```json\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    assert found is not None
    folder = tmp_path / "shop"
    path = status_path(folder)
    path.parent.mkdir(parents=True)
    path.write_text(found[1], encoding="utf-8")
    return folder


def test_the_example_is_read(project: Path) -> None:
    file = StatusRepository(status_path(project)).load()
    assert file is not None
    assert (file.spec_id, file.created_at) == ("shop", DAY)
    assert [(d.id, d.phase_id, d.depends_on) for d in file.deliverables] == [
        ("DB-001", "phase-1", ()),
        ("UI-001", "phase-2", ("DB-001",)),
    ]


def test_a_session_of_the_example_begins_with_its_first_deliverable(project: Path) -> None:
    client = Client(project)
    client.start()
    assert client.next()["next_step"]["task_id"] == "DB-001"


def test_every_field_has_its_row() -> None:
    phase = Phase("p", "P", ("true",))
    item = Deliverable(
        "D", "It", ("a",), deprecated_at=DAY, phase="p", depends_on=("E",), verification=("true",)
    )
    document = encode(StatusFile("s", DAY, DAY, (phase,), (item,)), old=None, raw={})
    fields = {*document, *document["phases"][0], *document["deliverables"][0]}
    rows = "\n".join(re.findall(r"^\| (.+?) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert fields - set(re.findall(r"`(\w+)`", rows)) == set()
