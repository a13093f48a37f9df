"""Numbers and their nouns, and why something failed."""

import ast
import errno
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner import wording
from runner.wording import plural, reason


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
