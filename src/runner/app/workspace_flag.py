"""Commands to paste that mean the project they are about, wherever they are pasted."""

from pathlib import Path

from runner.autonomy.placing import place_of


def place_to_name(directory: Path) -> str:
    """Return what commands need to name the project; nothing in the project's own folder."""
    return "" if directory == Path.cwd() else place_of(str(directory))
