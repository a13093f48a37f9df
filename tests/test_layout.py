"""The tree stays small enough to find things in: names, sizes, and nothing that no one reaches."""

import ast
import importlib
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src"
ENTRY_POINTS = (
    "runner.__main__",
    "runner.cli.reference",
    "runner.replay.__main__",
    "runner.server.reference.__main__",
)
STARTED_AS_FILES = frozenset({"runner.sandbox.guard"})
"""Programs of their own, which no module imports: they are started by their path."""
MOST_MODULES_OF_A_PACKAGE = 25
LARGER_PACKAGES = {"runner.shell_policy.shell": 26, "runner.shell_policy.validators": 28}
MOST_LINES_OF_A_MODULE = 500
MOST_LINES_OF_A_FUNCTION = 60


@cache
def modules() -> dict[str, Path]:
    """Return the file of each module below src, packages under the package's own name."""
    return {
        ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path
        for path in SOURCE.rglob("*.py")
    }


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(modules()[module].read_text(encoding="utf-8"))


def mentioned(module: str) -> set[str]:
    """Return the modules that a module imports, or names in a text so that it can load them."""
    names = {module.rpartition(".")[0]}
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names |= set(re.findall(r"runner(?:\.\w+)+", node.value))
    return names & set(modules())


def by_name_at_run_time(module: str) -> set[str]:
    """Return the modules of a registry that loads what lies in its own folder, by name."""
    text = modules()[module].read_text(encoding="utf-8")
    if modules()[module].name != "__init__.py" or "import_module" not in text:
        return set()
    return {name for name in modules() if name.rpartition(".")[0] == module}


def test_every_module_is_reached_from_an_entry_point() -> None:
    waiting, reached = list(ENTRY_POINTS), set(ENTRY_POINTS)
    while waiting:
        module = waiting.pop()
        found = (mentioned(module) | by_name_at_run_time(module)) - reached
        reached |= found
        waiting += found
    assert sorted(set(modules()) - reached - STARTED_AS_FILES) == []


def test_every_public_class_has_a_name_of_its_own() -> None:
    places = defaultdict(list)
    for module in modules():
        for node in ast.walk(tree_of(module)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(module)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


@pytest.mark.parametrize("package", ["runner.autonomy", "runner.replay", "runner.shell_policy"])
def test_every_name_that_a_package_offers_is_there(package: str) -> None:
    module = importlib.import_module(package)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


def test_no_package_holds_too_many_modules() -> None:
    counts: dict[str, int] = defaultdict(int)
    for module, path in modules().items():
        if path.name != "__init__.py":
            counts[module.rpartition(".")[0]] += 1
    most = dict.fromkeys(counts, MOST_MODULES_OF_A_PACKAGE) | LARGER_PACKAGES
    assert {name: n for name, n in counts.items() if n > most[name]} == {}


def test_no_module_is_too_long() -> None:
    lengths = {name: path.read_text("utf-8").count("\n") for name, path in modules().items()}
    assert {name: n for name, n in lengths.items() if n > MOST_LINES_OF_A_MODULE} == {}


def test_no_function_is_too_long() -> None:
    long = [
        f"{module}.{node.name}"
        for module in modules()
        for node in ast.walk(tree_of(module))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno >= MOST_LINES_OF_A_FUNCTION
    ]
    assert long == []
