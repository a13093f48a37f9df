"""docs/scripted-model.md says what the code does."""

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from runner.marker import Instruction
from runner.replay.script import (
    Failure,
    Recording,
    ScriptSession,
    ScriptTurn,
    ToolCall,
    Usage,
    parse_script,
)

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "scripted-model.md").read_text()
SCRIPTS = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize("text", SCRIPTS)
def test_every_script_shown_is_valid(text: str) -> None:
    assert parse_script(text, name="docs").session


@pytest.mark.parametrize("model", [ScriptSession, ScriptTurn, ToolCall, Usage, Failure])
def test_every_key_is_described(model: type[BaseModel]) -> None:
    described = set(re.findall(r"`\[*(?:session\.)?(\w+)\b[^`]*`", TEXT))
    assert set(model.model_fields) <= described


def test_the_head_of_a_recording_is_described() -> None:
    described = (DOCS / "recordings.md").read_text()
    assert [key for key in Recording.model_fields if f"`{key}`" not in described] == []


def test_every_instruction_is_described() -> None:
    assert all(f"`{instruction}`" in TEXT for instruction in Instruction)
