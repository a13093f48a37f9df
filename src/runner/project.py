"""A project that a command works on, opened once: configuration, plan, spec and credentials."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from runner.config.instructions import instruction_text
from runner.config.project import resolve_project
from runner.config.resolve import Chosen
from runner.config.runner_file import RunnerFile, load_runner_file
from runner.credentials import Redactor
from runner.deliverables.model import StatusFile
from runner.deliverables.repository import StatusRepository
from runner.deliverables.spec_text import SpecText
from runner.deliverables.workspace import derive_spec_id, status_path

if TYPE_CHECKING:
    from runner.config.agent_file import AgentFile


class Project:
    """The folder of a project, and what is read from it.

    The configuration files are read at most once, when something first asks for them, so that all
    parts of a command work with the same values. What agents change, such as the plan and the
    text of SPEC.md, is read again each time.

    Args:
        directory: absolute path of the folder.
        environ: the environment of runner itself.
        file: runner.toml, where it has been read already.
    """

    def __init__(
        self, directory: Path, environ: Mapping[str, str], *, file: RunnerFile | None = None
    ) -> None:
        self.directory = directory
        self.environ = environ
        self._file = file

    @classmethod
    def open(cls, directory: Path | None, environ: Mapping[str, str]) -> "Project":
        """Return the project in a folder; the working directory where None.

        Raises:
            PrerequisiteError: it is not a directory that can be used.
        """
        return cls(resolve_project(directory), environ)

    @classmethod
    def of(cls, chosen: Chosen, environ: Mapping[str, str]) -> "Project":
        """Return the project that the options of a command name."""
        return cls(chosen.project_dir, environ, file=chosen.file)

    @property
    def file(self) -> RunnerFile:
        """`.runner/runner.toml`; an empty one where there is no file.

        Raises:
            ConfigError: it can't be read or is wrong.
        """
        if self._file is None:
            self._file = load_runner_file(self.directory)
        return self._file

    @cached_property
    def agent_file(self) -> "AgentFile":
        """`.runner/agent.json`; an empty one where there is no file.

        Raises:
            ConfigError: it can't be read or is wrong.
        """
        from runner.config.agent_file import load_agent_file  # noqa: PLC0415 - pydantic is slow

        return load_agent_file(self.directory)

    @cached_property
    def status(self) -> StatusRepository:
        """The repository of `status.json`."""
        return StatusRepository(status_path(self.directory))

    @cached_property
    def spec_text(self) -> SpecText:
        """The text of SPEC.md, and the note of the text that the plan was made from."""
        return SpecText(self.directory)

    def plan(self) -> StatusFile | None:
        """Return the deliverables as they are now, None before there is a plan.

        Raises:
            StateCorruptError: status.json is damaged.
        """
        return self.status.load()

    def spec_id(self) -> str:
        """Return the id of the spec: a plan keeps its own when the folder is renamed.

        Raises:
            StateCorruptError: status.json is damaged.
        """
        plan = self.plan()
        return plan.spec_id if plan is not None else derive_spec_id(self.directory)

    def instruction_text(self, instruction: str) -> str:
        """Return the text of an instruction as it is now; see `config.instructions`.

        Raises:
            ConfigError: the override can't be read, or is empty.
        """
        return instruction_text(self.directory, instruction)

    def redactor(self, agent_environment: Mapping[str, str] | None = None) -> Redactor:
        """Return what takes the credentials of the environment and of agent.json out of texts.

        Args:
            agent_environment: variables that are set for the agent over the inherited ones.

        Raises:
            ConfigError: agent.json is wrong.
        """
        return Redactor({**self.environ, **(agent_environment or {})}, self.agent_file.secrets)
