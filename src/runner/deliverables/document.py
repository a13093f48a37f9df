"""JSON text as it stands in a file people edit: strict reading, positions, faithful writing."""

import json
import math
import re
from collections.abc import Iterable
from json import JSONDecodeError, JSONDecoder
from pathlib import Path
from typing import Any, NoReturn

from runner.errors import StateCorruptError

Pointer = tuple[str | int, ...]

_DECODER = JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_MAX_DIGITS = 300
_MAX_DEPTH = 100
_STRING = r'"(?:[^"\\]|\\.)*"'
_TOKEN = re.compile(
    rf"(?P<key>{_STRING})\s*:|{_STRING}|[{{}}]|(?P<constant>NaN|-?Infinity)|(?P<number>-?\d[\d.eE+-]*)"
)
_CONFLICT_MARKERS = ("<<<<<<<", "=======", ">>>>>>>")


class InvalidValueError(Exception):
    """A value is not what it should be; `pointer` says which, from the document's root."""

    def __init__(self, pointer: Pointer, message: str) -> None:
        super().__init__(message)
        self.pointer = pointer
        self.message = message


def parse_object(path: Path, data: bytes) -> tuple[dict[str, Any], str]:
    """Read a JSON object; return it with its text, which `corrupt_value` takes.

    A byte order mark is accepted, as editors add one. What JSON leaves open is refused:
    repeated keys, NaN, numbers beyond a float.

    Raises:
        StateCorruptError: with the line and column where reading failed.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        raise _corrupt(path, line, column, "the text is not UTF-8") from error
    if not text.strip():
        raise _corrupt(path, 1, 1, "the file is empty")
    try:
        value = json.loads(
            text,
            object_pairs_hook=_unique_keys,
            parse_constant=_refuse_constant,
            parse_float=_finite_float,
            parse_int=_bounded_int,
        )
    except JSONDecodeError as error:
        raise _corrupt(path, error.lineno, error.colno, _reason(text, error)) from error
    except RecursionError as error:
        raise _too_deep(path) from error
    except ValueError as error:
        line, column = _position(text, _find_refused(text))
        raise _corrupt(path, line, column, str(error)) from error
    if not isinstance(value, dict):
        raise _corrupt(path, 1, 1, f"expected an object, found {type_name(value)}")
    if _is_deeper(value, _MAX_DEPTH):
        raise _too_deep(path)
    return value, text


def corrupt_value(path: Path, text: str, error: InvalidValueError) -> StateCorruptError:
    """Return the error that shows where in the file the invalid value stands."""
    line, column = _position(text, _locate(text, error.pointer))
    return _corrupt(path, line, column, error.message)


def unusable(path: Path, what: str) -> StateCorruptError:
    """Return the error for a file that can't even be read as text."""
    return StateCorruptError(f"{path} can't be used: {what}.", hint=_hint(path))


def dump(value: dict[str, Any]) -> str:
    """Return two-space JSON with a final line break; text that is not ASCII stays readable."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    # Half a surrogate pair can't be UTF-8. It came in as an escape, and goes out as one.
    return _SURROGATE.sub(lambda m: f"\\u{ord(m[0]):04x}", text) + "\n"


def type_name(value: Any) -> str:
    """Return what JSON calls the type of `value`, with its article."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    names = {dict: "an object", list: "an array", str: "a string", int: "a number"}
    return names.get(type(value), "a number")


def _corrupt(path: Path, line: int, column: int, what: str) -> StateCorruptError:
    return StateCorruptError(
        f"{path}, line {line}, column {column}: {what}. The file was left as it is.",
        hint=_hint(path),
    )


def _too_deep(path: Path) -> StateCorruptError:
    return _corrupt(path, 1, 1, f"it is nested more than {_MAX_DEPTH} levels deep")


def _is_deeper(value: Any, limit: int) -> bool:
    """Tell it without recursion: what is read must also be writable, from any stack depth."""
    level = [value]
    for _ in range(limit):
        level = [child for item in level for child in _children(item)]
    return bool(level)


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _hint(path: Path) -> str:
    return (
        "Repair it there, or bring back the last committed version: "
        f"git checkout -- {path.parent.name}/{path.name}"
    )


def _reason(text: str, error: JSONDecodeError) -> str:
    if text.split("\n")[error.lineno - 1].startswith(_CONFLICT_MARKERS):
        return "a merge conflict is not resolved"
    if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
        return "the text ends in the middle"
    return f"not valid JSON ({error.msg})"


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return result


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def _bounded_int(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueError("a number is too large")
    return int(digits)


def _finite_float(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError("a number is too large")
    return number


def _find_refused(text: str) -> int:
    """Find what a parsing hook refused: hooks are not told where they are."""
    open_objects: list[set[str]] = []
    for token in _TOKEN.finditer(text):
        word = token[0]
        if word == "{":
            open_objects.append(set())
        elif word == "}":
            open_objects.pop()
        elif token["constant"] or (token["number"] and _is_too_large(word)):
            return token.start()
        elif token["key"]:
            key = json.loads(token["key"])  # "\u0061" and "a" are the same key
            if key in open_objects[-1]:
                return token.start()
            open_objects[-1].add(key)
    return 0


def _is_too_large(number: str) -> bool:
    try:
        return len(number) > _MAX_DIGITS or math.isinf(float(number))
    except ValueError:
        return True  # 1e999x: the parser refused the number before it saw what follows


def _position(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def _locate(text: str, pointer: Pointer) -> int:
    """Return the offset of the value at `pointer`, or of its nearest container that exists."""
    position = _skip_space(text, 0)
    for part in pointer:
        found = _find_child(text, position, part)
        if found is None:
            return position
        position = found
    return position


def _find_child(text: str, container: int, part: str | int) -> int | None:
    is_object = text[container] == "{"
    position = _skip_space(text, container + 1)
    index = 0
    while text[position] not in "}]":
        key: str | int = index
        if is_object:
            key, position = _DECODER.raw_decode(text, position)
            position = _skip_space(text, _skip_space(text, position) + 1)
        if key == part:
            return position
        _, position = _DECODER.raw_decode(text, position)
        position = _skip_space(text, position)
        if text[position] == ",":
            position = _skip_space(text, position + 1)
        index += 1
    return None


def _skip_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position
