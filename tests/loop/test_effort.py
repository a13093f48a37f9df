"""What sessions took, by what they were for."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.records.effort import (
    Effort,
    Purpose,
    efforts_from,
    efforts_object,
    of_deliverables,
    of_phase,
)

CODING_A = Purpose("coding", "p", "A")
EFFORTS = {
    Purpose("initializer"): Effort(0.5, 10.0, 1),
    CODING_A: Effort(1.0, 60.0, 2),
    Purpose("coding", "p", "B"): Effort(0.25, 5.0, 1),
    Purpose("review", "p"): Effort(2.0, 30.0, 1),
    Purpose("coding", "q", "C"): Effort(4.0, 1.0, 1),
}


def test_a_phase_took_what_its_work_and_its_reviews_took() -> None:
    assert of_phase(EFFORTS, "p") == Effort(3.25, 95.0, 4)


def test_a_deliverable_took_what_the_sessions_bound_to_it_took() -> None:
    assert of_deliverables(EFFORTS)["A"] == Effort(1.0, 60.0, 2)


def test_a_phase_that_nobody_worked_on_took_nothing() -> None:
    assert of_phase(EFFORTS, "r") == Effort()


@given(
    st.dictionaries(
        st.builds(Purpose, st.text(), st.none() | st.text(), st.none() | st.text()),
        st.builds(Effort, st.floats(0, 1e9), st.floats(0, 1e9), st.integers(0, 10**6)),
    )
)
def test_efforts_survive_json(efforts: dict[Purpose, Effort]) -> None:
    assert efforts_from(efforts_object(efforts)) == efforts


@pytest.mark.parametrize(
    "change",
    [
        {"instruction": 1},
        {"phase_id": 1},
        {"cost_usd": "1"},
        {"cost_usd": True},
        {"cost_usd": -1},
        {"seconds": float("nan")},
        {"sessions": 10**400},
        {"sessions": None},
    ],
    ids=str,
)
def test_an_entry_that_makes_no_sense_is_left_out(change: dict[str, Any]) -> None:
    (good,) = efforts_object({CODING_A: Effort(1.0, 60.0, 2)})
    assert efforts_from([good | change, good]) == {CODING_A: Effort(1.0, 60.0, 2)}


@pytest.mark.parametrize("value", [None, 1, "x", {}, [1, None, "x", []]])
def test_what_is_no_list_of_entries_is_nothing(value: object) -> None:
    assert efforts_from(value) == {}
