"""The text of an instruction: the user's override, else the one that ships with runner."""

from pathlib import Path

from runner.config.reading import read_text
from runner.errors import ConfigError, PrerequisiteError
from runner.marker import PLAN_REVIEW, Instruction
from runner.resources import data_path, data_text


def has_instruction(instruction: str) -> bool:
    """Return whether runner ships a text for it; review and remediate come with the gates."""
    try:
        data_path("instructions", f"{instruction}.md")
    except PrerequisiteError:
        return False
    return True


NAMES = (*Instruction, PLAN_REVIEW)
"""The names of all instructions: one for each kind of session, and one for reviews of plans."""


def instruction_text(project_dir: Path, instruction: str) -> str:
    """Return the text of the instruction with that name (seed 001, A.2).

    `.runner/<instruction>.md` in the project replaces the shipped text as a whole.

    Raises:
        ConfigError: the override can't be read, or is empty.
    """
    override = project_dir / ".runner" / f"{instruction}.md"
    # Its text goes to the model: a link must not make it any other file of this machine.
    text = read_text(override, within=project_dir)
    if text is None:
        return data_text("instructions", f"{instruction}.md").strip()
    if not text.strip():
        raise ConfigError(
            f"The instruction override {override} is empty.",
            hint="Write the instruction into it, or remove it to use the built-in one.",
        )
    return text.strip()
