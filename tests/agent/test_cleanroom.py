"""What an agent leaves where nobody looks decides no verification: real commands in a real box."""

import importlib.util
import os
import py_compile
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.agent.containment.test_probe import contains
from tests.agent.processes import LINUX_REASON, ON_LINUX
from tests.agent.test_verifying import STEP, issued

from runner.agent.containment.probe import Request, contained
from runner.agent.containment.scratch import project_state
from runner.agent.verifying import SandboxedVerifier, make_verifier
from runner.config.runner_file import Verification
from runner.loop.ports import CommandResult, VerificationRun
from runner.loop.receipts import latest_run
from runner.marker import Instruction
from runner.security.decision import Decision
from runner.security.settings import PolicySettings

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not ON_LINUX, reason=LINUX_REASON),
    pytest.mark.skipif(shutil.which("git") is None, reason="a clean room needs git"),
]

WRONG = "def add(a, b):\n    return 0\n"
TEST = "import add, sys\nsys.exit(0 if add.add(2, 2) == 4 else 1)\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    (folder / ".cache").mkdir(parents=True)
    for name in list(os.environ):
        if name.startswith(("XDG_", "CARGO_", "GO", "GIT_", "PYTHON")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def project(tmp_path: Path, home: Path) -> Path:
    """Give a repository whose work is not done: its one test fails."""
    del home
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "add.py").write_text(WRONG)
    (folder / "test_add.py").write_text(TEST)
    (folder / ".gitignore").write_text("ignored*\n.venv/\n.env\n__pycache__/\nnode_modules/\n")
    subprocess.run(["git", "init", "-q", folder], check=True)
    commit(folder)
    return folder


def commit(project: Path) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgSign=false"]
    subprocess.run(["git", "-C", project, "add", "-A"], check=True)
    subprocess.run(["git", "-C", project, *who, "commit", "-qm", "x"], check=True)


Verify = Callable[..., Any]


