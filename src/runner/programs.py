"""The programs that runner starts outside of the sandbox, and what they inherit.

A program comes from a place that no agent can write, or it is refused. It is looked up once in the
life of the process, and started by its real path.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from runner.errors import PrerequisiteError
from runner.reach import STATE_FOLDER, Reach, reach_of

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


@dataclass(frozen=True, slots=True)
class UsersCommand:
    """A command that a person wrote down, ready to be started.

    Attributes:
        words: those of the person, with relative paths made absolute.
        program: the real path of the first.
        folder: where it starts.
        environ: what it inherits.
    """

    words: tuple[str, ...]
    program: Path
    folder: Path
    environ: Mapping[str, str]


def users_command(words: Sequence[str], project: Path) -> UsersCommand:
    """Return how to start a command that a person wrote down, outside of the sandbox.

    An argument that names a file which agents can write counts as much as the program: an
    interpreter runs it. It starts in the current folder, but not in one that agents can write, for
    interpreters look there for modules.

    Raises:
        PrerequisiteError: there is no such program; or it, or a file among the arguments, is an
            agent's.
    """
    reach = reach_of(project, (project.resolve() / STATE_FOLDER,))
    here = Path.cwd()
    absolute = tuple(str(here / w) if os.sep in w and (here / w).exists() else w for w in words)
    name = absolute[0]
    program = Path(name) if os.sep in name else find_program(name, project)
    if program is None or not (program.is_file() and os.access(program, os.X_OK)):
        raise PrerequisiteError("there is no such program.")
    for path in (program, *_files_among(absolute[1:])):
        problem = reach.problem(path)
        if problem is not None:
            raise PrerequisiteError(
                f"it is not started, because {problem}.",
                hint=f"Move the file to {STATE_FOLDER}/ or out of the project.",
            )
    folder = here if reach.problem(here) is None else Path(os.sep)
    return UsersCommand(absolute, program.resolve(), folder, users_environment(reach))


def _files_among(words: Sequence[str]) -> Iterator[Path]:
    for word in words:
        for part in {word, word.rpartition("=")[2]}:
            with suppress(OSError, ValueError):
                path = Path.cwd() / part
                if part and path.is_file():
                    yield path


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


REVIEW_REQUEST = "review-request"
"""The only argument of a process that makes one review; `runner.cli.review_request` answers it."""


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
