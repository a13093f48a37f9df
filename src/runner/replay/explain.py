"""Say in a sentence what is wrong with a script, where, and what to write instead."""

from collections.abc import Mapping
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from runner.errors import ScriptError
from runner.text import messages as wording

_NAMES = {"session": "session", "turn": "turn", "tools": "tool"}
_MISSING = "missing"
_UNKNOWN = "extra_forbidden"
_KEY_LENGTH = 120


def explain(error: ValidationError, name: str, root: type[BaseModel]) -> ScriptError:
    """Return a ScriptError for the first problem; numbers in it count from 1.

    Args:
        error: what validation found.
        name: what to call the script.
        root: the model that was validated.
    """
    problems = error.errors(include_url=False)
    first = problems[0]
    place, key = _place(first["loc"])
    message = f"{': '.join(filter(None, (name, place)))}: {_what(first, key)}."
    more = len(problems) - 1
    rest = f" ({more} more to mend after this one.)" if more else ""
    return ScriptError(message, hint=_instead(first, key, root) + rest)


def _place(loc: tuple[int | str, ...]) -> tuple[str, str]:
    """Split a location into the part of the script it is in, in words, and the key."""
    parts: list[str] = []
    keys: list[str] = []
    for item in loc:
        if isinstance(item, int) and keys and keys[-1] in _NAMES:
            parts.append(f"{_NAMES[keys.pop()]} {item + 1}")
        else:
            keys.append(str(item))
    return ", ".join(parts), _short(".".join(keys))


def _short(key: str) -> str:
    return key if len(key) <= _KEY_LENGTH else f"{key[:_KEY_LENGTH]}…"


def _what(problem: Mapping[str, Any], key: str) -> str:
    if problem["type"] == _MISSING:
        return f'"{key}" is missing'
    if problem["type"] == _UNKNOWN:
        return f'there is no key "{key}"'
    text = wording.problem(problem)
    text = text[:1].lower() + text[1:]
    return f'"{key}": {text}' if key else text


def _instead(problem: Mapping[str, Any], key: str, root: type[BaseModel]) -> str:
    if problem["type"] == "value_error":
        return "docs/scripted-model.md shows each form."
    keys = ", ".join(_keys_at(root, problem["loc"][:-1]))
    if problem["type"] == _UNKNOWN:
        return f"Write one of: {keys}."
    if problem["type"] == _MISSING:
        header = {"session": "[[session]]", "turn": "[[session.turn]]"}
        return f"Add {header.get(key, f'{key} = …')} there."
    return f"Change the value of {key}; docs/scripted-model.md lists what each key takes."


def _keys_at(model: type[BaseModel], loc: tuple[int | str, ...]) -> list[str]:
    """Return the keys of the model that a location leads to."""
    for item in loc:
        if isinstance(item, str) and item in model.model_fields:
            model = _model_in(model.model_fields[item].annotation) or model
    return list(model.model_fields)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = (_model_in(inner) for inner in get_args(annotation))
    return next((model for model in found if model is not None), None)
