"""What a session took of each model."""

import pytest

from runner.agent.claude.usage import SpentTokens, reported_tokens, tokens_since
from runner.events import TokenUse

REPORTED = {
    "inputTokens": 10,
    "outputTokens": 20,
    "cacheReadInputTokens": 30,
    "cacheCreationInputTokens": 40,
    "costUSD": 0.5,
}


def test_the_agents_own_figures_are_taken() -> None:
    assert reported_tokens({"m": REPORTED}) == (TokenUse("m", 10, 20, 30, 40, 0.5),)


@pytest.mark.parametrize("usage", [None, {}, {"m": None}, {"m": {}}, {"m": {"inputTokens": "x"}}])
def test_an_agent_that_says_nothing_sensible_took_nothing(usage: object) -> None:
    assert reported_tokens(usage) == ()  # type: ignore[arg-type] # from outside


@pytest.mark.parametrize("value", [-1, float("nan"), float("inf"), True])
def test_a_figure_that_can_not_be_is_nothing(value: float) -> None:
    said = {"m": {**REPORTED, "inputTokens": value}}
    assert reported_tokens(said)[0].input_tokens == 0


def test_what_an_earlier_prompt_took_is_taken_off() -> None:
    before = (TokenUse("m", 10, 20, 30, 40, 0.5),)
    now = (TokenUse("m", 15, 20, 31, 40, 0.75), TokenUse("n", 1))
    assert tokens_since(before, now) == (TokenUse("m", 5, 0, 1, 0, 0.25), TokenUse("n", 1))


def test_a_model_that_took_nothing_since_is_left_out() -> None:
    used = (TokenUse("m", 10),)
    assert tokens_since(used, used) == ()


def test_turns_are_added_up_by_model() -> None:
    spent = SpentTokens()
    spent.add("1", "m", {"input_tokens": 10, "output_tokens": 1})
    spent.add("2", "m", {"input_tokens": 5, "cache_read_input_tokens": 7})
    spent.add("3", "n", {"output_tokens": 2})
    counted = [
        (u.model, u.input_tokens, u.output_tokens, u.cache_read_tokens) for u in spent.by_model
    ]
    assert counted == [("m", 15, 1, 7), ("n", 0, 2, 0)]
