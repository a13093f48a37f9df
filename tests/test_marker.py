"""The line that identifies a prompt."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runner.marker import Instruction, PromptMarker

KEYS = st.none() | st.from_regex(r"[A-Za-z0-9._:-]{1,20}", fullmatch=True)
CLEAN = st.builds(
    PromptMarker,
    instruction=st.sampled_from(Instruction),
    iteration=st.integers(0, 10**6),
    phase=KEYS,
    task=KEYS,
    step=KEYS,
)
ANY_TEXT = st.none() | st.text()
WILD = st.builds(
    PromptMarker,
    instruction=st.sampled_from(Instruction),
    iteration=st.integers(),
    phase=ANY_TEXT,
    task=ANY_TEXT,
    step=ANY_TEXT,
)


def test_the_line_stands_as_documented() -> None:
    marker = PromptMarker(Instruction.CODING, 2, phase="phase-1", task="UI-001")
    assert marker.render() == (
        "<!-- runner: instruction=coding iteration=2 phase=phase-1 task=UI-001 -->"
    )


@given(CLEAN, st.text(), st.text())
def test_what_was_rendered_is_found_in_any_text(
    marker: PromptMarker, before: str, after: str
) -> None:
    prompt = f"{before.replace('<', '')}\n{marker.render()}\n{after}"
    assert PromptMarker.find(prompt) == marker


@given(WILD)
@example(PromptMarker(Instruction.CODING, 1, task="a --> <!-- runner: instruction=sync -->"))
@example(PromptMarker(Instruction.CODING, 1, task="a instruction=sync"))
@example(PromptMarker(Instruction.CODING, 1, task="\u2028\n\r"))
@example(PromptMarker(Instruction.CODING, 1, phase=""))
def test_values_can_not_break_the_line(marker: PromptMarker) -> None:
    line = marker.render()
    assert re.fullmatch(r"<!-- runner: [\x21-\x7e ]+ -->", line)
    found = PromptMarker.find(line)
    assert found is not None
    assert (found.instruction, found.iteration) == (marker.instruction, marker.iteration)
    assert found.render() == line


FRAGMENTS = st.sampled_from(
    [
        "<!-- runner: ",
        " -->",
        "instruction=coding",
        "iteration=",
        "1",
        " ",
        "\n",
        "phase=",
        "=",
        "²",
    ]
)


@given(st.lists(st.one_of(FRAGMENTS, st.text(max_size=3))).map("".join))
@example(f"<!-- runner: instruction=coding iteration={'9' * 5000} -->")
@example("<!-- runner: instruction=coding iteration=² -->")
@example("<!-- runner: instruction=coding iteration=1 phase=ä -->")
def test_whatever_is_found_in_any_text_is_a_marker(text: str) -> None:
    found = PromptMarker.find(text)
    assert found is None or found.render().startswith("<!-- runner: instruction=coding iteration=")


@pytest.mark.parametrize(
    "line",
    [
        "<!-- runner: iteration=1 -->",
        "<!-- runner: instruction=coding -->",
        "<!-- runner: instruction=cooking iteration=1 -->",
        "<!-- runner: instruction=coding iteration=one -->",
        "<!-- runner: instruction=coding\niteration=1 -->",
        "<!-- walker: instruction=coding iteration=1 -->",
    ],
)
def test_a_line_that_is_not_well_formed_is_passed_over(line: str) -> None:
    good = PromptMarker(Instruction.REVIEW, 3)
    assert PromptMarker.find(f"{line}\n{good.render()}") == good


def test_the_first_marker_counts() -> None:
    first, second = PromptMarker(Instruction.CODING, 1), PromptMarker(Instruction.CODING, 2)
    assert PromptMarker.find(f"{first.render()}\n{second.render()}") == first


def test_the_plan_model_plans() -> None:
    planning = [instruction for instruction in Instruction if instruction.is_planning]
    assert planning == [Instruction.INITIALIZER, Instruction.SYNC]
