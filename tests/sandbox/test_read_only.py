"""An installation of runner in the project: agents can't change it from inside the real box."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.sandbox.test_probe import AGENT, contains, run

from runner.marker import Instruction
from runner.sandbox.probe import ContainmentRequest, contained, is_boxed
from runner.sandbox.status import Containment

pytestmark = pytest.mark.process

SESSIONS = (Instruction.INITIALIZER, Instruction.CODING, Instruction.REMEDIATE)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / ".cache"))
    folder = tmp_path / "project"
    (folder / "tools" / "deep" / "venv" / "bin").mkdir(parents=True)
    (folder / "tools" / "deep" / "venv" / "bin" / "python").write_text("python")
    return folder


@pytest.fixture
def box(project: Path) -> Iterator[Containment]:
    request = ContainmentRequest(project, AGENT, read_only=(project / "tools" / "deep" / "venv",))
    with contained(request) as containment:
        yield containment


@contains
@pytest.mark.parametrize("instruction", SESSIONS)
@pytest.mark.parametrize(
    "attack",
    [
        "echo bad > venv/bin/python",
        "rm -rf venv",
        "mv venv away && mkdir -p venv/bin && echo bad > venv/bin/python",
        "cd .. && mv deep away && mkdir -p deep/venv/bin && echo bad > deep/venv/bin/python",
        "cd ../.. && mv tools away && mkdir -p tools/deep/venv/bin && echo bad > tools/deep/venv/bin/python",
        "ln venv/bin/python hard && echo bad > hard",
        "cp venv/bin/python x && mv x venv/bin/python",
        "mount -o remount,rw venv && echo bad > venv/bin/python",
        "umount venv && echo bad > venv/bin/python",
        "touch venv/lib64 venv/bin/git",
    ],
)
def test_no_session_can_change_it(
    project: Path, box: Containment, instruction: Instruction, attack: str
) -> None:
    run(box, instruction, f"cd tools/deep && {attack}")
    installed = project / "tools" / "deep" / "venv"
    found = {
        str(p.relative_to(installed)): p.read_text() for p in installed.rglob("*") if p.is_file()
    }
    assert found == {"bin/python": "python"}


@contains
def test_a_verification_command_can_not_change_it(project: Path, box: Containment) -> None:
    command = box.wrap_verification(["/bin/sh", "-c", "echo bad > tools/deep/venv/bin/python"])
    subprocess.run(command, capture_output=True, timeout=30, check=False)
    assert (project / "tools" / "deep" / "venv" / "bin" / "python").read_text() == "python"


@contains
def test_what_lies_around_it_can_be_written(project: Path, box: Containment) -> None:
    run(box, Instruction.CODING, "echo new > tools/deep/made && echo new > tools/made")
    assert (project / "tools" / "deep" / "made").is_file()
    assert (project / "tools" / "made").is_file()


@contains
def test_a_read_only_session_writes_to_its_copy_alone(project: Path, box: Containment) -> None:
    said = run(box, Instruction.REVIEW, "echo bad > tools/deep/venv/bin/python; echo done")
    assert "done" in said
    assert (project / "tools" / "deep" / "venv" / "bin" / "python").read_text() == "python"


@contains
def test_the_user_is_told_what_fails_and_what_to_do(project: Path, box: Containment) -> None:
    (caution,) = [one for one in box.cautions if "tools/deep/venv" in one.text]
    assert "installing packages there fails" in caution.text
    assert "pipx install" in (caution.hint or "")


def test_only_bubblewrap_makes_folders_read_only() -> None:
    assert is_boxed(wanted=True, platform="linux")
    assert not is_boxed(wanted=True, platform="darwin")
    assert not is_boxed(wanted=False, platform="linux")


@contains
@pytest.mark.parametrize(
    "attack", ["", "mv /run/runner-agent/programs /run/x", "touch /run/runner-agent/programs/bwrap"]
)
def test_the_programs_of_the_agents_own_sandbox_can_not_be_replaced(
    project: Path, tmp_path: Path, attack: str
) -> None:
    for folder in (tmp_path / "system", project / "bin"):
        folder.mkdir(exist_ok=True)
        for name in ("socat", "bwrap"):
            (folder / name).write_text("#!/bin/sh\n")
            (folder / name).chmod(0o755)
    path = f"{project}/bin:{tmp_path}/system:/usr/bin:/bin"
    request = ContainmentRequest(project, AGENT, {**os.environ, "PATH": path}, network=False)
    with contained(request) as box:
        said = run(
            box,
            Instruction.CODING,
            f"{attack} 2>/dev/null; command -v bwrap; command -v socat; readlink $(command -v socat)",
        )
    assert said.split() == [
        "/run/runner-agent/programs/bwrap",
        "/run/runner-agent/programs/socat",
        str(tmp_path / "system" / "socat"),
    ]
