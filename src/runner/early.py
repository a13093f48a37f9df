"""What has to be settled before anything else is imported: from where this process loads code.

Python and the dynamic linker search the current folder, and whatever variables name, before the
folders of the installation. Where agents can write there, their files would run as runner itself.

Only modules that every Python has loaded by now are imported here.
"""

import os
import sys
from collections.abc import Iterator, Sequence

_PROJECT_OPTIONS = ("-p", "--project-dir", "--workspace")
_PROJECT_VARIABLES = ("AUTORUNNER_PROJECT_DIR", "AUTORUNNER_WORKSPACE")
_LIBRARY_LISTS = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH",
                  "DYLD_FRAMEWORK_PATH")  # fmt: skip
_LEFT_OUT = (
    "Warning: {} names a folder of the project, where agents can write. Runner and its agents go "
    "without it.\n"
)
_LIBRARIES = ("LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES")
_PLACES = ("GCONV_PATH", "OPENSSL_CONF", "OPENSSL_ENGINES", "OPENSSL_MODULES")


def settle(arguments: Sequence[str]) -> None:
    """Make sure that this process loads nothing from the current folder and from the project.

    The process starts itself again when the dynamic linker was told to look there, because the
    linker does not forget.

    Args:
        arguments: of the command line; they may name the project.
    """
    projects = tuple(dict.fromkeys(_projects(arguments)))
    _start_again_without_libraries_of(projects)
    sys.path[:] = _import_path(projects)
    if sys.pycache_prefix and _is_unsafe(sys.pycache_prefix, projects):
        sys.pycache_prefix = None


def _projects(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the real paths of folders that could be the project of this command."""
    named = [os.environ.get(name, "") for name in _PROJECT_VARIABLES]
    for position, argument in enumerate(arguments):
        option, joined, value = argument.partition("=")
        if option in _PROJECT_OPTIONS:
            named.append(value if joined else "".join(arguments[position + 1 : position + 2]))
        elif argument.startswith("-p") and not argument.startswith("--"):
            named.append(argument[2:])
    beyond = ("", os.sep, _real(os.path.expanduser("~")))
    for folder in (os.curdir, *(os.path.expanduser(name) for name in named if name)):
        found = _real(folder)
        if found not in beyond:  # what is nobody's project, and holds everything
            yield found


def _real(path: str) -> str:
    """Return the path without links, "" where the current folder is gone."""
    try:
        return os.path.realpath(path)
    except OSError:
        return ""


def _is_unsafe(entry: str, projects: Sequence[str]) -> bool:
    if not os.path.isabs(entry):
        return True
    return any(_is_in(path, projects) for path in (_real(entry), os.path.normpath(entry)))


def _is_in(path: str, folders: Sequence[str]) -> bool:
    return any(path == folder or path.startswith(folder + os.sep) for folder in folders)


def _import_path(projects: Sequence[str]) -> list[str]:
    """Return the entries of sys.path to keep.

    Entries of the installation itself stay, wherever it is: whether agents can write it is looked
    at before a session starts (`runner.installation`).
    """
    own = [*_prefixes(), *map(_real, _prefixes())]
    first = () if sys.flags.safe_path else _first_entries()
    return [
        entry
        for entry in sys.path
        if entry not in first
        and (not _is_unsafe(entry, projects) or (os.path.isabs(entry) and _is_in(entry, own)))
    ]


def _first_entries() -> tuple[str, ...]:
    """Return what Python itself puts in front: the current folder or that of the script."""
    script = os.path.dirname(_real(sys.argv[0])) if sys.argv and sys.argv[0] else ""
    return ("", os.curdir, _real(os.curdir), script, os.environ.get("PWD", ""))


def _prefixes() -> tuple[str, ...]:
    return (sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix)


def _start_again_without_libraries_of(projects: Sequence[str]) -> None:
    environ = dict(os.environ)
    for name in (*_LIBRARY_LISTS, *_LIBRARIES, *_PLACES):
        value = environ.pop(name, "")
        kept = os.pathsep.join(_safe_libraries(name, value, projects)) if value else value
        if name in os.environ and (kept or not value):
            environ[name] = kept
        if kept != value and sys.stderr and any(folder in value for folder in projects):
            sys.stderr.write(_LEFT_OUT.format(name))
            sys.stderr.flush()
    if environ != dict(os.environ) and sys.executable:
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environ)  # noqa: S606


def _safe_libraries(name: str, value: str, projects: Sequence[str]) -> Iterator[str]:
    if name in _LIBRARIES:
        value = value.replace(" ", os.pathsep)
    for entry in [value] if name in _PLACES else value.split(os.pathsep):
        # The name of a library without a folder is looked up in the folders of the system.
        bare = name in _LIBRARIES and entry and os.sep not in entry
        if bare or not _is_unsafe(entry, projects):
            yield entry
