"""The structure hash and the difference between two structures."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.autonomy.kit import make_spec

from runner.autonomy.enums import TaskStatus
from runner.autonomy.spec.structure import Spec, diff_structures

BASE = make_spec({"p1": ["A", "B"], "p2": ["C"]})


def _retitled(spec: Spec) -> Spec:
    phases = tuple(
        replace(p, title="new", tasks=tuple(replace(t, title="new") for t in p.tasks))
        for p in spec.phases
    )
    return replace(spec, phases=phases)


@pytest.mark.parametrize(
    "same",
    [
        _retitled(BASE),
        make_spec({"p1": ["A", "B"], "p2": ["C"]}, passed=["A"], blocked=["B"]),
        make_spec({"p1": ["A", "B"], "p2": ["C"]}, depends={"B": ["A"]}),
        replace(BASE, mtime=7.0, size=7, common_verification=("make",)),
    ],
    ids=["titles", "statuses", "dependencies", "metadata and configuration"],
)
def test_what_is_no_structure_leaves_the_hash(same: Spec) -> None:
    assert same.structure_hash == BASE.structure_hash


@pytest.mark.parametrize(
    ("other", "field"),
    [
        (make_spec({"p1": ["A", "B", "N"], "p2": ["C"]}), "added_tasks"),
        (make_spec({"p1": ["A"], "p2": ["C"]}), "removed_tasks"),
        (make_spec({"p1": ["A", "B"], "p2": ["C"], "p3": []}), "added_phases"),
        (make_spec({"p1": ["A", "B"]}), "removed_phases"),
        (make_spec({"p1": ["B", "A"], "p2": ["C"]}), "reordered_tasks"),
        (make_spec({"p2": ["C"], "p1": ["A", "B"]}), "reordered_phases"),
        (make_spec({"p1": ["A"], "p2": ["C", "B"]}), "moved_tasks"),
        (make_spec({"p1": ["A", "B"], "p2": ["C"]}, commands={"p1": ["make"]}), "retyped"),
        (make_spec({"p1": ["A", "B"], "p2": ["C"]}, commands={"C": ["make"]}), "retyped"),
    ],
)
def test_what_is_structure_changes_the_hash_and_stands_in_the_diff(other: Spec, field: str) -> None:
    assert other.structure_hash != BASE.structure_hash
    diff = diff_structures(BASE.structure, other.structure)
    assert diff.as_dict()[field]


def test_moving_a_whole_phase_reorders_no_tasks() -> None:
    diff = diff_structures(BASE.structure, make_spec({"p2": ["C"], "p1": ["A", "B"]}).structure)
    assert (diff.reordered_tasks, diff.moved_tasks) == ((), ())


_PHASES = st.dictionaries(
    st.sampled_from(["p1", "p2", "p3"]),
    st.lists(st.sampled_from("ABCDEF"), unique=True, max_size=4),
    max_size=3,
).filter(
    lambda phases: len({t for ts in phases.values() for t in ts}) == sum(map(len, phases.values()))
)


@settings(deadline=None)
@given(_PHASES, _PHASES)
def test_the_hash_differs_exactly_when_the_diff_says_something(
    one: dict[str, list[str]], other: dict[str, list[str]]
) -> None:
    first, second = make_spec(one), make_spec(other)
    diff = diff_structures(first.structure, second.structure)
    assert (first.structure_hash != second.structure_hash) is not diff.is_empty


def test_a_task_knows_where_it_stands() -> None:
    spec = make_spec({"p1": ["A"]}, blocked=["A"])
    assert spec.tasks["A"].status is TaskStatus.BLOCKED
