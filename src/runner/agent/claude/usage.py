"""What a session took of each model, as the agent reports it with its result."""

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

from runner.events import TokenUse

_FIELDS = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "cache_read_tokens": "cacheReadInputTokens",
    "cache_write_tokens": "cacheCreationInputTokens",
}


def reported_tokens(usage: Mapping[str, Any] | None) -> tuple[TokenUse, ...]:
    """Return what an agent's `modelUsage` says; a model about which it says nothing is left out."""
    found = (
        TokenUse(
            model,
            **{name: int(_amount(said, key)) for name, key in _FIELDS.items()},
            cost_usd=_amount(said, "costUSD"),
        )
        for model, said in (usage or {}).items()
        if isinstance(said, Mapping)
    )
    return tuple(used for used in found if used != TokenUse(used.model))


def tokens_since(before: Iterable[TokenUse], now: Iterable[TokenUse]) -> tuple[TokenUse, ...]:
    """Return what was taken after `before`: the agent counts over its whole life."""
    known = {used.model: used for used in before}
    found = (_less(used, known.get(used.model, TokenUse(used.model))) for used in now)
    return tuple(used for used in found if used != TokenUse(used.model))


def _less(now: TokenUse, before: TokenUse) -> TokenUse:
    return TokenUse(
        now.model,
        max(now.input_tokens - before.input_tokens, 0),
        max(now.output_tokens - before.output_tokens, 0),
        max(now.cache_read_tokens - before.cache_read_tokens, 0),
        max(now.cache_write_tokens - before.cache_write_tokens, 0),
        max(now.cost_usd - before.cost_usd, 0.0),
    )


def _amount(said: Mapping[str, Any], key: str) -> float:
    value = said.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return float(value) if isfinite(value) and value > 0 else 0.0
