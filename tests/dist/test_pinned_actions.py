"""Actions of others stand by the commit; nothing that GitHub fills in becomes part of a script."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.dist.steps import ROOT, WORKFLOWS, load

_USES = re.compile(r"^\s*(?:-\s+)?uses:\s*(\S+)(.*)$", re.MULTILINE)
_PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")
_VERSION = re.compile(r"\s+# v\d+\.\d+\.\d+")
PAGES = sorted((ROOT / "docs").rglob("*.md"))
FILES = [*WORKFLOWS, ROOT / "action.yml", ROOT / "README.md", *PAGES]


def foreign(path: Path) -> list[tuple[str, str]]:
    """Return what the file uses of others, each with the rest of its line."""
    found = _USES.findall(path.read_text(encoding="utf-8"))
    return [(used, rest) for used, rest in found if not used.startswith(("./", "OWNER/"))]


def unpinned(path: Path) -> list[str]:
    return [
        used + rest
        for used, rest in foreign(path)
        if not (_PINNED.fullmatch(used) and _VERSION.fullmatch(rest))
    ]


@pytest.mark.parametrize("path", [f for f in FILES if foreign(f)], ids=lambda path: path.name)
def test_actions_of_others_stand_by_commit_and_version(path: Path) -> None:
    assert unpinned(path) == []


def test_one_action_has_one_commit() -> None:
    commits: dict[str, set[str]] = {}
    for path in (*WORKFLOWS, ROOT / "action.yml"):
        for used, _ in foreign(path):
            name, _, commit = used.partition("@")
            commits.setdefault("/".join(name.split("/")[:2]), set()).add(commit)
    assert {name: found for name, found in commits.items() if len(found) > 1} == {}


def scripts(node: Any) -> Iterator[str]:
    """Yield every `run:` below a node of a workflow or an action."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "run" and isinstance(value, str):
                yield value
            else:
                yield from scripts(value)
    elif isinstance(node, list):
        for value in node:
            yield from scripts(value)


@pytest.mark.parametrize("path", [*WORKFLOWS, ROOT / "action.yml"], ids=lambda path: path.name)
def test_no_script_has_text_filled_in(path: Path) -> None:
    found = list(scripts(load(path)))
    assert found
    assert [script for script in found if "${{" in script] == []


@pytest.mark.parametrize("system", ["github-actions", "pip", "docker"])
def test_the_pins_are_kept_up_to_date(system: str) -> None:
    updates = load(ROOT / ".github/dependabot.yml")["updates"]
    assert system in {update["package-ecosystem"] for update in updates}
