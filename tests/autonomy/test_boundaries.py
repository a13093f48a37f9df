"""The page of boundaries names tests that exist, and surfaces that nobody gets around."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.shell_policy.policy import judge_command

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "boundaries.md"
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
_ROW = re.compile(r"^\| (?!---)", re.MULTILINE)


def _named() -> list[tuple[str, str]]:
    return _TEST.findall(PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("path", "name"), _named())
def test_every_test_that_the_page_names_exists(path: str, name: str) -> None:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    assert name in {node.name for node in tree.body if isinstance(node, functions)}


def test_every_hard_and_firm_boundary_names_a_test() -> None:
    enforced = PAGE.read_text(encoding="utf-8").split("\n## Soft")[0]
    headings = len(re.findall(r"^\| boundary ", enforced, re.MULTILINE))
    assert len(_ROW.findall(enforced)) - headings == len(_TEST.findall(enforced))


@pytest.mark.parametrize(
    "command",
    [
        "AUTORUNNER_ROLE=maintainer pytest -q",
        "env AUTORUNNER_POSTURE=debug pytest -q",
        "export AUTORUNNER_ROLE=maintainer",
        "export AUTORUNNER_FEATURE_AUTONOMY_WRITE_LOCK=off",
        "runner session end",
        "python -m runner session end",
        "echo '[posture]' > .runner/runner.toml",
        "rm -rf .runner/autonomy",
    ],
)
def test_an_agent_can_not_change_what_it_may(command: str, tmp_path: Path) -> None:
    assert not judge_command(command, project_dir=tmp_path).allowed


def _calls(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield getattr(node.func, "attr", getattr(node.func, "id", ""))


def _surfaces() -> list[Path]:
    folders = ("cli", "server", "loop", "agent")
    found = [path for name in folders for path in (ROOT / "src" / "runner" / name).rglob("*.py")]
    return [path for path in found if path.parent.name != "reference"]  # it makes documents


def test_no_surface_makes_a_control_plane_without_a_policy() -> None:
    by_hand = [
        str(path.relative_to(ROOT))
        for path in _surfaces()
        if "ControlPlane" in set(_calls(ast.parse(path.read_text(encoding="utf-8"))))
    ]
    assert by_hand == []
