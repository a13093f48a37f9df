"""Hostile commands of every mechanism are denied, whatever stands around them.

Each has an effect that docs/security.md does not accept. The templates in data/hostile.txt make
some 5,600 commands; a sample of each mechanism is judged here, all of them in the long form.
"""

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.shell_policy.memory_facts import MemoryFacts

from runner.shell_policy.decision import Mode, PolicySettings
from runner.shell_policy.policy import judge_command

STORM = os.environ.get("RUNNER_STORM") == "1"
FACTS = MemoryFacts()
WITHOUT_A_BOX = PolicySettings(shares_processes=True)
SAMPLE = 6


def _sections() -> dict[str, list[str]]:
    path = Path(__file__).parent.parent / "data/hostile.txt"
    found: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("[") and line.endswith("]") and " ]" not in line:
            found[line[1:-1]] = []
        elif line and not line.startswith("# "):
            found[list(found)[-1]].append(line.replace("␤", "\n"))
    return found


SECTIONS = _sections()
HOLES = {name: values for name, values in SECTIONS.items() if name.startswith("@")}
FRAMES = SECTIONS["FRAMES"]
MECHANISMS = [name for name in SECTIONS if name not in HOLES and name != "FRAMES"]


def _commands(mechanism: str) -> list[str]:
    return [text for template in SECTIONS[mechanism] for text in _filled(template)]


def _filled(template: str) -> Iterator[str]:
    hole = next((hole for hole in HOLES if hole in template), None)
    if hole is None:
        yield template
        return
    for value in HOLES[hole]:
        yield template.replace(hole, value)


def _framed(text: str, rng: random.Random) -> str:
    return text if "\n" in text else rng.choice(FRAMES).replace("@", text)


def _modes(mechanism: str) -> list[tuple[Mode, bool]]:
    """A review is a `sync` session that may not even write the note."""
    modes: list[tuple[Mode, bool]] = [("run", True), ("sync", True), ("sync", False)]
    only = mechanism.rpartition(": ")
    return [(mode, note) for mode, note in modes if not only[1] or mode == only[2]]


def _allowed(mechanism: str, texts: list[str]) -> list[tuple[Mode, str]]:
    return [
        (mode, text)
        for text in texts
        for mode, note in _modes(mechanism)
        if judge_command(
            text, command=mode, project_dir=FACTS.project, settings=WITHOUT_A_BOX, facts=FACTS,
            note=note,
        ).allowed
    ]  # fmt: skip


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_hostile_commands_are_denied(mechanism: str) -> None:
    rng = random.Random(mechanism)  # noqa: S311 - a test
    texts = rng.sample(_commands(mechanism), SAMPLE)
    texts += [_framed(text, rng) for text in rng.sample(_commands(mechanism), SAMPLE)]

    assert _allowed(mechanism, texts) == []


@pytest.mark.storm
@pytest.mark.timeout(1800)
@pytest.mark.skipif(not STORM, reason="long: set RUNNER_STORM=1")
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_hostile_commands_are_denied_in_a_storm(mechanism: str) -> None:
    rng = random.Random(os.environ.get("RUNNER_STORM_SEED", "hostile"))  # noqa: S311 - a test
    texts = _commands(mechanism)
    texts += [_framed(text, rng) for text in texts]

    assert _allowed(mechanism, texts) == []
