"""What a session took of each model, as the agent reports it with its result."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
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


# The agent reports its cost with its result. An agent that was killed, or given up on, spent money all
# the same, and a spending limit that counted it as nothing would be none. So its tokens are priced
# here: by family, at list prices of the dearest generation, rounded up rather than down.
_PER_MILLION = 1_000_000
# US dollars per million tokens: input, output. Unknown models are priced as the dearest.
_PRICES = {"haiku": (1.0, 5.0), "sonnet": (6.0, 22.5), "opus": (15.0, 75.0)}
_DEAREST = _PRICES["opus"]
_CACHE_WRITE = 2.0
_CACHE_READ = 0.1
# What the cheapest model of a family ever cost. An account that says less is not true.
_LOWEST_PRICES = {"haiku": (0.25, 1.25), "sonnet": (2.0, 10.0), "opus": (5.0, 25.0)}
_LOWEST = _LOWEST_PRICES["haiku"]
_LOWEST_CACHE_WRITE = 1.25


class SpentTokens:
    """Adds up the usage of a session's model turns."""

    def __init__(self) -> None:
        self._turns: dict[str, tuple[str, Mapping[str, Any]]] = {}

    def add(self, message_id: str | None, model: str, usage: Mapping[str, Any] | None) -> None:
        """Take note of a message. A turn comes in several messages; the dearest one counts."""
        if not usage:
            return
        key = message_id or str(len(self._turns))
        known = self._turns.get(key)
        # A later message of a turn completes it; it can't take back what the turn has used.
        if known is None or _at(_DEAREST, _CACHE_WRITE, usage) >= _at(
            _DEAREST, _CACHE_WRITE, known[1]
        ):
            self._turns[key] = (model if known is None else known[0], usage)

    @property
    def estimated_usd(self) -> float:
        """What the turns so far cost at most, in US dollars."""
        return sum(_cost(model, usage) for model, usage in self._turns.values())

    @property
    def least_usd(self) -> float:
        """What the turns so far cost at least, in US dollars."""
        return sum(_least_cost(model, usage) for model, usage in self._turns.values())

    @property
    def by_model(self) -> tuple[TokenUse, ...]:
        """What the turns so far took of each model, at the estimated cost."""
        found: dict[str, TokenUse] = {}
        for model, usage in self._turns.values():
            known = found.get(model, TokenUse(model))
            found[model] = replace(
                known,
                input_tokens=known.input_tokens + _count(usage, "input_tokens"),
                output_tokens=known.output_tokens + _count(usage, "output_tokens"),
                cache_read_tokens=known.cache_read_tokens
                + _count(usage, "cache_read_input_tokens"),
                cache_write_tokens=known.cache_write_tokens
                + _count(usage, "cache_creation_input_tokens"),
                cost_usd=known.cost_usd + _cost(model, usage),
            )
        return tuple(found.values())


def _cost(model: str, usage: Mapping[str, Any]) -> float:
    family = next((name for name in _PRICES if name in model), None)
    return _at(_PRICES[family] if family else _DEAREST, _CACHE_WRITE, usage)


def _least_cost(model: str, usage: Mapping[str, Any]) -> float:
    family = next((name for name in _LOWEST_PRICES if name in model), None)
    return _at(_LOWEST_PRICES[family] if family else _LOWEST, _LOWEST_CACHE_WRITE, usage)


def _at(prices: tuple[float, float], cache_write: float, usage: Mapping[str, Any]) -> float:
    per_input, per_output = prices
    asked = (
        _tokens(usage, "input_tokens")
        + _tokens(usage, "cache_creation_input_tokens") * cache_write
        + _tokens(usage, "cache_read_input_tokens") * _CACHE_READ
    )
    return (asked * per_input + _tokens(usage, "output_tokens") * per_output) / _PER_MILLION


def _tokens(usage: Mapping[str, Any], name: str) -> float:
    value = usage.get(name)
    return float(value) if isinstance(value, int | float) and value > 0 else 0.0


def _count(usage: Mapping[str, Any], name: str) -> int:
    return int(_tokens(usage, name))
