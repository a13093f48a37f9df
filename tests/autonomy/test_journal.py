"""The journal: chain, torn lines, pages from the end."""

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.autonomy.plane import START

from runner.autonomy.models import JournalEntry
from runner.autonomy.store.journal import Journal
from runner.autonomy.store.port import GENESIS

_TEXT = st.text(max_size=40)


def _entry(seq: int, content: str = "") -> JournalEntry:
    return JournalEntry(
        seq=seq,
        at=START,
        session_id="auto_1",
        spec_id="demo",
        entry_type="note",
        title="T",
        content=content,
    )


def _numbers(journal: Journal, limit: int) -> list[int]:
    """Return the numbers of all entries, read page by page, newest first."""
    numbers, end = [], None
    while True:
        page = journal.page(limit, end)
        numbers += [entry["seq"] for entry in page.entries]
        end = page.next_end
        if end is None:
            return numbers


def test_an_empty_journal_has_neither_tail_nor_pages(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    assert journal.tail().seq == 0
    assert journal.page(5).entries == ()
    assert journal.first_break() is None


def test_appending_twice_writes_once(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    journal.append([_entry(1), _entry(2)])
    journal.append([_entry(1), _entry(2), _entry(3)])
    assert _numbers(journal, 10) == [3, 2, 1]


@pytest.mark.parametrize("added", [b'{"seq": 2}\n', b'{"seq": 2}\n{"to'])
def test_an_end_that_has_moved_since_it_was_read_is_read_again(
    tmp_path: Path, added: bytes
) -> None:
    path = tmp_path / "j"
    journal = Journal(path)
    journal.append([_entry(1)])
    before = journal.tail()
    with path.open("ab") as file:
        file.write(added)
    journal.append([_entry(2), _entry(3)], tail=before)
    assert _numbers(journal, 10) == [3, 2, 1]


def test_an_end_that_was_cut_off_since_it_was_read_leaves_no_hole(tmp_path: Path) -> None:
    path = tmp_path / "j"
    journal = Journal(path)
    journal.append([_entry(1), _entry(2)])
    before = journal.tail()
    path.write_bytes(b"")
    journal.append([_entry(3)], tail=before)
    assert path.read_bytes().startswith(b'{"seq":3,')


def test_a_journal_is_no_program(tmp_path: Path) -> None:
    Journal(tmp_path / "j").append([_entry(1)])
    assert (tmp_path / "j").stat().st_mode & 0o111 == 0


def test_each_line_carries_the_hash_of_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "j"
    journal = Journal(path)
    journal.append([_entry(1)])
    first = journal.tail().line_hash
    journal.append([_entry(2)])
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [line["prev"] for line in lines] == [GENESIS, first]


@settings(max_examples=60, deadline=None)
@given(contents=st.lists(_TEXT, max_size=30), limit=st.integers(1, 9))
def test_pages_give_every_entry_once_newest_first(contents: list[str], limit: int) -> None:
    with TemporaryDirectory() as folder:
        journal = Journal(Path(folder) / "j")
        for number, content in enumerate(contents, 1):
            journal.append([_entry(number, content)])
        assert _numbers(journal, limit) == list(range(len(contents), 0, -1))
        assert journal.first_break() is None


@settings(max_examples=60, deadline=None)
@given(contents=st.lists(_TEXT, min_size=1, max_size=8), cut=st.integers(1, 400))
def test_a_torn_end_is_dropped_and_written_again(contents: list[str], cut: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "j"
        journal = Journal(path)
        entries = [_entry(n, c) for n, c in enumerate(contents, 1)]
        journal.append(entries)
        whole = path.read_bytes()
        path.write_bytes(whole[:-cut])
        expected = whole[:-cut].count(b"\n")
        assert journal.tail().seq == expected
        assert _numbers(journal, 3) == list(range(expected, 0, -1))
        journal.append(entries)
        assert path.read_bytes() == whole


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_changed_or_lost_line_breaks_the_chain(data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "j"
        journal = Journal(path)
        journal.append([_entry(n, "content") for n in range(1, 7)])
        lines = path.read_bytes().splitlines(keepends=True)
        victim = data.draw(st.integers(0, 4))
        if data.draw(st.booleans()):
            lines[victim] = lines[victim].replace(b"content", b"CONTENT")
        else:
            del lines[victim]
        path.write_bytes(b"".join(lines))
        assert journal.first_break() is not None


@pytest.mark.parametrize("limit", [1, 2, 3, 6, 7])
def test_the_pages_of_a_journal_are_chained(tmp_path: Path, limit: int) -> None:
    journal = Journal(tmp_path / "j")
    journal.append([_entry(n, "content") for n in range(1, 7)])
    page = journal.page(limit)
    while page.next_end is not None:
        assert page.is_chained
        page = journal.page(limit, page.next_end)
    assert page.is_chained


@pytest.mark.parametrize(
    "lines",
    [
        lambda lines: [lines[0], lines[1].replace(b"content", b"CONTENT"), *lines[2:]],
        lambda lines: lines[1:],
        lambda lines: [*lines[:3], *lines[4:]],
        lambda lines: [*lines, lines[-1]],
        lambda lines: [*lines[:2], b"rubbish\n", *lines[2:]],
        lambda lines: [*lines[:2], b"{}\n", *lines[2:]],
    ],
    ids=["edited", "first lost", "one lost", "one twice", "rubbish", "empty"],
)
def test_a_page_shows_that_it_was_changed(
    tmp_path: Path, lines: Callable[[list[bytes]], list[bytes]]
) -> None:
    path = tmp_path / "j"
    Journal(path).append([_entry(n, "content") for n in range(1, 7)])
    path.write_bytes(b"".join(lines(path.read_bytes().splitlines(keepends=True))))
    assert not Journal(path).page(10).is_chained


@pytest.mark.parametrize("size", [10, 16 * 1024, 40 * 1024])
def test_lines_longer_than_a_block_are_read_whole(tmp_path: Path, size: int) -> None:
    journal = Journal(tmp_path / "j")
    for number in range(1, 4):
        journal.append([_entry(number, "x" * size)])
    assert _numbers(journal, 1) == [3, 2, 1]
    assert journal.tail().seq == 3


@settings(max_examples=100, deadline=None)
@given(rubbish=st.binary(max_size=300), end=st.integers(0, 2000))
def test_rubbish_never_upsets_a_reader(rubbish: bytes, end: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "j"
        journal = Journal(path)
        journal.append([_entry(1)])
        with path.open("ab") as file:
            file.write(rubbish)
        journal.tail()
        journal.page(3, end)
        journal.append([_entry(journal.tail().seq + 1)])
        assert journal.page(1).entries[0]["seq"] == journal.tail().seq


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="counts reads as Linux does")
def test_the_cost_of_a_page_does_not_depend_on_the_length(tmp_path: Path) -> None:
    path = tmp_path / "j"
    Journal(path).append([_entry(n) for n in range(1, 2001)])
    size = path.stat().st_size
    assert _bytes_read_by(lambda: Journal(path).page(20)) < size / 2


def _bytes_read_by(operation: Callable[[], object]) -> int:
    def total() -> int:
        fields = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
        return int(fields[0].split()[1])

    before = total()
    operation()
    return total() - before
