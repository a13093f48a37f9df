"""What is said of a plan that somebody wrote by hand."""

from tests.loop.fakes import deliverable

from runner.deliverables.model import Phase, StatusFile
from runner.loop.planning import idle_commands, uncovered_phases


def test_commands_that_cannot_fail_are_named_with_their_owner() -> None:
    file = StatusFile(
        "demo",
        phases=(Phase("one", "One", ("make check", "pytest || true")),),
        deliverables=(deliverable(1, phase="one", verification=("test -f x", "pytest")),),
    )
    said = list(idle_commands(file, ("true",)))
    assert [text.split("`")[1] for text in said] == ["true", "pytest || true", "test -f x"]
    assert [
        owner in text for owner, text in zip(("runner.toml", "one", "D-001"), said, strict=True)
    ]


PLAN = StatusFile(
    "demo",
    phases=(Phase("one", "One"), Phase("two", "Two", ("make check",)), Phase("three", "Three")),
    deliverables=(
        deliverable(1, phase="one"),
        deliverable(2, phase="two"),
        deliverable(3, phase="three", verification=("pytest",)),
    ),
)


def test_phases_without_any_verification_command_are_named() -> None:
    said = str(uncovered_phases(PLAN))
    assert said.startswith("No verification command covers one: ")


def test_common_commands_cover_every_phase() -> None:
    assert uncovered_phases(PLAN, ("make check",)) is None


def test_without_a_plan_there_is_nothing_to_say() -> None:
    assert list(idle_commands(None)) == []
