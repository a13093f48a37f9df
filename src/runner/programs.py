"""The programs that runner starts outside of the sandbox, and what they inherit.

A program comes from a place that no agent can write, or it is refused. It is looked up once in the
life of the process, and started by its real path.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from runner.errors import PrerequisiteError
from runner.reach import Reach, reach_of

_KEPT = frozenset({
    "HOME", "LANG", "LANGUAGE", "LOCALE_ARCHIVE", "LOGNAME", "TMPDIR", "TZ", "USER", "XDG_CONFIG_HOME",
})  # fmt: skip
_LISTS = frozenset({
    "PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH",
    "DYLD_FRAMEWORK_PATH",
})  # fmt: skip
_PRELOADED = frozenset({"LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES"})
_OF_PYTHON = ("PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONPYCACHEPREFIX")
_OF_THE_AGENT = ("ANTHROPIC_", "CLAUDE")
_OF_RUNNER = "AUTORUNNER_"
_SEPARATORS = str.maketrans(dict.fromkeys(";,= \t\n", os.pathsep))


def find_program(name: str, project: Path, path: str | None = None) -> Path | None:
    """Return the real path of a program on the PATH, None where there is none.

    Entries of the PATH that agents can write, and relative ones, are passed over.

    Args:
        project: the project that agents work on.
        path: the PATH to search, this process's own where None.

    Raises:
        PrerequisiteError: there is one, but only where agents can write.
    """
    folders = os.environ.get("PATH") if path is None else path
    found, refused = _looked_up(name, folders, reach_of(project))
    if found is None and refused is not None:
        raise PrerequisiteError(
            f"runner does not start {name}: {refused}.",
            hint=f"Put the folder of another {name} on the PATH, one outside of the project, such "
            "as /usr/bin.",
        )
    return found


def require_program(name: str, project: Path, *, hint: str) -> Path:
    """Return the real path of a program on the PATH.

    Raises:
        PrerequisiteError: there is none, or only where agents can write.
    """
    found = find_program(name, project)
    if found is None:
        raise PrerequisiteError(f"{name} was not found.", hint=hint)
    return found


@cache
def _looked_up(name: str, path: str | None, reach: Reach) -> tuple[Path | None, str | None]:
    """Return the program, or why the first one that is there was passed over."""
    refused = None
    for folder in (os.defpath if path is None else path).split(os.pathsep):
        candidate = Path(folder, name)
        if not (folder and candidate.is_file() and os.access(candidate, os.X_OK)):
            continue
        problem = (
            reach.problem_of_program(candidate)
            if candidate.is_absolute()
            else f"{candidate} depends on the current folder"
        )
        if problem is None:
            return candidate.resolve(), None
        refused = refused or problem
    return None, refused


def program_of_command(command: Sequence[str], project: Path) -> Path:
    """Return the real path of the program of a command that a person wrote down.

    An argument that names a file which agents can write counts as much as the program: an
    interpreter runs it.

    Raises:
        PrerequisiteError: there is none; or it, or a file among the arguments, is an agent's.
    """
    name, reach = command[0], reach_of(project)
    program = Path(name) if os.sep in name else find_program(name, project)
    if program is None or not (program.is_file() and os.access(program, os.X_OK)):
        raise PrerequisiteError("there is no such program.")
    if not program.is_absolute():
        raise PrerequisiteError(f"{name} depends on the current folder: write its whole path.")
    problems = (reach.problem_of_program(program), *_problems_of_arguments(command[1:], reach))
    problem = next((found for found in problems if found is not None), None)
    if problem is not None:
        raise PrerequisiteError(
            f"it is not started, because {problem}.", hint="Move it out of the project."
        )
    return program.resolve()


def _problems_of_arguments(words: Sequence[str], reach: Reach) -> Iterator[str | None]:
    for word in words:
        for part in {word, word.rpartition("=")[2]}:
            if part and Path(part).is_file():
                yield reach.problem(Path.cwd() / part)
            elif part.startswith(os.sep):
                yield reach.problem(part)


def outside_environment(reach: Reach, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return what a program such as git inherits: little, no credential, nothing of an agent's."""
    kept = {
        name: value
        for name, value in environ.items()
        if name in _KEPT or name in _LISTS or name.startswith("LC_")
    }
    return _cleaned(kept, reach)


def users_environment(reach: Reach, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return what a command of the user's inherits.

    It is everything but what the agent signs in with, and variables that name a place which agents
    can write: any of them could name code.
    """
    return _cleaned(
        {name: value for name, value in environ.items() if not name.startswith(_OF_THE_AGENT)},
        reach,
    )


def _cleaned(environ: Mapping[str, str], reach: Reach) -> dict[str, str]:
    kept = {"PATH": os.defpath}
    for name, value in environ.items():
        if name in _LISTS:
            entries = os.pathsep.join(safe_entries(value, reach))
            kept |= {name: entries} if entries else {}
        elif name not in _PRELOADED and (
            name.startswith(_OF_RUNNER) or not _names_a_place_of(value, reach)
        ):
            kept[name] = value
    return kept


def safe_entries(value: str, reach: Reach) -> Iterator[str]:
    """Yield the folders in a list like PATH that no agent can write; relative ones are left out."""
    for entry in value.split(os.pathsep):
        if os.path.isabs(entry) and reach.problem(entry) is None:  # noqa: PTH117 - a string here
            yield entry


def _names_a_place_of(value: str, reach: Reach) -> bool:
    words = value.translate(_SEPARATORS).split(os.pathsep)
    return any(word.startswith(os.sep) and reach.problem(word) is not None for word in words)


def own_command(reach: Reach) -> list[str]:
    """Return the words that start this very runner in a process of its own.

    The folder where it starts has no say in what it imports; neither have variables that name
    places which agents can write.
    """
    if getattr(sys, "frozen", False):
        return [sys.executable]
    steered = any(
        tuple(safe_entries(os.environ[name], reach)) != tuple(os.environ[name].split(os.pathsep))
        for name in _OF_PYTHON
        if os.environ.get(name)
    )
    return [sys.executable, *(["-E"] if steered else []), "-P", "-m", "runner"]
