"""Where the text of an instruction comes from."""

from pathlib import Path

import pytest

from runner.config.instructions import instruction_text
from runner.errors import ConfigError
from runner.marker import Instruction


def _override(project: Path) -> Path:
    path = project / ".runner" / "coding.md"
    path.parent.mkdir()
    return path


@pytest.mark.parametrize("instruction", [Instruction.INITIALIZER, Instruction.CODING])
def test_the_shipped_text_is_the_default(instruction: Instruction, tmp_path: Path) -> None:
    text = instruction_text(tmp_path, instruction)
    assert len(text.splitlines()) > 5
    assert text == text.strip()


def test_an_override_replaces_the_whole_text(tmp_path: Path) -> None:
    _override(tmp_path).write_text("\nWork: slöwly.\n", encoding="utf-8")
    assert instruction_text(tmp_path, Instruction.CODING) == "Work: slöwly."


def test_an_override_is_for_its_own_instruction(tmp_path: Path) -> None:
    _override(tmp_path).write_text("Work.")
    assert instruction_text(tmp_path, Instruction.INITIALIZER) != "Work."


@pytest.mark.parametrize("content", [b"", b" \n", b"\xff\xfe"])
def test_an_override_that_says_nothing_is_refused(content: bytes, tmp_path: Path) -> None:
    path = _override(tmp_path)
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=str(path)):
        instruction_text(tmp_path, Instruction.CODING)


def test_a_folder_in_place_of_an_override_is_refused(tmp_path: Path) -> None:
    _override(tmp_path).mkdir()
    with pytest.raises(ConfigError, match="can't be read"):
        instruction_text(tmp_path, Instruction.CODING)
