"""The built distributions, installed as people do it, each into something empty: `make dist-test`.

Needs the package index: nothing of this environment is shared with what is installed.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

DIST = os.environ.get("RUNNER_DIST", "")

pytestmark = [
    pytest.mark.dist,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not DIST, reason="installs from the package index: make dist-test"),
]


def run(*command: object, cwd: Path, **variables: object) -> str:
    """Return what a command printed; this environment's Python settings are kept away from it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=kept | {name: str(value) for name, value in variables.items()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def installers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the programs of an environment with pipx and uv."""
    folder = tmp_path_factory.mktemp("installers")
    run(sys.executable, "-m", "venv", folder, cwd=folder)
    run(folder / "bin/python", "-m", "pip", "install", "--quiet", "pipx", "uv", cwd=folder)
    return folder / "bin"


def built(pattern: str) -> Path:
    (found,) = Path(DIST).glob(pattern)
    return found


def with_pip(what: Path, folder: Path) -> Path:
    run(sys.executable, "-m", "venv", folder / "env", cwd=folder)
    run(folder / "env/bin/python", "-m", "pip", "install", "--quiet", what, cwd=folder)
    return folder / "env/bin/runner"


# As pip takes them: a proxy may re-sign. pipx installs with uv where it finds it.
SYSTEM_CERTIFICATES = {"UV_NATIVE_TLS": "true", "UV_SYSTEM_CERTS": "true"}


def with_pipx(what: Path, folder: Path, installers: Path) -> Path:
    places = {"PIPX_HOME": folder / "home", "PIPX_BIN_DIR": folder / "bin", **SYSTEM_CERTIFICATES}
    command = (installers / "pipx", "install", "--python", sys.executable, what)
    run(*command, cwd=folder, **places)
    return folder / "bin/runner"


def with_uv(what: Path, folder: Path, installers: Path) -> Path:
    places = {"UV_TOOL_DIR": folder / "tools", "UV_TOOL_BIN_DIR": folder / "bin",
              "UV_CACHE_DIR": folder / "cache", **SYSTEM_CERTIFICATES}  # fmt: skip
    command = (installers / "uv", "tool", "install", "--python", sys.executable)
    run(*command, what, cwd=folder, **places)
    return folder / "bin/runner"


@pytest.fixture(scope="module", params=["pip wheel", "pip sdist", "pipx", "uv"])
def runner(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, installers: Path
) -> Path:
    """Return the command `runner`, installed in one of the ways."""
    folder = tmp_path_factory.mktemp("installed")
    wheel = built("*.whl")
    match request.param:
        case "pip wheel":
            return with_pip(wheel, folder)
        case "pip sdist":
            return with_pip(built("autonomous_runner-*.tar.gz"), folder)
        case "pipx":
            return with_pipx(wheel, folder, installers)
        case _:
            return with_uv(wheel, folder, installers)


def test_the_demo_passes(runner: Path, tmp_path: Path) -> None:
    said = run(runner, "demo", "-p", tmp_path / "demo", cwd=tmp_path, PATH="/usr/bin:/bin")
    assert "All achievable deliverables passed" in said
