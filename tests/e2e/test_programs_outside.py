"""Which programs a run starts outside of the sandbox, as the kernel tells, and from where.

The runs are hostile: the agent leaves programs and modules wherever runner could take them up.
"""

import json
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.e2e import tracer
from tests.e2e.harness import Project, project
from tests.e2e.scripts import REVIEW_PASS, SYNC_TWO, VERIFY, planned

import runner

pytestmark = pytest.mark.e2e

SOURCE = Path(runner.__file__).resolve().parent
STAND_INS = ("git", "bash", "sh", "bwrap", "socat", "ps", "claude", "env", "true")
MODULES = ("typer", "click", "anyio", "jinja2", "sitecustomize", "usercustomize", "tomllib")

OUTSIDE = {
    "runner": "runner itself",
    "bwrap": "what contains the agent",
    "sh": "the launcher of a session or a verification command",
    "guard": "what ends the agent and all it started",
    "git": "checkpoints, the reviewer's diff, `sync --commit`",
}
"""Every program that a run starts outside of the sandbox, and for what."""

PLAN = planned("CLI-001.txt holds hello", "grep -q hello CLI-001.txt")
CODING = """
[[session]]
instruction = "coding"

[[session.turn]]
tools = [{ name = "Bash", input = { command = "python3 attack.py" } }]

[[session.turn]]
tools = [{ name = "Write", input = { file_path = "{{project}}/CLI-001.txt", content = "hello\\n" } }]

[[session.turn]]
tools = [{ name = "mcp__runner__set_status", input = { deliverableId = "CLI-001", status = "passed" } }]

[[session.turn]]
text = "Done."
"""

ATTACK = f"""
import os, pathlib, shutil
here = pathlib.Path.cwd()

def attempt(action, *arguments):
    try:
        action(*arguments)
    except OSError as error:
        print(error)

def stand_in(folder, name):
    file = here / folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f'#!/bin/sh\\necho "$0" >> "$HOME/sprung"\\nexec /usr/bin/{{name}} "$@"\\n')
    file.chmod(0o755)

def append(file):
    with open(file, "a") as opened:
        opened.write("\\nopen(__import__('os').environ['HOME'] + '/sprung', 'a').write(__name__)\\n")

for name in {STAND_INS!r}:
    for folder in ("tools/bin", ".venv/bin"):
        attempt(stand_in, folder, name)
for name in {MODULES!r}:
    for folder in ("", "src", ".venv/bin", ".venv"):
        attempt(append, here / folder / (name + ".py"))
for file in sorted(here.glob(".venv/lib/*/site-packages/runner/agent/*.py")):
    attempt(append, file)
attempt(append, here / ".venv" / "pyvenv.cfg")
attempt(os.rename, here / ".venv", here / "away")
for folder in here.glob(".venv/lib/*/site-packages"):
    attempt((folder / "x.pth").write_text, "import os; open(os.environ['HOME'] + '/sprung', 'a')")
"""


@dataclass
class Traced:
    """A run that is over, and the programs that it started."""

    project: Project
    done: "subprocess.CompletedProcess[str]"
    programs: list[dict[str, Any]]

    @property
    def outside(self) -> list[dict[str, Any]]:
        return [program for program in self.programs if program["outside"]]

    @property
    def sprung(self) -> str:
        """What of the agent's ran outside: only there can the home folder be written."""
        file = Path(self.project.environment["HOME"], "sprung")
        return file.read_text() if file.exists() else ""


def label(program: dict[str, Any]) -> str:
    name, words = Path(program["exe"]).name, program["argv"]
    if name.startswith("python"):
        return "guard" if any(word.endswith("/guard.py") for word in words) else "runner"
    launched = name in ("sh", "dash", "bash", "busybox") and "/runner-agent-" in words[1]
    return "sh" if launched else name


