"""What `--thinking` means for a model: not every model takes a budget, or lets it be switched off.

Measured on the requests of Claude Code 2.1.330 (tests/config/test_thinking.py).
"""

import re
from collections.abc import Iterable

_TAKES_BUDGET = re.compile(r"(?:^|[./])claude-[a-z]+-4-5(?![0-9]*-[0-9]{1,2}\b)")
_TAKES_OFF = re.compile(r"(?:^|[./])claude-(?:[a-z]+-4-[67]|sonnet-5)(?![-.][0-9]\b)")
_WITHOUT = re.compile(r"(?:^|[./])claude-3-")

MODEL_DECIDES = "decided by the model"


def thinking_effect(model: str, tokens: int | None) -> str:
    """Return in words what the setting does for a model.

    Args:
        model: an alias or a full name, also with a provider's prefix.
        tokens: the budget; None for off.
    """
    if _WITHOUT.search(model):
        return "off"
    if _TAKES_BUDGET.search(model):
        return "off" if tokens is None else f"{tokens} tokens"
    if tokens is None and _TAKES_OFF.search(model):
        return "off"
    return MODEL_DECIDES


def thinking_summary(models: Iterable[str], tokens: int | None) -> str:
    """Return one line for all models of a run, with their names where they differ."""
    effects: dict[str, list[str]] = {}
    for model in dict.fromkeys(models):
        effects.setdefault(thinking_effect(model, tokens), []).append(model)
    if len(effects) == 1:
        return next(iter(effects))
    return ", ".join(f"{effect} ({', '.join(names)})" for effect, names in effects.items())
