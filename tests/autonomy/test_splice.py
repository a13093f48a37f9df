"""Changing one status in the text of `status.json`."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.autonomy.plane import statuses, write_status

from runner.autonomy.enums import TaskStatus
from runner.autonomy.models import TaskChange
from runner.autonomy.spec.source import SpecSource, SpecUnreadableError, is_plain, with_status

_IDS = st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=5, unique=True)


def _document(ids: list[str], **extra: Any) -> dict[str, Any]:
    return {
        "specId": "demo",
        "phases": [{"id": i, "title": "t", "passed": False, "blocked": False} for i in ids],
        "deliverables": [
            {"id": i, "description": i, "passed": False, "blocked": False, **extra} for i in ids
        ],
        "tail": [{"id": i, "passed": False} for i in ids],
    }


def _dump(document: dict[str, Any]) -> bytes:
    text = json.dumps(document, indent=2, ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


@settings(deadline=None)
@given(ids=_IDS, data=st.data(), status=st.sampled_from(list(TaskStatus)))
def test_exactly_the_one_status_changes(
    ids: list[str], data: st.DataObject, status: TaskStatus
) -> None:
    nested = data.draw(st.sampled_from([{}, {"id": ids[0], "passed": True, "blocked": False}]))
    document = _document(ids, note=nested)
    text = _dump(document)
    assert is_plain(text, ids)
    victim = data.draw(st.integers(0, len(ids) - 1))
    changed = with_status(text, ids[victim], status)
    assert changed is not None
    document["deliverables"][victim] |= {
        "passed": status is TaskStatus.PASSED,
        "blocked": status is TaskStatus.BLOCKED,
    }
    assert json.loads(changed) == document


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(_document(["A"])),
        json.dumps(_document(["A"]), indent=4),
        json.dumps(_document(["A"]), indent=2).replace('      "blocked": false\n', ""),
        '{"deliverables": []}',
        "",
    ],
)
def test_another_layout_is_not_touched(text: str) -> None:
    assert not is_plain(text.encode(), ["A"])


def test_text_that_names_other_deliverables_is_not_plain() -> None:
    text = _dump(_document(["A", "B"]))
    assert not is_plain(text, ["B", "A"])
    assert not is_plain(text, ["A"])


def test_an_unknown_deliverable_is_not_found() -> None:
    assert with_status(_dump(_document(["A"])), "B", TaskStatus.PASSED) is None


def _source(workspace: Path) -> SpecSource:
    write_status(workspace, {"p1": ["A-001", "A-002", "A-003"]})
    return SpecSource(workspace)


def _passed(task_id: str) -> list[TaskChange]:
    return [TaskChange(task_id=task_id, status=TaskStatus.PASSED)]


def test_both_ways_of_writing_end_in_the_same_file(tmp_path: Path) -> None:
    short, long = _source(tmp_path / "short"), _source(tmp_path / "long")
    for task_id in ("A-001", "A-002", "A-003"):
        short.apply(_passed(task_id))
    everything = [change for i in ("A-001", "A-002", "A-003") for change in _passed(i)]
    long.apply(everything)
    name = Path(".runner") / "status.json"
    assert (tmp_path / "short" / name).read_bytes() == (tmp_path / "long" / name).read_bytes()


def test_the_source_knows_what_it_wrote(tmp_path: Path) -> None:
    source = _source(tmp_path)
    structure = source.read().structure_hash
    for task_id in ("A-001", "A-002"):
        source.apply(_passed(task_id))
        assert source.read().tasks[task_id].status is TaskStatus.PASSED
    assert source.read().structure_hash == structure
    assert SpecSource(tmp_path).read().structure_hash == structure


def test_the_source_sees_what_others_wrote(tmp_path: Path) -> None:
    one, other = _source(tmp_path), SpecSource(tmp_path)
    for task_id in ("A-001", "A-002", "A-003"):
        one.apply(_passed(task_id))
        assert other.read().tasks[task_id].status is TaskStatus.PASSED
        other.apply([TaskChange(task_id=task_id, status=TaskStatus.PENDING)])
        assert one.read().tasks[task_id].status is TaskStatus.PENDING


def test_a_deliverable_that_is_gone_is_passed_over(tmp_path: Path) -> None:
    source = _source(tmp_path)
    source.apply(_passed("A-001"))
    source.apply(_passed("GONE-001"))
    assert set(statuses(tmp_path)) == {"A-001", "A-002", "A-003"}


@pytest.mark.parametrize("kind", ["missing", "folder", "link", "damaged"])
def test_a_spec_that_cannot_be_read_says_so(tmp_path: Path, kind: str) -> None:
    path = write_status(tmp_path, {"p1": ["A-001"]})
    content = path.read_bytes()
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind == "link":
        target = tmp_path / "other.json"
        target.write_bytes(content)
        path.symlink_to(target)
    elif kind == "damaged":
        path.write_bytes(content[:-20])
    with pytest.raises(SpecUnreadableError):
        SpecSource(tmp_path).read()
