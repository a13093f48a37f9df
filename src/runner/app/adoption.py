"""Take over what Autonoe keeps in `.autonoe/` (DESIGN: names). Copies; `.autonoe/` stays as it is.

Everything is checked before anything is written; no file is overwritten; and what was written is taken
back when a later file can't be. `status.json` comes last: until it is there, nothing is planned.
"""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from runner.config.agent_file import AGENT_FILE, parse_agent_file
from runner.config.reading import read_text
from runner.deliverables.repository import StatusRepository
from runner.deliverables.workspace import STATE_DIRECTORY, STATUS_FILE, ensure_state_directory
from runner.errors import ConfigError, PrerequisiteError
from runner.files import write_atomic, write_error
from runner.marker import Instruction
from runner.records.run_lock import run_lock

AUTONOE_DIRECTORY = ".autonoe"
AUTONOE_NOTE = ".autonoe-note.md"
NOTE = ".runner-note.md"

_OVERRIDES = (Instruction.INITIALIZER, Instruction.CODING, Instruction.SYNC, Instruction.VERIFY)
# What an override may call by a name that means nothing here.
_RENAMED = {
    ".autonoe-note.md": NOTE,
    "mcp__autonoe": "mcp__runner",
    ".autonoe/": ".runner/",
}


@dataclass(frozen=True, slots=True)
class Adopted:
    """One file that was taken over.

    Attributes:
        source: relative to the project, as is `target`.
        existed: whether the target was there with the same content.
        advice: what its reader should change in it, "" for nothing.
    """

    source: str
    target: str
    existed: bool = False
    advice: str = ""


@dataclass(frozen=True, slots=True)
class _File:
    source: Path
    target: Path
    text: str

    @property
    def is_there(self) -> bool:
        return read_text(self.target, within=self.target.parent) == self.text


def adopt(project_dir: Path) -> tuple[Adopted, ...]:
    """Copy status.json, agent.json, the instruction overrides and the note.

    Raises:
        PrerequisiteError: there is nothing to adopt, a run is at work, or a file stands where one
            is to be written; nothing was changed.
        ConfigError: agent.json or an override can't be used; nothing was changed.
        StateCorruptError: status.json is damaged; nothing was changed.
        StateWriteError: a file could not be written; what was written before it is gone again.
    """
    files = tuple(_found(project_dir))
    if not files:
        raise PrerequisiteError(
            f"There is nothing to adopt in {project_dir / AUTONOE_DIRECTORY}.",
            hint="`runner init` without --from-autonoe prepares a new project.",
        )
    _refuse_overwriting(files)
    ensure_state_directory(project_dir)
    with run_lock(project_dir):
        _refuse_overwriting(files)
        existed = {file.target for file in files if file.is_there}
        _write_all([file for file in files if file.target not in existed])
    return tuple(
        Adopted(
            str(file.source.relative_to(project_dir)),
            str(file.target.relative_to(project_dir)),
            file.target in existed,
            _advice(file.text) if file.source.suffix == ".md" else "",
        )
        for file in files
    )


def has_unadopted(project_dir: Path) -> bool:
    """Whether a plan of Autonoe stands there that runner does not know."""
    planned = (project_dir / AUTONOE_DIRECTORY / STATUS_FILE).is_file()
    return planned and not (project_dir / STATE_DIRECTORY / STATUS_FILE).exists()


def _found(project_dir: Path) -> Iterator[_File]:
    """Yield what can be adopted, each file checked, status.json last."""
    old, new = project_dir / AUTONOE_DIRECTORY, project_dir / STATE_DIRECTORY
    agent = read_text(old / AGENT_FILE, within=project_dir)
    if agent is not None:
        parse_agent_file(old / AGENT_FILE, agent)
        yield _File(old / AGENT_FILE, new / AGENT_FILE, agent)
    for instruction in _OVERRIDES:
        path = old / f"{instruction}.md"
        text = read_text(path, within=project_dir)
        if text is not None:
            if not text.strip():
                raise ConfigError(f"{path} is empty.", hint="Remove it, then adopt again.")
            yield _File(path, new / path.name, text)
    note = read_text(project_dir / AUTONOE_NOTE, within=project_dir)
    if note is not None:
        yield _File(project_dir / AUTONOE_NOTE, project_dir / NOTE, note)
    status = read_text(old / STATUS_FILE, within=project_dir)
    if status is not None:
        StatusRepository(old / STATUS_FILE).load()
        yield _File(old / STATUS_FILE, new / STATUS_FILE, status)


def _refuse_overwriting(files: tuple[_File, ...]) -> None:
    standing = [f.target for f in files if os.path.lexists(f.target) and not f.is_there]
    if standing:
        names = ", ".join(str(path) for path in standing)
        raise PrerequisiteError(
            f"Nothing was adopted: {names} would be overwritten.",
            hint="Move away what you do not need of it, then adopt again.",
        )


def _write_all(files: list[_File]) -> None:
    written: list[Path] = []
    try:
        for file in files:
            _write_new(file.target, file.text)
            written.append(file.target)
    except BaseException:
        for path in written:
            with contextlib.suppress(OSError):
                path.unlink()
        raise


def _write_new(path: Path, text: str) -> None:
    """Write a file that must not exist, so that it appears whole or not at all."""
    ready = path.with_name(f".{path.name}.adopting")
    write_atomic(ready, text)
    try:
        os.link(ready, path)
    except OSError as error:
        raise write_error(path, error) from error
    finally:
        ready.unlink()


def _advice(text: str) -> str:
    renamed = [f"{old} is {new}" for old, new in _RENAMED.items() if old in text]
    return f"It uses names of Autonoe; here {', '.join(renamed)}." if renamed else ""
