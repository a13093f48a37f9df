"""status.json on disk: what is kept, what is written, what is refused."""

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from runner.deliverables.model import Deliverable, Phase, Status, StatusFile
from runner.deliverables.repository import MAX_FILE_BYTES, StatusRepository
from runner.deliverables.transitions import DeliverableDraft, create, deprecate, set_status
from runner.errors import (
    DeliverableError,
    LockTimeoutError,
    StateCorruptError,
    StateWriteError,
)
from runner.files import locked

_TODAY = date(2026, 3, 4)
_AUTONOE: dict[str, Any] = {
    "createdAt": "2025-01-01",
    "updatedAt": "2025-01-02",
    "deliverables": [
        {
            "id": "UI-001",
            "description": "User Authentication",
            "acceptanceCriteria": ["User can login"],
            "passed": False,
            "blocked": False,
        },
        {
            "id": "DL-002",
            "description": "Legacy Feature",
            "acceptanceCriteria": ["..."],
            "passed": True,
            "blocked": False,
            "deprecatedAt": "2025-01-10",
        },
    ],
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    path = tmp_path / "My Project"
    path.mkdir()
    return path


@pytest.fixture
def repository(project: Path) -> StatusRepository:
    return StatusRepository(project / ".runner" / "status.json", today=lambda: _TODAY)


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("needs the right to mount a small file system")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def _put(repository: StatusRepository, document: Any) -> None:
    repository.path.parent.mkdir(exist_ok=True)
    text = document if isinstance(document, str) else json.dumps(document)
    repository.path.write_text(text, encoding="utf-8")


def _json(repository: StatusRepository) -> Any:
    return json.loads(repository.path.read_text(encoding="utf-8"))


def _add(name: str) -> Any:
    return lambda file: create(file, [DeliverableDraft(name, "Größe", ("works",))])


def _pass(name: str) -> Any:
    return lambda file: set_status(file, name, Status.PASSED)


def test_no_file_is_none_and_nothing_is_created(
    repository: StatusRepository, project: Path
) -> None:
    assert repository.load() is None
    assert list(project.iterdir()) == []


def test_the_first_change_creates_the_file(repository: StatusRepository) -> None:
    repository.update(_add("UI-001"))
    assert repository.path.read_text(encoding="utf-8") == (
        '{\n  "createdAt": "2026-03-04",\n  "updatedAt": "2026-03-04",\n'
        '  "specId": "my-project",\n  "deliverables": [\n    {\n      "id": "UI-001",\n'
        '      "description": "Größe",\n      "acceptanceCriteria": [\n        "works"\n      ],\n'
        '      "passed": false,\n      "blocked": false\n    }\n  ]\n}\n'
    )


def test_what_was_written_is_read_again(repository: StatusRepository) -> None:
    full = Deliverable(
        "UI-001", "x", ("y",), Status.BLOCKED, _TODAY, "one", ("UI-000",), ("pytest -q",)
    )
    phases = (Phase("one", "One", ("make test",)), Phase("two", "Two"))
    written = repository.update(lambda file: replace(file, deliverables=(full,), phases=phases))
    assert repository.load() == written


def test_a_file_of_autonoe_is_valid_as_it_stands(repository: StatusRepository) -> None:
    _put(repository, _AUTONOE)
    assert repository.load() == StatusFile(
        spec_id="my-project",
        created_at=date(2025, 1, 1),
        updated_at=date(2025, 1, 2),
        deliverables=(
            Deliverable("UI-001", "User Authentication", ("User can login",)),
            Deliverable("DL-002", "Legacy Feature", ("...",), Status.PASSED, date(2025, 1, 10)),
        ),
    )


def test_a_change_touches_only_what_changed(repository: StatusRepository) -> None:
    _put(repository, _AUTONOE)
    repository.update(_pass("UI-001"))
    expected = json.loads(json.dumps(_AUTONOE))
    expected["updatedAt"] = "2026-03-04"
    expected["deliverables"][0]["passed"] = True
    assert _json(repository) == expected


def test_an_existing_spec_id_wins_over_the_folder(repository: StatusRepository) -> None:
    _put(repository, {**_AUTONOE, "specId": "other.spec"})
    file = repository.load()
    assert file is not None
    assert file.spec_id == "other.spec"


def test_a_file_with_the_least_that_makes_sense_is_read(repository: StatusRepository) -> None:
    item = {"id": "my thing", "description": "", "acceptanceCriteria": [], "passed": True}
    _put(repository, {"deliverables": [item]})
    file = repository.load()
    assert file is not None
    assert file.deliverables == (Deliverable("my thing", "", (), Status.PASSED),)


def test_null_means_left_out_and_stays(repository: StatusRepository) -> None:
    item = {**_AUTONOE["deliverables"][0], "phase": None, "deprecatedAt": None, "dependsOn": None}
    _put(repository, {"phases": None, "deliverables": [item]})
    repository.update(_pass("UI-001"))
    document = _json(repository)
    assert document["phases"] is None
    assert document["deliverables"][0] == {**item, "passed": True}


def test_a_byte_order_mark_is_accepted(repository: StatusRepository) -> None:
    _put(repository, "\ufeff" + json.dumps(_AUTONOE))
    assert repository.load() is not None


def test_half_a_surrogate_pair_in_an_unknown_field_survives(
    repository: StatusRepository,
) -> None:
    _put(repository, {**_AUTONOE, "odd": "\ud83d"})
    repository.update(_pass("UI-001"))
    assert _json(repository)["odd"] == "\ud83d"


def test_phases_keep_their_unknown_fields(repository: StatusRepository) -> None:
    phases = [{"owner": "me", "id": "one", "title": "One", "verification": []}]
    _put(repository, {**_AUTONOE, "phases": phases})
    repository.update(lambda file: replace(file, phases=(*file.phases, Phase("two", "Two"))))
    assert _json(repository)["phases"] == [*phases, {"id": "two", "title": "Two"}]


def test_the_last_phase_can_be_taken_out(repository: StatusRepository) -> None:
    _put(repository, {**_AUTONOE, "phases": [{"id": "one", "title": "One"}]})
    repository.update(lambda file: replace(file, phases=()))
    assert _json(repository)["phases"] == []


def test_deprecating_writes_the_date(repository: StatusRepository) -> None:
    _put(repository, _AUTONOE)
    repository.update(lambda file: deprecate(file, "UI-001", repository.today()))
    assert _json(repository)["deliverables"][0]["deprecatedAt"] == "2026-03-04"


def test_no_change_writes_nothing(repository: StatusRepository) -> None:
    _put(repository, _AUTONOE)
    before = repository.path.stat().st_ino
    repository.update(lambda file: file)
    assert repository.path.stat().st_ino == before


def test_no_change_of_no_file_creates_no_file(repository: StatusRepository) -> None:
    repository.update(lambda file: file)
    assert not repository.path.exists()


def test_a_refused_change_leaves_the_file(repository: StatusRepository) -> None:
    _put(repository, _AUTONOE)
    before = repository.path.read_bytes()
    with pytest.raises(DeliverableError):
        repository.update(_pass("UI-404"))
    assert repository.path.read_bytes() == before


def test_old_leftovers_of_killed_writers_go_away(repository: StatusRepository) -> None:
    _put(repository, _AUTONOE)
    leftover = repository.path.parent / ".status.json.0123456789abcdef.tmp"
    leftover.write_text("{")
    os.utime(leftover, (0, 0))
    repository.update(_pass("UI-001"))
    assert not leftover.exists()


def test_a_held_lock_ends_in_an_error_and_no_change(
    repository: StatusRepository,
) -> None:
    _put(repository, _AUTONOE)
    before = repository.path.read_bytes()
    hasty = StatusRepository(repository.path, lock_timeout=0.05)
    with locked(repository.lock_path), pytest.raises(LockTimeoutError, match=r"status\.lock"):
        hasty.update(_pass("UI-001"))
    assert repository.path.read_bytes() == before


def test_reading_needs_no_lock(repository: StatusRepository) -> None:
    _put(repository, _AUTONOE)
    with locked(repository.lock_path):
        assert repository.load() is not None


def test_what_grows_beyond_what_can_be_read_is_not_written(
    repository: StatusRepository,
) -> None:
    _put(repository, _AUTONOE)
    huge = Deliverable("UI-003", "x" * MAX_FILE_BYTES, ())
    with pytest.raises(StateWriteError, match="more briefly"):
        repository.update(lambda file: replace(file, deliverables=(huge,)))
    assert _json(repository) == _AUTONOE


def test_a_read_only_project_can_be_read(mounted: Path) -> None:
    repository = StatusRepository(mounted / ".runner" / "status.json")
    _put(repository, _AUTONOE)
    subprocess.run(["mount", "-o", "remount,ro", str(mounted)], check=True)
    assert repository.load() is not None


def test_a_read_only_project_can_not_be_changed(mounted: Path) -> None:
    repository = StatusRepository(mounted / ".runner" / "status.json")
    _put(repository, _AUTONOE)
    subprocess.run(["mount", "-o", "remount,ro", str(mounted)], check=True)
    with pytest.raises(StateWriteError, match="work on a copy that can be written"):
        repository.update(_pass("UI-001"))


def test_a_full_disk_keeps_the_old_status(mounted: Path) -> None:
    repository = StatusRepository(mounted / ".runner" / "status.json")
    repository.update(_add("UI-001"))
    before = repository.path.read_bytes()
    with pytest.raises(OSError, match="No space"):
        (mounted / "ballast").write_bytes(b"x" * 2_000_000)
    with pytest.raises(StateWriteError, match="Free some disk space"):
        repository.update(_pass("UI-001"))
    assert repository.path.read_bytes() == before


def _item(**changes: Any) -> str:
    document = json.loads(json.dumps(_AUTONOE))
    document["deliverables"][1].update(changes)
    return json.dumps(document, indent=1)


_CORRUPT: dict[str, tuple[str | bytes, int, str]] = {
    "empty": ("", 1, "file is empty"),
    "white space": (" \n\n", 1, "file is empty"),
    "truncated": (json.dumps(_AUTONOE, indent=1)[:200], 11, "ends in the middle"),
    "truncated string": ('{\n"deliv', 2, "ends in the middle"),
    "NUL bytes": (b"\0" * 64, 1, "not valid JSON"),
    "torn by NUL bytes": (b'{\n"deliverables": [\0\0\0', 2, "not valid JSON"),
    "not UTF-8": (b'{\n"a": "\xff"', 2, "not UTF-8"),
    "UTF-16": ("{}".encode("utf-16"), 1, "not UTF-8"),
    "conflict": ("{\n<<<<<<< HEAD\n", 2, "merge conflict"),
    "trailing comma": ('{\n"deliverables": [],\n}', 3, "not valid JSON"),
    "two documents": ('{"deliverables": []}\n{}', 2, "not valid JSON"),
    "array": ("[]", 1, "expected an object, found an array"),
    "string": ('"deliverables"', 1, "expected an object, found a string"),
    "nested too deeply": ("[" * 100_000, 1, "nested more than"),
    "nested too deeply to write": ('{"a": ' + "[" * 600 + "]" * 600 + "}", 1, "more than 100"),
    "NaN": ('{"deliverables": [],\n"a": NaN}', 2, "NaN is not a JSON value"),
    "infinite": ('{"b": "1e999", "deliverables": [],\n"a": -1e999}', 2, "too large"),
    "endless": ('{"deliverables": [],\n"a": ' + "9" * 5000 + "}", 2, "too large"),
    "same key twice": ('{"a": {"deliverables": 1},\n"deliverables": [],\n"deliverables": []}', 3,
                       "stands twice"),
    "same key in other words": ('{"deliverables": [],\n"a": {"b": 1}, "b": 1,\n"\\u0061": 2} x', 3,
                                "stands twice"),
    "no deliverables": ("\n{}", 2, '"deliverables" is missing'),
    "deliverables null": ('{\n"deliverables": null}', 2, "must be an array, found null"),
    "deliverables object": ('{\n"deliverables": {}}', 2, "must be an array, found an object"),
    "deliverable number": ('{"deliverables": [\n1]}', 2, r"deliverables\[0\] must be an object"),
    "no id": ('{"deliverables": [\n{"description": ""}]}', 2, '"id" is missing'),
    "empty id": (_item(id=" "), 15, r"deliverables\[1\].id must be"),
    "invisible id": (_item(id="\x1b[2J"), 15, "none of them invisible"),
    "id number": (_item(id=7), 15, "must be a string, found a number"),
    "id twice": (_item(id="UI-001"), 15, 'the id "UI-001" stands twice'),
    "description null": (_item(description=None), 16, "must be a string, found null"),
    "criteria string": (_item(acceptanceCriteria="x"), 17, "must be an array, found a string"),
    "criterion number": (_item(acceptanceCriteria=["x", 1.5]), 19, r"\[1\] must be a string"),
    "passed string": (_item(passed="yes"), 20, "must be true or false, found a string"),
    "passed number": (_item(passed=1), 20, "must be true or false, found a number"),
    "passed and blocked": (_item(blocked=True), 21, '"DL-002" is both passed and blocked'),
    "date form": (_item(deprecatedAt="10.1.2025"), 22, "must be a date such as 2025-01-10"),
    "date that is none": (_item(deprecatedAt="2025-02-30"), 22, "must be a date"),
    "date boolean": (_item(deprecatedAt=True), 22, "must be a string, found true"),
    "phase number": (_item(phase=1), 23, "phase must be a string"),
    "dependsOn string": (_item(dependsOn="A"), 23, "dependsOn must be an array"),
    "verification": (_item(verification=[None]), 24, r"verification\[0\] must be a string"),
    "updatedAt": ('{\n"updatedAt": 5,\n"deliverables": []}', 2, "updatedAt must be a string"),
    "specId": ('{\n"specId": "../x",\n"deliverables": []}', 2, "specId must be letters"),
    "deep in the second of many": (
        ('{"deliverables": [{"id": "a", "description": "", "acceptanceCriteria": [], '
        '"passed": true},\n{"x": {"y": [1, 2]}, "id": "b", "description": "",\n'
        '"acceptanceCriteria": ["", "",\n null]}]}'), 4, r"acceptanceCriteria\[2\] must be"),
    "phase twice": ('{"phases": [{"id": "a"},\n{"id": "a"}], "deliverables": []}', 2, "twice"),
    "phases strings": ('{"deliverables": [],\n"phases": ["a"]}', 2, r"phases\[0\] must be"),
}  # fmt: skip


@pytest.mark.parametrize("case", _CORRUPT)
def test_a_damaged_file_is_refused_with_its_line(repository: StatusRepository, case: str) -> None:
    content, line, reason = _CORRUPT[case]
    repository.path.parent.mkdir()
    data = content.encode() if isinstance(content, str) else content
    repository.path.write_bytes(data)
    with pytest.raises(StateCorruptError, match=reason) as caught:
        repository.load()
    assert f"{repository.path}, line {line}, column " in str(caught.value)
    assert "git checkout -- .runner/status.json" in str(caught.value)


@pytest.mark.parametrize("case", ["empty", "truncated", "passed and blocked", "id twice"])
def test_a_damaged_file_is_never_overwritten(repository: StatusRepository, case: str) -> None:
    content = _CORRUPT[case][0]
    assert isinstance(content, str)
    _put(repository, content)
    with pytest.raises(StateCorruptError):
        repository.update(_add("UI-003"))
    assert repository.path.read_text(encoding="utf-8") == content


def test_the_column_is_the_values(repository: StatusRepository) -> None:
    _put(repository, '{"a": "ö{", "deliverables":\n  [ {"id": "A", "passed": "x"} ]}')
    with pytest.raises(StateCorruptError, match='line 2, column 5: "description" is missing'):
        repository.load()


def test_an_enormous_file_is_refused_unread(repository: StatusRepository) -> None:
    _put(repository, "")
    os.truncate(repository.path, 50_000_000)
    with pytest.raises(StateCorruptError, match="50000000 bytes"):
        repository.load()


def test_a_folder_in_its_place_is_refused(repository: StatusRepository) -> None:
    repository.path.mkdir(parents=True)
    with pytest.raises(StateCorruptError, match="not a regular file"):
        repository.load()


def test_a_pipe_in_its_place_does_not_block(repository: StatusRepository) -> None:
    repository.path.parent.mkdir()
    os.mkfifo(repository.path)
    with pytest.raises(StateCorruptError, match="not a regular file"):
        repository.load()


@pytest.mark.parametrize("target", ["nowhere", "../real.json"])
def test_a_symbolic_link_in_its_place_is_refused(
    repository: StatusRepository, project: Path, target: str
) -> None:
    (project / "real.json").write_text('{"deliverables": []}')
    repository.path.parent.mkdir()
    repository.path.symlink_to(target)
    with pytest.raises(StateCorruptError, match="symbolic link"):
        repository.load()


def test_a_file_in_the_folders_place_is_refused(
    repository: StatusRepository, project: Path
) -> None:
    (project / ".runner").write_text("")
    with pytest.raises(StateCorruptError, match="is not a folder"):
        repository.update(_add("UI-001"))
