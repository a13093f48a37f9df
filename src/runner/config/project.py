"""The project that a command is for (seed 001 §7.1.2, §7.2.2)."""

from pathlib import Path

from runner.errors import PrerequisiteError
from runner.text.messages import reason

SPEC_NAME = "SPEC.md"


def resolve_project(project_dir: Path | None) -> Path:
    """Return the absolute project directory (seed 001 §7.2.2).

    Raises:
        PrerequisiteError: it is not a directory.
    """
    try:
        # Without a home, or round a loop of links, these raise RuntimeError.
        path = (project_dir or Path()).expanduser().resolve()
        found = path.is_dir()
    except (OSError, RuntimeError) as error:
        raise PrerequisiteError(
            f"Project directory {project_dir or Path()} can't be used: {reason(error, named=True)}.",
            hint="Give an existing directory with --project-dir.",
        ) from error
    if not found and path.exists():
        raise PrerequisiteError(
            f"The project {path} is no directory.",
            hint="Give the directory that holds SPEC.md with --project-dir.",
        )
    if not found:
        raise PrerequisiteError(
            f"Project directory not found: {path}.",
            hint="Give an existing directory with --project-dir, or create it first.",
        )
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError as error:
        raise PrerequisiteError(
            f"The path of the project is not UTF-8: {str(path)!r}.",
            hint="Rename the folder; the agent and its tools exchange paths as UTF-8 text.",
        ) from error
    return path


def require_spec(project_dir: Path) -> Path:
    """Return the path of SPEC.md (seed 001 §7.1.2).

    Raises:
        PrerequisiteError: it is missing, empty or unreadable.
    """
    spec = project_dir / SPEC_NAME
    if not spec.is_file():
        raise PrerequisiteError(
            f"{SPEC_NAME} not found in {project_dir}.",
            hint="Write one there (`runner init` gives an example), or name another folder "
            "with --project-dir.",
        )
    try:
        empty = not spec.read_text(encoding="utf-8", errors="replace").strip()
    except OSError as error:
        raise PrerequisiteError(
            f"{spec} can't be read: {error.strerror}.", hint="Check its permissions."
        ) from error
    if empty:
        raise PrerequisiteError(
            f"{spec} is empty.", hint="Describe what is to be built (see SPEC.example.md)."
        )
    return spec
