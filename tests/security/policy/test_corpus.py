"""The corpus: must-deny and everyday commands, in both modes. Nothing here is ever executed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from runner.security.policy import judge_command
from runner.security.settings import Mode, PolicySettings

DATA = Path(__file__).parent.parent / "data"
# Where the corpus supposes the project to be; it need not exist.
PROJECT = "/workspace/project"
DESTRUCTIVE = PolicySettings(allow_destructive=True)


def _load(name: str) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", json.loads((DATA / name).read_text(encoding="utf-8")))


def _cases(name: str) -> Iterator[tuple[str, Mode]]:
    for item in _load(name):
        for mode in item["modes"]:
            yield item["cmd"], mode


@pytest.mark.parametrize("name", ["attacks.json", "own_attacks.json"])
@pytest.mark.parametrize("settings", [PolicySettings(), DESTRUCTIVE], ids=["plain", "destructive"])
def test_must_deny_commands_are_denied(name: str, settings: PolicySettings) -> None:
    slipped = [
        (mode, command[:120])
        for command, mode in _cases(name)
        if "link-to-outside" not in command  # needs the link on disk: test_paths
        and judge_command(command, command=mode, project_dir=PROJECT, settings=settings).allowed
    ]
    assert slipped == []


@pytest.mark.parametrize("name", ["attacks.json", "own_attacks.json"])
def test_denials_are_decided_and_not_accidents(name: str) -> None:
    accidents = {
        judge_command(command, command=mode, project_dir=PROJECT).rule
        for command, mode in _cases(name)
    } & {"policy:internal", "policy:configuration"}
    assert accidents == set()


@pytest.mark.parametrize("name", ["benign.json", "own_benign.json"])
def test_everyday_commands_are_allowed(name: str) -> None:
    denied = []
    for command, mode in _cases(name):
        decision = judge_command(command, command=mode, project_dir=PROJECT, settings=DESTRUCTIVE)
        if not decision.allowed:
            denied.append((mode, command[:120], decision.reason))
    assert denied == []


def test_every_denial_says_what_is_wrong() -> None:
    silent = [
        command[:80]
        for command, mode in _cases("own_attacks.json")
        if len(judge_command(command, command=mode, project_dir=PROJECT).reason) < 20
    ]
    assert silent == []
