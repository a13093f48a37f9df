"""What was spent outlives the run, however it ended."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.loop.fakes import Recorder

from runner.errors import StateCorruptError, StateWriteError
from runner.events import (
    Notice,
    RunEvent,
    SessionActivity,
    SessionEnded,
    SessionOutcome,
    SessionResult,
    SessionStarted,
    StreamUsage,
)
from runner.marker import Instruction
from runner.records.effort import Effort, Purpose
from runner.records.spending import Spend, SpendBook, Spending, spec_budget

STARTED = SessionStarted(1, Instruction.CODING, 1, "sonnet")


def ended(cost: float, seconds: float = 0.0) -> SessionEnded:
    result = SessionResult(SessionOutcome.COMPLETED, cost_usd=cost, duration_seconds=seconds)
    return SessionEnded(1, Instruction.CODING, result)


def used(amount: float) -> SessionActivity:
    return SessionActivity(StreamUsage(amount))


def spend(project: Path, *events: RunEvent, budgeted: bool = False) -> Recorder:
    """Let a run tell these events, and end without a word, as a killed one does."""
    sink = Recorder()
    spending = Spending(SpendBook(project), sink, budgeted=budgeted)
    for event in events:
        spending(event)
    return sink


def total(project: Path) -> float:
    return SpendBook(project).load().total_usd


def test_nothing_was_spent_before_the_first_run(tmp_path: Path) -> None:
    assert SpendBook(tmp_path).load() == Spend()


def test_looking_writes_nothing(tmp_path: Path) -> None:
    SpendBook(tmp_path).load()
    assert list(tmp_path.iterdir()) == []


def test_costs_add_up_over_sessions_and_runs(tmp_path: Path) -> None:
    spend(tmp_path, STARTED, ended(0.5), STARTED, ended(0.25))
    spend(tmp_path, STARTED, ended(1.0))
    found = SpendBook(tmp_path).load()
    assert (found.total_usd, found.sessions) == (1.75, 3)


def test_what_sessions_took_is_kept_by_what_they_were_for(tmp_path: Path) -> None:
    one = replace(STARTED, task_id="A", phase_id="p")
    spend(tmp_path, one, ended(0.5, 30.0), one, ended(0.25, 15.0), STARTED, ended(1.0, 60.0))
    assert SpendBook(tmp_path).load().efforts == {
        Purpose("coding", "p", "A"): Effort(0.75, 45.0, 2),
        Purpose("coding"): Effort(1.0, 60.0, 1),
    }


def test_what_a_killed_session_cost_counts_for_what_it_was_for(tmp_path: Path) -> None:
    spend(tmp_path, replace(STARTED, task_id="A", phase_id="p"), used(0.3))
    spend(tmp_path, replace(STARTED, task_id="B", phase_id="p"), ended(0.5))
    efforts = SpendBook(tmp_path).load().efforts
    assert {p.task_id: effort.cost_usd for p, effort in efforts.items()} == {"A": 0.3, "B": 0.5}


def test_a_file_without_efforts_is_read(tmp_path: Path) -> None:
    book = SpendBook(tmp_path)
    book.path.parent.mkdir(parents=True)
    book.path.write_text('{"_schema_version": 1, "spent_usd": 3, "sessions": 1}')
    assert book.load() == Spend(3.0, 1)


def test_a_session_that_was_killed_counts_what_was_known(tmp_path: Path) -> None:
    spend(tmp_path, STARTED, ended(0.5), STARTED, used(0.1), used(0.3))
    assert total(tmp_path) == pytest.approx(0.8)


def test_what_a_killed_session_cost_is_kept_by_the_next_run(tmp_path: Path) -> None:
    spend(tmp_path, STARTED, used(0.3))
    spend(tmp_path, STARTED, ended(0.5))
    assert total(tmp_path) == pytest.approx(0.8)


def test_the_result_replaces_the_estimate(tmp_path: Path) -> None:
    spend(tmp_path, STARTED, used(0.9), ended(0.2))
    assert total(tmp_path) == pytest.approx(0.2)


def test_an_estimate_that_hardly_grew_is_not_written_again(tmp_path: Path) -> None:
    spend(tmp_path, STARTED, used(0.5), used(0.509))
    assert total(tmp_path) == pytest.approx(0.5)


def test_the_first_estimate_is_written_however_small(tmp_path: Path) -> None:
    spend(tmp_path, STARTED, used(0.0001))
    assert total(tmp_path) == pytest.approx(0.0001)


def test_nothing_is_published_while_all_goes_well(tmp_path: Path) -> None:
    assert spend(tmp_path, STARTED, used(0.5), ended(0.5)) == []


def _unwritable(project: Path) -> None:
    (project / ".runner").mkdir()
    (project / ".runner" / "autonomy").write_text("a file where a folder is needed")


def test_a_file_that_can_not_be_written_is_told_once(tmp_path: Path) -> None:
    sink = Recorder()
    spending = Spending(SpendBook(tmp_path), sink, budgeted=False)
    _unwritable(tmp_path)
    for event in (STARTED, ended(0.5), STARTED, ended(0.5)):
        spending(event)
    notices = [event for event in sink if isinstance(event, Notice)]
    assert [notice.level for notice in notices] == ["warning"]
    assert "could not be saved" in notices[0].message


def test_with_a_budget_no_session_starts_that_can_not_be_counted(tmp_path: Path) -> None:
    sink = Recorder()
    spending = Spending(SpendBook(tmp_path), sink, budgeted=True)
    _unwritable(tmp_path)
    with pytest.raises(StateWriteError):
        spending(STARTED)
    assert sink == []


def test_with_a_budget_a_cost_that_could_not_be_written_goes_with_the_next_write(
    tmp_path: Path,
) -> None:
    spending = Spending(SpendBook(tmp_path), Recorder(), budgeted=True)
    spending(STARTED)
    state = tmp_path / ".runner"
    state.rename(tmp_path / "away")
    state.write_text("in the way")
    spending(ended(0.5))
    state.unlink()
    (tmp_path / "away").rename(state)
    spending(STARTED)
    assert total(tmp_path) == pytest.approx(0.5)


DAMAGED: list[Any] = [
    "",
    "{",
    "[]",
    "[" * 100_000,
    '{"spent_usd": 3}',
    '{"_schema_version": 2, "spent_usd": 3, "sessions": 1}',
    '{"_schema_version": 1, "sessions": 1}',
    '{"_schema_version": 1, "spent_usd": "3", "sessions": 1}',
    '{"_schema_version": 1, "spent_usd": true, "sessions": 1}',
    '{"_schema_version": 1, "spent_usd": -1, "sessions": 1}',
    '{"_schema_version": 1, "spent_usd": NaN, "sessions": 1}',
    '{"_schema_version": 1, "spent_usd": 1e999, "sessions": 1}',
    '{"_schema_version": 1, "spent_usd": 1, "sessions": -1}',
    '{"_schema_version": 1, "spent_usd": 1, "sessions": 1, "open_session_usd": "x"}',
]


@pytest.mark.parametrize("text", DAMAGED, ids=range(len(DAMAGED)))
def test_a_damaged_file_is_an_error_and_never_zero(text: str, tmp_path: Path) -> None:
    book = SpendBook(tmp_path)
    book.path.parent.mkdir(parents=True)
    book.path.write_text(text)
    with pytest.raises(StateCorruptError) as raised:
        book.load()
    assert str(book.path) in raised.value.message
    assert "spent_usd" in (raised.value.hint or "")


def test_a_link_out_of_the_project_is_not_followed(tmp_path: Path) -> None:
    project = tmp_path / "project"
    book = SpendBook(project)
    book.path.parent.mkdir(parents=True)
    other = tmp_path / "other.json"
    other.write_text('{"_schema_version": 1, "spent_usd": 0, "sessions": 0}')
    book.path.symlink_to(other)
    with pytest.raises(StateCorruptError):
        book.load()


@settings(max_examples=200)
@given(text=st.text() | st.dictionaries(st.text(), st.integers()).map(json.dumps))
def test_any_text_is_refused_or_an_amount(text: str, tmp_path_factory: Any) -> None:
    book = SpendBook(tmp_path_factory.mktemp("spend"))
    book.path.parent.mkdir(parents=True)
    book.path.write_bytes(text.encode("utf-8", "replace"))
    with pytest.raises(StateCorruptError):
        book.load()


def test_without_a_budget_nothing_bounds_the_spec(tmp_path: Path) -> None:
    assert spec_budget(tmp_path, None) is None


def test_without_a_budget_a_damaged_file_is_still_an_error(tmp_path: Path) -> None:
    book = SpendBook(tmp_path)
    book.path.parent.mkdir(parents=True)
    book.path.write_text("{")
    with pytest.raises(StateCorruptError):
        spec_budget(tmp_path, None)


def test_the_budget_knows_what_earlier_runs_spent(tmp_path: Path) -> None:
    spend(tmp_path, STARTED, ended(3.0))
    budget = spec_budget(tmp_path, 10.0)
    assert budget is not None
    assert budget.left_usd(1.0) == pytest.approx(6.0)
