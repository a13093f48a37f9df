"""Numbers and their nouns, and why something failed."""

import ast
import errno
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import AwareDatetime, BaseModel, Field, ValidationError

from runner.text import messages as wording
from runner.text.messages import plural, problem, reason, stated


@pytest.mark.parametrize(
    ("count", "wanted"), [(0, "0 steps"), (1, "1 step"), (2, "2 steps"), (1000, "1000 steps")]
)
def test_a_noun_agrees_with_its_number(count: int, wanted: str) -> None:
    assert plural(count, "step") == wanted


@pytest.mark.parametrize(("count", "wanted"), [(1, "1 file differs"), (2, "2 files differ")])
def test_what_is_said_agrees_with_its_number(count: int, wanted: str) -> None:
    assert plural(count, "file differs", "files differ") == wanted


@pytest.mark.parametrize(
    ("error", "wanted"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device"),
        (PermissionError(errno.EACCES, "Permission denied", "a/b"), "Permission denied: a/b"),
        (ValueError("It is too long."), "It is too long"),
        (TimeoutError(), "TimeoutError"),
    ],
)
def test_a_reason_is_words_without_the_number_of_an_error(error: Exception, wanted: str) -> None:
    assert reason(error) == wanted


def test_a_file_that_was_named_is_not_named_again() -> None:
    assert reason(OSError(errno.EACCES, "Permission denied", "a"), named=True) == (
        "Permission denied"
    )


def _handlers_of_system_errors(tree: ast.AST) -> Iterator[ast.ExceptHandler]:
    for handler in ast.walk(tree):
        if not isinstance(handler, ast.ExceptHandler) or handler.type is None:
            continue
        if "OSError" in ast.unparse(handler.type):
            yield handler


def _shown_raw(handler: ast.ExceptHandler) -> Iterator[ast.AST]:
    for node in ast.walk(handler):
        shown = node.value if isinstance(node, ast.FormattedValue) else None
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "str" and node.args:
            shown = node.args[0]
        if isinstance(shown, ast.Name) and shown.id == handler.name:
            yield node


def test_no_message_shows_an_error_of_the_system_raw() -> None:
    source = Path(wording.__file__).parent
    raw = [
        f"{path.relative_to(source)}:{handler.lineno}"
        for path in sorted(source.rglob("*.py"))
        for handler in _handlers_of_system_errors(ast.parse(path.read_text(encoding="utf-8")))
        for _ in _shown_raw(handler)
    ]
    assert raw == []


class _Model(BaseModel, extra="forbid"):
    number: Annotated[int, Field(ge=1, le=9)] = 1
    share: float = 0.5
    word: Annotated[str, Field(max_length=3, pattern="^a")] = "a"
    choice: Literal["one", "two"] = "one"
    on: bool = True
    at: AwareDatetime | None = None
    words: Annotated[tuple[str, ...], Field(max_length=1)] = ()


@pytest.mark.parametrize(
    ("key", "value", "wanted"),
    [
        ("number", "abc", "must be a whole number"),
        ("number", 0, "must be at least 1"),
        ("number", 10, "must be at most 9"),
        ("share", "abc", "must be a number"),
        ("word", 1, "must be a string"),
        ("word", "abcd", "must have at most 3 characters"),
        ("word", "b", "must match ^a"),
        ("choice", "three", "must be 'one' or 'two'"),
        ("on", "perhaps", "must be true or false"),
        ("at", "soon", "must be a time, such as 2026-01-31T12:00:00Z"),
        ("words", 1, "must be a list"),
        ("words", ["a", "b"], "must have at most 1 entries"),
        ("colour", 1, "is not known"),
    ],
)
def test_a_wrong_value_is_told_in_our_own_words(key: str, value: object, wanted: str) -> None:
    with pytest.raises(ValidationError) as caught:
        _Model.model_validate({key: value})
    assert problem(caught.value.errors()[0]) == wanted


def test_what_a_check_of_our_own_says_is_kept() -> None:
    assert problem({"type": "value_error", "msg": "Value error, It is odd."}) == "It is odd"


def test_a_sentence_about_a_place_reads_on_or_has_a_colon() -> None:
    assert stated("limit", "must be at least 1") == "limit must be at least 1"
    assert stated("limit", "it is odd") == "limit: it is odd"
