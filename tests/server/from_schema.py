"""Values that fit a JSON Schema, of the kinds that our own schemas are made of."""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

_TIMES = ["2026-11-22T01:00:00Z", "2026-11-22T01:00:00+02:00", "2026-11-22 01:00", "yesterday"]


def fitting(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Return values that fit; a date-time may also be none."""
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "anyOf" in schema:
        return st.one_of([fitting(variant) for variant in schema["anyOf"]])
    return _KINDS[schema["type"]](schema)


def _object(schema: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    parts = {name: fitting(part) for name, part in schema["properties"].items()}
    required = set(schema.get("required", ()))
    return st.fixed_dictionaries(
        {name: part for name, part in parts.items() if name in required},
        optional={name: part for name, part in parts.items() if name not in required},
    )


def _array(schema: dict[str, Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(fitting(schema["items"]), max_size=2)


def _string(schema: dict[str, Any]) -> st.SearchStrategy[str]:
    if schema.get("format") == "date-time":
        return st.sampled_from(_TIMES)
    if "pattern" in schema:
        return st.from_regex(schema["pattern"], fullmatch=True)
    longest = min(schema.get("maxLength", 20), 20)
    return st.text(min_size=schema.get("minLength", 0), max_size=longest)


def _integer(schema: dict[str, Any]) -> st.SearchStrategy[int]:
    return st.integers(schema.get("minimum"), schema.get("maximum"))


def _number(schema: dict[str, Any]) -> st.SearchStrategy[float]:
    return st.floats(schema.get("minimum"), schema.get("maximum"))


_KINDS: dict[str, Callable[[dict[str, Any]], st.SearchStrategy[Any]]] = {
    "object": _object,
    "array": _array,
    "string": _string,
    "integer": _integer,
    "number": _number,
    "boolean": lambda _: st.booleans(),
}
