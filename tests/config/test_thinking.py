"""What the thinking option does for each family of models."""

import pytest

from runner.config.thinking import MODEL_DECIDES, thinking_effect, thinking_summary


@pytest.mark.parametrize(
    ("model", "off", "budget"),
    [
        ("claude-sonnet-4-5", "off", "2048 tokens"),
        ("claude-haiku-4-5-20251001", "off", "2048 tokens"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "off", "2048 tokens"),
        ("claude-sonnet-4-6", "off", MODEL_DECIDES),
        ("claude-opus-4-7", "off", MODEL_DECIDES),
        ("claude-sonnet-5", "off", MODEL_DECIDES),
        ("claude-sonnet-5-5", MODEL_DECIDES, MODEL_DECIDES),
        ("opus", MODEL_DECIDES, MODEL_DECIDES),
        ("sonnet", MODEL_DECIDES, MODEL_DECIDES),
        ("haiku", MODEL_DECIDES, MODEL_DECIDES),
        ("claude-3-7-sonnet-latest", "off", "off"),
        ("my-gateway-model", MODEL_DECIDES, MODEL_DECIDES),
    ],
)
def test_each_family_is_described_as_it_was_measured(model: str, off: str, budget: str) -> None:
    assert (thinking_effect(model, None), thinking_effect(model, 2048)) == (off, budget)


def test_one_effect_for_all_models_needs_no_names() -> None:
    assert thinking_summary(["opus", "sonnet", "opus"], 2048) == MODEL_DECIDES


def test_different_effects_name_their_models() -> None:
    summary = thinking_summary(["opus", "claude-sonnet-4-5", "opus"], None)
    assert summary == "decided by the model (opus), off (claude-sonnet-4-5)"
