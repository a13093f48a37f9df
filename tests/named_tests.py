"""Which tests a file holds, for the lists that name tests."""

import ast
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent


@cache
def functions_of(file: str) -> frozenset[str]:
    """Return the names of a file's functions; the file is named from the tests' folder."""
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in tree.body if isinstance(node, kinds))