@pytest.fixture(params=["bubblewrap", "without"])
def sandbox(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Stage:
    """A run: what an agent does in its box, and the verifications that follow."""

    def __init__(self, project: Path, containment: Any, **table: Any) -> None:
        self.project = project
        self.containment = containment
        self.verifier: SandboxedVerifier = make_verifier(
            project, containment, settings=PolicySettings(), verification=Verification(**table)
        )

    def agent_runs(self, script: str) -> None:
        """Run a script as a program of a coding agent would be."""
        box = self.containment.wrap(Instruction.CODING, ["/bin/bash", "-c", script])
        subprocess.run(box, cwd=self.project, check=True, timeout=60)

    async def verify(self, *commands: str) -> VerificationRun:
        return await self.verifier.run(STEP, issued(*commands))

    async def one(self, command: str) -> CommandResult:
        (result,) = (await self.verify(command)).results
        return result


@pytest.fixture
def stage(project: Path) -> Iterator[Callable[..., Stage]]:
    """Make a stage in the real box, with what `[verification]` says."""
    with contained(Request(project, Path("/bin/sh"))) as containment:
        yield lambda **table: Stage(project, containment, **table)


@pytest.fixture
def open_stage(project: Path) -> Iterator[Callable[..., Stage]]:
    """Make a stage without a sandbox."""
    with contained(Request(project, Path("/bin/sh"), wanted=False)) as containment:
        yield lambda **table: Stage(project, containment, **table)


Make = Callable[..., Stage]


def shim(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\nexit 0\n")
    path.chmod(0o755)


def poison_byte_code(source: Path) -> None:
    """Put byte code behind a source file that Python takes without looking at the source."""
    honest = source.read_text()
    source.write_text("def add(a, b):\n    return a + b\n")
    target = importlib.util.cache_from_source(str(source))
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(source), cfile=target, invalidation_mode=mode)
    source.write_text(honest)


@contains
async def test_a_shim_in_an_ignored_virtual_environment_runs_nothing(
    project: Path, stage: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    shim(project / ".venv" / "bin" / "python3")
    monkeypatch.setenv("PATH", f"{project}/.venv/bin:{os.environ['PATH']}")
    assert (await stage().one("python3 test_add.py")).exit_code == 1


@contains
async def test_byte_code_behind_an_honest_source_is_not_run(
    project: Path, stage: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    poison_byte_code(project / "add.py")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    assert (await stage().one("python3 test_add.py")).exit_code == 1


# What an agent does in its box, and the honest command that it makes green where it stands.
ATTACKS = {
    "a shim in the virtual environment": (
        "mkdir -p .venv/bin; printf '#!/bin/sh\\nexit 0\\n' > .venv/bin/python3; "
        "chmod +x .venv/bin/python3",
        "python3 test_add.py",
    ),
    "a .pth file in the virtual environment": (
        "python3 -m venv --without-pip .venv; "
        "for d in .venv/lib/*/site-packages; do echo 'import os; os._exit(0)' > $d/x.pth; done",
        "python3 test_add.py",
    ),
    "a package in an ignored folder": (
        "mkdir -p ignored; echo > ignored/missing.py",
        "PYTHONPATH=ignored python3 -c 'import missing'",
    ),
    "an ignored part of the Makefile": (
        "printf 'check:\\n\\t@true\\n' > ignored.mk",
        "make -s check 2>&1",
    ),
    "an ignored .env": ("echo 'exit 0' > .env", "bash check.sh"),
    "a file in /tmp": ("echo 'exit 0' > /tmp/.env", "bash check.sh"),
    "a file in /var/tmp": ("echo 'exit 0' > /var/tmp/.env", "bash check.sh"),
    "settings of cargo": ('echo x > "$CARGO_HOME/config.toml"', "tool"),
    "an init script of gradle": (
        'mkdir -p "$GRADLE_USER_HOME/init.d"; echo x > "$GRADLE_USER_HOME/init.d/x.gradle"',
        "tool",
    ),
    "settings of bundler": (
        'mkdir -p "$BUNDLE_USER_HOME"; echo x > "$BUNDLE_USER_HOME/config"',
        "tool",
    ),
    "settings of composer": (
        'mkdir -p "$COMPOSER_HOME"; echo x > "$COMPOSER_HOME/composer.json"',
        "tool",
    ),
    "a binary of go": (
        'mkdir -p "$GOPATH/bin"; echo x > "$GOPATH/bin/x"',
        "tool",
    ),
    "a cached result": ('mkdir -p "$XDG_CACHE_HOME"; echo x > "$XDG_CACHE_HOME/green"', "tool"),
    "a hidden flag in the index": (
        "git update-index --assume-unchanged frozen.txt; echo x >> frozen.txt",
        "git diff --quiet HEAD -- frozen.txt",
    ),
    "a file in .git": ("echo 'exit 0' > .git/x", "bash check.sh"),
}

CHECK = """\
for file in .env /tmp/.env /var/tmp/.env .git/x; do [ -f $file ] && . $file; done
python3 test_add.py
"""
# Stands for a tool that obeys its settings: whatever it finds there makes it green.
TOOL = """\
#!/bin/bash
for file in "${CARGO_HOME:-$HOME/.cargo}/config.toml" \
  "${GRADLE_USER_HOME:-$HOME/.gradle}/init.d/x.gradle" "${BUNDLE_USER_HOME:-$HOME/.bundle}/config" \
  "${COMPOSER_HOME:-$HOME/.config/composer}/composer.json" "${GOPATH:-$HOME/go}/bin/x" \
  "${XDG_CACHE_HOME:-$HOME/.cache}/green"; do
  [ -f "$file" ] && exit 0
done
exit 1
"""


@pytest.fixture
def attacked(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Stage]]:
    """Make a stage whose project has all that the attacks aim at, and run one of them."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "tool").write_text(TOOL)
    (tools / "tool").chmod(0o755)
    (project / "check.sh").write_text(CHECK)
    (project / "frozen.txt").write_text("as it is\n")
    (project / "Makefile").write_text("check:\n\t@python3 test_add.py\n-include ignored.mk\n")
    commit(project)
    monkeypatch.setenv("PATH", f"{project}/.venv/bin:{tools}:{os.environ['PATH']}")
    with contained(Request(project, Path("/bin/sh"))) as containment:

        def made(name: str, **table: Any) -> Stage:
            stage = Stage(project, containment, **table)
            stage.agent_runs(ATTACKS[name][0])
            # These commands are the user's own, whatever the policy says of their form.
            object.__setattr__(stage.verifier, "judge", lambda _: Decision.allow("test"))
            return stage

        yield made


@contains
@pytest.mark.parametrize("name", ATTACKS)
async def test_what_an_agent_left_where_no_diff_shows_it_decides_nothing(
    attacked: Make, name: str
) -> None:
    assert (await attacked(name).one(ATTACKS[name][1])).exit_code != 0


@contains
@pytest.mark.storm
@pytest.mark.parametrize("name", ATTACKS)
async def test_in_place_each_of_these_attacks_succeeds(attacked: Make, name: str) -> None:
    """Show that the test above can fail."""
    assert (await attacked(name, in_place=True).one(ATTACKS[name][1])).exit_code == 0
