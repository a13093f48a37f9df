"""The JSON Schema of the events, made from the event classes.

`python -m runner.cli.presenter.event_schema > docs/events.schema.json` writes it.
"""

import json
import sys
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import StrEnum
from typing import Any, Union, get_args, get_origin, get_type_hints, is_typeddict

from runner.app.event_json import EVENT_TYPES, VERSION, field_name
from runner.app.result import ResultObject
from runner.events import RunEnded

_PRIMITIVES: Mapping[Any, dict[str, Any]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    types.NoneType: {"type": "null"},
    Any: {},
}


def events_schema() -> dict[str, Any]:
    """Return the schema of one line of `--output-format stream-json`."""
    definitions = {
        name: _event_schema(name, ResultObject if kind is RunEnded else kind)
        for kind, name in EVENT_TYPES.items()
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "An event of runner run and runner sync",
        "oneOf": [{"$ref": f"#/$defs/{name}"} for name in definitions],
        "$defs": definitions,
    }


def schema_text() -> str:
    """Return the schema as the file holds it."""
    return json.dumps(events_schema(), indent=2) + "\n"


def _event_schema(name: str, kind: type) -> dict[str, Any]:
    common = {
        "type": {"const": name},
        "version": {"const": VERSION},
        "time": {"type": "string", "format": "date-time"},
    }
    own = {key: _type_schema(hint) for key, hint in _hints(kind).items() if key != "type"}
    return _object(common | own)


def _hints(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    if is_dataclass(kind):
        return {field_name(kind, field.name): hints[field.name] for field in fields(kind)}
    return hints


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    # Fields may be added within a version, so unknown ones are allowed.
    return {"type": "object", "required": list(properties), "properties": properties}


def _type_schema(hint: Any) -> dict[str, Any]:
    if hint in _PRIMITIVES:
        return dict(_PRIMITIVES[hint])
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return {"anyOf": [_type_schema(choice) for choice in arguments]}
    if origin is dict:
        return {"type": "object"}
    if origin is list:
        return {"type": "array", "items": _type_schema(arguments[0])}
    if origin is tuple:
        return _tuple_schema(arguments)
    if is_typeddict(hint) or is_dataclass(hint):
        return _object({key: _type_schema(inner) for key, inner in _hints(hint).items()})
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return {"enum": [member.value for member in hint]}
    raise TypeError(f"No JSON Schema for {hint!r}.")


def _tuple_schema(arguments: tuple[Any, ...]) -> dict[str, Any]:
    if arguments[-1] is Ellipsis:
        return {"type": "array", "items": _type_schema(arguments[0])}
    count = len(arguments)
    items = [_type_schema(argument) for argument in arguments]
    return {"type": "array", "prefixItems": items, "minItems": count, "maxItems": count}


if __name__ == "__main__":
    sys.stdout.write(schema_text())
