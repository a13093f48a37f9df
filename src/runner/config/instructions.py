"""The text of an instruction: the user's override, else the one that ships with runner."""

from pathlib import Path

from runner.config.reading import read_text
from runner.errors import ConfigError
from runner.marker import Instruction
from runner.resources import data_text


def instruction_text(project_dir: Path, instruction: Instruction) -> str:
    """Return the text for `instruction` (seed 001, A.2).

    `.runner/<instruction>.md` in the project replaces the shipped text as a whole.

    Raises:
        ConfigError: the override can't be read, or is empty.
    """
    override = project_dir / ".runner" / f"{instruction}.md"
    text = read_text(override)
    if text is None:
        return data_text("instructions", f"{instruction}.md").strip()
    if not text.strip():
        raise ConfigError(
            f"The instruction override {override} is empty.",
            hint="Write the instruction into it, or remove it to use the built-in one.",
        )
    return text.strip()
