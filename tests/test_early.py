"""Nothing is loaded from the current folder or the project, before anything else is imported."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import runner

pytestmark = pytest.mark.process

_SOURCE = str(Path(runner.__file__).parent.parent)
_SETTLE = """
import json, os, sys
from runner.early import settle
settle(sys.argv[1:])
print(json.dumps({"path": sys.path, "prefix": sys.pycache_prefix, "pid": os.getpid(),
                  "libraries": os.environ.get("LD_LIBRARY_PATH"),
                  "openssl": os.environ.get("OPENSSL_CONF"),
                  "preloaded": os.environ.get("LD_PRELOAD")}))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    return folder


def settled(cwd: Path, *arguments: str, **environ: str) -> dict[str, Any]:
    """Return what a process of ours is left with; `PYTHONPATH` gets our own sources in front."""
    given = environ.pop("PYTHONPATH", "")
    kept = {
        n: v for n, v in os.environ.items() if not n.startswith(("PYTHON", "AUTORUNNER", "LD_"))
    }
    found = subprocess.run(
        [sys.executable, "-c", _SETTLE, *arguments],
        cwd=cwd,
        env={**kept, "PYTHONPATH": f"{_SOURCE}{os.pathsep}{given}", **environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    state: dict[str, Any] = json.loads(found.stdout)
    return state


def test_the_current_folder_is_not_searched(project: Path) -> None:
    path = settled(project)["path"]
    assert path
    assert {"", ".", str(project)}.isdisjoint(path)


@pytest.mark.parametrize("entry", ["src", "./src", "", "{project}/src", "{project}/../project/src"])
def test_folders_of_the_project_are_not_searched(project: Path, entry: str) -> None:
    found = settled(project, PYTHONPATH=entry.format(project=project))["path"]
    assert not [entry for entry in found if "src" in entry and entry != _SOURCE]


def test_a_link_into_the_project_is_not_searched(project: Path, tmp_path: Path) -> None:
    (tmp_path / "lib").symlink_to(project / "src")
    assert str(tmp_path / "lib") not in settled(project, PYTHONPATH=str(tmp_path / "lib"))["path"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "-p", "{}"),
        ("run", "-p{}"),
        ("run", "--project-dir={}"),
        ("mcp", "--workspace", "{}"),
    ],
)
def test_the_project_that_is_named_counts(
    project: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    words = [word.format(project) for word in arguments]
    found = settled(tmp_path / "..", *words, PYTHONPATH=str(project / "src"))["path"]
    assert str(project / "src") not in found


def test_folders_elsewhere_are_searched(project: Path, tmp_path: Path) -> None:
    found = settled(project, PYTHONPATH=str(tmp_path / "lib"))["path"]
    assert str(tmp_path / "lib") in found


def test_bytecode_is_not_read_from_the_project(project: Path) -> None:
    assert settled(project, PYTHONPYCACHEPREFIX=str(project / "cache"))["prefix"] is None


@pytest.mark.parametrize("value", ["/opt/lib:", ":/opt/lib", "lib:/opt/lib", "/opt/lib:{}/lib"])
def test_libraries_are_not_loaded_from_the_project(project: Path, value: str) -> None:
    state = settled(project, LD_LIBRARY_PATH=value.format(project))
    assert state["libraries"] == "/opt/lib"


def test_a_preloaded_library_of_the_project_is_left_out(project: Path) -> None:
    assert settled(project, LD_PRELOAD=f"{project}/x.so")["preloaded"] is None


def test_a_library_that_openssl_is_told_of_is_left_out(project: Path) -> None:
    assert settled(project, OPENSSL_CONF=f"{project}/x.cnf")["openssl"] is None
    assert settled(project, OPENSSL_CONF="/etc/ssl/x.cnf")["openssl"] == "/etc/ssl/x.cnf"


@pytest.mark.parametrize("start", ["current folder", "PYTHONPATH"])
def test_the_command_imports_no_module_of_the_project(project: Path, start: str) -> None:
    for name in ("typer.py", "click.py", "sitecustomize_.py", "tomllib.py"):
        (project / name).write_text("import os; os._exit(99)")
    (project / "anyio").mkdir()
    (project / "anyio" / "__init__.py").write_text("import os; os._exit(99)")
    environ = {**os.environ, **({"PYTHONPATH": "."} if start == "PYTHONPATH" else {})}
    done = subprocess.run(
        [sys.executable, "-m", "runner", "check", "ls"],
        cwd=project, env=environ, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout.partition(" ")[0]) == (0, "allowed")