def traced(ours: Project, command: list[str]) -> Traced:
    """Run a command to its end under the tracer."""
    if platform.system() != "Linux":
        pytest.skip("only Linux has what the tracer asks")
    notes = ours.path.parent / "notes"
    done = subprocess.run(
        [sys.executable, tracer.__file__, str(notes), *command],
        cwd=ours.path, env=ours.environment, capture_output=True, text=True, timeout=250,
        check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if done.returncode == tracer.NOT_PERMITTED:
        pytest.skip("this machine lets no process be traced")
    return Traced(ours, done, [json.loads(line) for line in notes.read_text().splitlines()])


def installed_in(folder: Path) -> Path:
    """Make an environment with a runner of its own; return its program `runner`."""
    bin_ = folder / "bin"
    packages = folder / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
    for made in (bin_, packages):
        made.mkdir(parents=True)
    base = Path(sys.base_prefix, "bin", f"python{sysconfig.get_python_version()}")
    (bin_ / "python").symlink_to(base)
    (folder / "pyvenv.cfg").write_text(f"home = {base.parent}\n")
    (packages / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    shutil.copytree(SOURCE, packages / "runner", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("instructions", "profiles"):
        data = SOURCE / "_data" / name
        data = data if data.exists() else SOURCE.parent.parent / name
        shutil.copytree(data, packages / "runner" / "_data" / name, dirs_exist_ok=True)
    program = bin_ / "runner"
    program.write_text(
        f"#!{bin_}/python\nimport sys\nfrom runner.__main__ import main\nsys.exit(main())\n"
    )
    program.chmod(0o755)
    return program


def prepare(ours: Project) -> None:
    """Make the project a repository with its own folders for programs first on the PATH."""
    (ours.path / "attack.py").write_text(ATTACK)
    (ours.path / ".gitignore").write_text(".venv/\ntools/\n")
    for words in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "Begin")):
        subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@localhost", *words],
            cwd=ours.path, check=True, capture_output=True,
        )  # fmt: skip
    mine = [f"{ours.path}/tools/bin", f"{ours.path}/.venv/bin", "tools/bin", ""]
    ours.environment["PATH"] = os.pathsep.join([*mine, ours.environment["PATH"]])
    ours.environment["PYTHONPATH"] = f"src{os.pathsep}{ours.path}/src"
    ours.environment["LD_LIBRARY_PATH"] = f"{ours.path}/lib:"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A whole run of a runner that is installed in the project's own `.venv`."""
    folder = tmp_path_factory.mktemp("outside")
    with project(folder, PLAN + CODING + REVIEW_PASS) as ours:
        installed = installed_in(ours.path / ".venv")
        prepare(ours)
        yield traced(ours, [str(installed), "run"])


def test_the_run_ends_well(run: Traced) -> None:
    assert (run.done.returncode, run.project.passed()) == (0, ["CLI-001"]), run.done.stderr


def test_nothing_of_the_agents_ran_outside(run: Traced) -> None:
    assert (run.project.path / "tools" / "bin" / "git").exists()  # the attack took place
    assert run.sprung == ""


def test_the_programs_outside_are_those_of_the_list(run: Traced) -> None:
    assert {label(program) for program in run.outside} == set(OUTSIDE)


def test_their_files_are_no_agents(run: Traced) -> None:
    ours, kept = run.project.path, run.project.path / ".venv"
    for program in run.outside:
        place = Path(program["exe"])
        assert not place.is_relative_to(ours) or place.is_relative_to(kept), program["argv"][:3]


def test_the_installation_in_the_project_is_as_it_was(run: Traced) -> None:
    venv = run.project.path / ".venv"
    (guard,) = venv.glob("lib/*/site-packages/runner/sandbox/guard.py")
    assert guard.read_bytes() == (SOURCE / "sandbox" / "guard.py").read_bytes()
    assert sorted(path.name for path in (venv / "bin").iterdir()) == ["python", "runner"]


def test_the_user_reads_once_that_the_installation_is_read_only(run: Traced) -> None:
    said = run.done.stdout + run.done.stderr
    assert said.count("agents therefore can't write") == 1, said


def test_git_gets_no_credential_and_no_folder_of_the_agents(run: Traced) -> None:
    for program in run.outside:
        if label(program) == "git":
            environ = program["environ"]
            assert "ANTHROPIC_API_KEY" not in environ
            assert not [v for n, v in environ.items() if n == "PATH" and str(run.project.path) in v]
            assert "LD_LIBRARY_PATH" not in environ


def test_verification_runs_in_the_systems_shell(run: Traced) -> None:
    inside = [p for p in run.programs if not p["outside"] and "--noprofile" in p["argv"]]
    assert inside
    assert not [p for p in inside if Path(p["exe"]).is_relative_to(run.project.path)]


@pytest.mark.storm
@pytest.mark.skipif(not os.environ.get("RUNNER_STORM"), reason="a long run: make storm")
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_sync_starts_nothing_that_agents_left(tmp_path: Path, place: int) -> None:
    with project(tmp_path, SYNC_TWO + VERIFY) as ours:
        prepare(ours)
        folders = [f for f in ours.environment["PATH"].split(os.pathsep) if "project" not in f]
        folders.insert(place, f"{ours.path}/tools/bin")
        ours.environment["PATH"] = os.pathsep.join(folders)
        subprocess.run(
            [sys.executable, "attack.py"], cwd=ours.path, env=ours.environment, check=True,
            capture_output=True,
        )  # fmt: skip
        Path(ours.environment["HOME"], "sprung").unlink(missing_ok=True)
        config = Path(ours.environment["HOME"], ".gitconfig")
        config.write_text("[user]\n\tname = t\n\temail = t@localhost\n")
        run = traced(ours, ours.command("sync", "--commit"))
    assert (run.done.returncode, run.sprung) == (0, ""), run.done.stderr
    assert {label(program) for program in run.outside} == set(OUTSIDE)
    for program in run.outside:
        assert not Path(program["exe"]).is_relative_to(ours.path), program["argv"][:3]
