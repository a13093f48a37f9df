"""Find the data that ships with runner: instructions, profiles, the example spec.

They stand at the top level of the repository, where people read them, and inside the
package in a wheel. Both places are looked at, the package first.
"""

from pathlib import Path

from runner.errors import PrerequisiteError

_PACKAGE = Path(__file__).resolve().parent
_ROOTS = (_PACKAGE / "_data", _PACKAGE.parent.parent)


def data_path(*parts: str) -> Path:
    """Return the path of a shipped file or folder.

    Args:
        parts: path components below the data root, e.g. `"instructions", "coding.md"`.

    Raises:
        PrerequisiteError: the installation is incomplete.
    """
    for root in _ROOTS:
        candidate = root.joinpath(*parts)
        if candidate.exists():
            return candidate
    name = "/".join(parts)
    raise PrerequisiteError(
        f"{name} is missing from this installation of runner.",
        hint="Install it again: pip install --force-reinstall autonomous-runner",
    )


def data_text(*parts: str) -> str:
    """Return the text of a shipped file. Raises PrerequisiteError when it is missing."""
    return data_path(*parts).read_text(encoding="utf-8")
