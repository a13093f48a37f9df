"""CONTRIBUTING's map of the sources is the tree, and the places that it names exist."""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src/runner"
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
MAP = re.findall(r"^```\nsrc/runner/\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)[0]
ADVICE = TEXT.partition("## How to add …")[2].partition("\n## ")[0]
_NAME = re.compile(r"`([A-Z]\w+)`")
_PATH = re.compile(r"`([\w.*-]+/[\w./*-]*|\w+\.py)`")
NOT_OURS = {"COMMAND"}


def mapped() -> list[str]:
    """Return what begins a line of the map, and all modules of its last lines."""
    entries = re.findall(r"^  (\S+/) ", MAP, re.MULTILINE)
    return [*entries, *re.findall(r"\b\w+\.py\b", MAP)]


@cache
def defined() -> frozenset[str]:
    code = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py"))
    names = r"^class (\w+)|^(\w+)(?:: [^=\n]+)? = "
    return frozenset(name for pair in re.findall(names, code, re.MULTILINE) for name in pair)


def test_the_map_is_the_tree() -> None:
    packages = {f"{path.parent.name}/" for path in SOURCES.glob("*/__init__.py")}
    modules = {path.name for path in SOURCES.glob("*.py") if not path.name.startswith("_")}
    assert sorted(mapped()) == sorted(packages | modules)


def test_the_packages_inside_are_named() -> None:
    named = set(re.findall(r"\b(\w+)/", MAP.partition("  autonomy/")[2].partition("\n")[0]))
    assert named == {path.parent.name for path in SOURCES.glob("autonomy/*/__init__.py")}


@pytest.mark.parametrize("path", sorted(set(_PATH.findall(ADVICE))))
def test_a_place_of_the_advice_exists(path: str) -> None:
    assert [*SOURCES.glob(path.rstrip("/")), *ROOT.glob(path.rstrip("/"))] != []


@pytest.mark.parametrize("name", sorted(set(_NAME.findall(ADVICE)) - NOT_OURS))
def test_a_name_of_the_advice_is_defined(name: str) -> None:
    assert name in defined()
