"""Which commands install a project's dependencies in a fresh checkout.

The files of the project decide, by the table at the end. What is read here was written by agents;
it selects commands of ours, and the only texts that get into them are quoted.
"""

import json
import os
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.files import read_regular

_MAX_BYTES = 16 * 1024 * 1024
_VENV_NAMES = (".venv", "venv", "env")
_DEVELOPMENT = ("dev", "test", "tests", "testing", "develop", "development")
_PIP = "-m pip install --quiet --disable-pip-version-check"
_LOCKED_GEM = re.compile(r"^    \S+ \(", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SetupCommand:
    """One command that prepares a fresh checkout.

    Attributes:
        origin: the file that calls for it, or `runner.toml`.
    """

    command: str
    origin: str

    @property
    def declared(self) -> bool:
        """Whether the user wrote it, and it is not a guess of ours."""
        return self.origin == DECLARED


DECLARED = "runner.toml"


@dataclass(frozen=True, slots=True)
class Tree:
    """What detection looks at.

    Attributes:
        files: the root of the files that are, or would be, committed.
        project: the project's own folder, where ignored folders show what is in use.
        environ: the environment of the commands.
    """

    files: Path
    project: Path
    environ: Mapping[str, str]

    def has(self, name: str) -> bool:
        """Whether a regular file of this name lies at the root."""
        path = self.files / name
        return path.is_file() and not path.is_symlink()

    def text(self, name: str) -> str:
        """Return the text of a file at the root; "" where it can't be read."""
        try:
            return read_regular(self.files / name, limit=_MAX_BYTES).decode("utf-8", "replace")
        except OSError:
            return ""


def setup_commands(declared: tuple[str, ...] | None, tree: Tree) -> tuple[SetupCommand, ...]:
    """Return the commands that `[verification] setup` names, else those that the files call for.

    Args:
        declared: None to detect.
    """
    if declared is not None:
        return tuple(SetupCommand(command, DECLARED) for command in declared)
    return tuple(found for rules in TABLE for found in _first(rules, tree))


@dataclass(frozen=True, slots=True)
class _Rule:
    """`command` returns what to run for the file `mark`; None where nothing has to be installed."""

    mark: str
    command: Callable[[Tree], str | None]


def _first(rules: tuple[_Rule, ...], tree: Tree) -> Iterator[SetupCommand]:
    """Yield the command of the first rule of an ecosystem whose file is there."""
    for rule in rules:
        if tree.has(rule.mark):
            command = rule.command(tree)
            if command is not None:
                yield SetupCommand(command, rule.mark)
            return


def _venv(tree: Tree) -> str | None:
    """Return the name of the virtual environment that the project is worked on with."""
    on_path = [Path(p) for p in tree.environ.get("PATH", "").split(os.pathsep) if p]
    used = [path.parent for path in on_path if path.name == "bin"]
    used.append(Path(tree.environ.get("VIRTUAL_ENV") or "/"))
    for folder in used:
        known = folder.name in _VENV_NAMES or (folder / "pyvenv.cfg").is_file()
        if folder.parent == tree.project and known:
            return folder.name
    there = (name for name in _VENV_NAMES if (tree.project / name / "pyvenv.cfg").is_file())
    return next(there, None)


def _with_venv(command: str) -> Callable[[Tree], str | None]:
    return lambda tree: command if _venv(tree) is not None else None


def _with_pip(tree: Tree) -> str | None:
    """Return what makes the virtual environment anew and installs what the manifests name."""
    name = _venv(tree)
    if name is None:
        return None
    words = [*_requirement_files(tree), *_package(tree), *_groups(tree)]
    make = f"python3 -m venv {shlex.quote(name)}"
    if not words:
        return make
    return f"{make} && {shlex.quote(name)}/bin/python {_PIP} {shlex.join(words)}"


def _requirement_files(tree: Tree) -> Iterator[str]:
    for path in sorted(tree.files.glob("*requirements*.txt")):
        if tree.has(path.name) and path.name.isprintable():
            yield from ("-r", path.name)


def _package(tree: Tree) -> Iterator[str]:
    """Yield how the project itself is installed, with the extras for development."""
    document = _toml(tree, "pyproject.toml")
    project = document.get("project")
    if not (tree.has("setup.py") or isinstance(project, dict) or "build-system" in document):
        return
    optional = project.get("optional-dependencies") if isinstance(project, dict) else None
    names = [name for name in _DEVELOPMENT if isinstance(optional, dict) and name in optional]
    yield from ("-e", f".[{','.join(names)}]" if names else ".")


def _groups(tree: Tree) -> Iterator[str]:
    """Yield the requirements of the dependency groups for development; older pips know none."""
    groups = _toml(tree, "pyproject.toml").get("dependency-groups")
    waiting = list(reversed(_DEVELOPMENT))
    seen: set[str] = set()
    while waiting and isinstance(groups, dict):
        name = waiting.pop()
        entries = groups.get(name)
        if name in seen or not isinstance(entries, list):
            continue
        seen.add(name)
        for entry in entries:
            if isinstance(entry, str) and entry.isprintable() and not entry.startswith("-"):
                yield entry
            elif isinstance(entry, dict) and isinstance(entry.get("include-group"), str):
                waiting.append(entry["include-group"])


def _toml(tree: Tree, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(tree.text(name))
    except (ValueError, RecursionError):
        return {}


def _node(command: str) -> Callable[[Tree], str | None]:
    """Return a rule that holds where `package.json` names any dependency."""

    def chosen(tree: Tree) -> str | None:
        try:
            document = json.loads(tree.text("package.json"))
        except (ValueError, RecursionError):
            return None
        keys = ("dependencies", "devDependencies", "optionalDependencies", "workspaces")
        named = isinstance(document, dict) and any(document.get(key) for key in keys)
        return command if named else None

    return chosen


def _yarn(tree: Tree) -> str | None:
    modern = tree.has(".yarnrc.yml")
    return _node(f"yarn install {'--immutable' if modern else '--frozen-lockfile'}")(tree)


def _bundle(tree: Tree) -> str | None:
    if tree.has("Gemfile.lock") and not _LOCKED_GEM.search(tree.text("Gemfile.lock")):
        return None
    vendored = (tree.files / "vendor" / "cache").is_dir()
    install = "bundle install --local" if vendored else "bundle install"
    return f"bundle config set --local path vendor/bundle && {install}"


def _composer(tree: Tree) -> str | None:
    try:
        document = json.loads(tree.text("composer.lock"))
    except (ValueError, RecursionError):
        document = None
    keys = ("packages", "packages-dev")
    named = isinstance(document, dict) and any(document.get(key) for key in keys)
    return "composer install --no-interaction --no-progress" if named else None


def _always(command: str) -> Callable[[Tree], str | None]:
    return lambda _: command


# One line of rules for each ecosystem; the first file that is there decides. Go, Rust, the JVM,
# .NET and Swift are not here: their build commands fetch what they need.
TABLE: tuple[tuple[_Rule, ...], ...] = (
    (
        _Rule("uv.lock", _with_venv("uv sync --frozen")),
        _Rule("poetry.lock", _with_venv("POETRY_VIRTUALENVS_IN_PROJECT=true poetry install")),
        _Rule("pdm.lock", _with_venv("pdm sync")),
        _Rule("Pipfile.lock", _with_venv("PIPENV_VENV_IN_PROJECT=1 pipenv sync --dev")),
        _Rule("pyproject.toml", _with_pip),
        _Rule("setup.py", _with_pip),
        _Rule("requirements.txt", _with_pip),
        _Rule("requirements-dev.txt", _with_pip),
    ),
    (
        _Rule("pnpm-lock.yaml", _node("pnpm install --frozen-lockfile")),
        _Rule("yarn.lock", _yarn),
        _Rule("bun.lock", _node("bun install --frozen-lockfile")),
        _Rule("bun.lockb", _node("bun install --frozen-lockfile")),
        _Rule("package-lock.json", _node("npm ci --no-audit --no-fund")),
        _Rule("npm-shrinkwrap.json", _node("npm ci --no-audit --no-fund")),
        _Rule("package.json", _node("npm install --no-audit --no-fund --no-package-lock")),
    ),
    (_Rule("Gemfile.lock", _bundle), _Rule("Gemfile", _bundle)),
    (_Rule("composer.lock", _composer),),
    (_Rule("mix.lock", _always("mix deps.get")),),
)
