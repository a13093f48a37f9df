"""The demo: SPEC.example.md, and a scripted model that really builds it."""

from pathlib import Path

from runner.replay.script import ModelScript, load_script
from runner.resources import data_text

_SCRIPT = Path(__file__).resolve().parent / "script.toml"


def demo_script() -> ModelScript:
    """Return the script that builds the example spec.

    It needs a project folder with the example as `SPEC.md`, and `python3` on the agent's path.
    Git is used when there is a repository, and not missed when there is none.
    """
    return load_script(_SCRIPT)


def demo_spec_text() -> str:
    """Return the text of SPEC.example.md."""
    return data_text("SPEC.example.md")
