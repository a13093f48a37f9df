"""What a session that never accounted for itself has cost."""

from collections.abc import Mapping

import pytest

from runner.agent.claude.usage import SpentTokens

USAGE = {"input_tokens": 1_000_000, "output_tokens": 100_000}


def spent(model: str, usage: Mapping[str, object]) -> float:
    tokens = SpentTokens()
    tokens.add("m1", model, usage)
    return tokens.estimated_usd


def test_nothing_said_costs_nothing() -> None:
    assert SpentTokens().estimated_usd == 0


def test_tokens_are_priced_by_family() -> None:
    costs = [
        spent(model, USAGE) for model in ("claude-haiku-9", "claude-sonnet-9", "claude-opus-9")
    ]
    assert 0 < costs[0] < costs[1] < costs[2]


def test_an_unknown_model_is_priced_as_the_dearest() -> None:
    assert spent("mystery", USAGE) == spent("claude-opus-9", USAGE)


def test_a_turn_that_comes_in_several_messages_is_counted_once() -> None:
    tokens = SpentTokens()
    tokens.add("m1", "claude-opus-9", {"input_tokens": 10, "output_tokens": 1})
    tokens.add("m1", "claude-opus-9", USAGE)
    assert tokens.estimated_usd == spent("claude-opus-9", USAGE)


def test_turns_add_up() -> None:
    tokens = SpentTokens()
    tokens.add("m1", "claude-opus-9", USAGE)
    tokens.add("m2", "claude-opus-9", USAGE)
    assert tokens.estimated_usd == pytest.approx(2 * spent("claude-opus-9", USAGE))


@pytest.mark.parametrize("value", [None, "many", -5, [1]])
def test_counts_that_make_no_sense_are_left_out(value: object) -> None:
    assert spent("claude-opus-9", {"input_tokens": value}) == 0
