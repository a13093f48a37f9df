"""The corpus: must-deny and everyday commands, in both modes. Nothing here is ever executed."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest
from tests.shell_policy.memory_facts import MemoryFacts

from runner.shell_policy.decision import Decision, Mode, PolicySettings
from runner.shell_policy.policy import judge_command

DATA = Path(__file__).parent.parent / "data"
# Where the corpus supposes the project to be: nothing on this machine has a say.
FACTS = MemoryFacts()
LINKED = MemoryFacts(links={"/workspace/project/src/link-to-outside": "/etc/shadow"})
PLAIN = PolicySettings()
DESTRUCTIVE = PolicySettings(allow_destructive=True)


def _load(name: str) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", json.loads((DATA / name).read_text(encoding="utf-8")))


def _cases(name: str) -> Iterator[tuple[str, Mode]]:
    for item in _load(name):
        for mode in item["modes"]:
            yield item["cmd"], mode


@cache
def _decisions(name: str, settings: PolicySettings) -> list[tuple[str, Mode, Decision]]:
    """Judge a part of the corpus, once for all tests that look at it."""
    return [(command, mode, _decision(command, mode, settings)) for command, mode in _cases(name)]


def _decision(command: str, mode: Mode, settings: PolicySettings) -> Decision:
    facts = LINKED if "link-to-outside" in command else FACTS
    return judge_command(
        command, command=mode, project_dir=facts.project, settings=settings, facts=facts
    )


@pytest.mark.parametrize("name", ["attacks.json", "own_attacks.json"])
@pytest.mark.parametrize("settings", [PLAIN, DESTRUCTIVE], ids=["plain", "destructive"])
def test_must_deny_commands_are_denied(name: str, settings: PolicySettings) -> None:
    slipped = [
        (mode, command[:120])
        for command, mode, decision in _decisions(name, settings)
        if decision.allowed
    ]
    assert slipped == []


@pytest.mark.parametrize("name", ["attacks.json", "own_attacks.json"])
def test_denials_are_decided_and_not_accidents(name: str) -> None:
    accidents = {decision.rule for _, _, decision in _decisions(name, PLAIN)} & {
        "policy:internal",
        "policy:configuration",
    }
    assert accidents == set()


@pytest.mark.parametrize("name", ["benign.json", "own_benign.json"])
def test_everyday_commands_are_allowed(name: str) -> None:
    denied = [
        (mode, command[:120], decision.reason)
        for command, mode, decision in _decisions(name, DESTRUCTIVE)
        if not decision.allowed
    ]
    assert denied == []


def test_every_denial_says_what_is_wrong() -> None:
    silent = [
        command[:80]
        for command, _, decision in _decisions("own_attacks.json", PLAIN)
        if len(decision.reason) < 20
    ]
    assert silent == []
