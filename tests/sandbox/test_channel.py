"""What closes an agent to its commands, without an agent."""

import os
import platform
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.sandbox.test_probe import AGENT, contains

from runner.errors import PrerequisiteError
from runner.marker import Instruction
from runner.sandbox import channel
from runner.sandbox.environment import EnvironmentRules
from runner.sandbox.probe import ContainmentRequest, contained
from runner.sandbox.process import AgentProcess

linux = pytest.mark.skipif(
    platform.system() != "Linux" or platform.machine() not in channel.MACHINES,
    reason="needs Linux on a known machine",
)


def _shell(folder: Path, command: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    environ = {"PATH": os.environ["PATH"], **variables}
    return subprocess.run(
        [str(folder / "bash"), "-c", command],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )


@linux
def test_commands_do_not_inherit_what_the_agent_signs_in_with(tmp_path: Path) -> None:
    named = {"ANTHROPIC_API_KEY": "k", "CLAUDE_CODE_USE_BEDROCK": "1", "AWS_PROFILE": "p"}
    channel.write_channel(tmp_path, EnvironmentRules().for_agents_alone(named))
    later = {"ANTHROPIC_AUTH_TOKEN": "t", "CLAUDE_CODE_OAUTH_TOKEN": "o", "CLAUDE_CONFIG_DIR": "/c"}
    said = _shell(tmp_path, "env", **named, **later, GREETING="hello", CLAUDE_PID="2").stdout
    names = {line.partition("=")[0] for line in said.splitlines()}
    assert names - {"PATH", "PWD", "SHLVL", "_"} == {"GREETING", "CLAUDE_PID"}


@linux
def test_the_arguments_of_the_shell_reach_bash_as_they_are(tmp_path: Path) -> None:
    channel.write_channel(tmp_path, ())
    assert _shell(tmp_path, "printf '<%s>' \"a  b\" '$c' *.none").stdout == "<a  b><$c><*.none>"


@linux
def test_a_library_that_the_user_preloads_stays(tmp_path: Path) -> None:
    channel.write_channel(tmp_path, ())
    preloaded = f"{tmp_path}/channel.so:/none/mine.so"
    assert _shell(tmp_path, "echo $LD_PRELOAD", LD_PRELOAD=preloaded).stdout == "/none/mine.so\n"


@linux
@pytest.mark.parametrize("agent", ["", "1999999999", "self"])
def test_without_an_agent_that_is_out_of_reach_no_command_is_run(
    tmp_path: Path, agent: str
) -> None:
    channel.write_channel(tmp_path, (), bubblewrap=Path("/none/bwrap"))
    done = _shell(tmp_path, "echo RAN", RUNNER_AGENT_PID=agent)
    assert (done.returncode, done.stdout) == (channel.REACHABLE, "")
    assert "not closed" in done.stderr


@linux
def test_a_server_of_the_user_is_started_as_it_was_named(tmp_path: Path) -> None:
    channel.write_channel(tmp_path, ())
    named = {"command": "printf", "args": ["<%s>", "a b"], "env": {"X": "1"}}
    server = channel.start_server(tmp_path, named)
    environ = {"PATH": os.environ["PATH"], "LD_PRELOAD": f"{tmp_path}/channel.so"}
    words = [server["command"], *server["args"]]
    assert subprocess.run(words, env=environ, capture_output=True, check=True).stdout == b"<a b>"
    assert server["env"] == {"X": "1"}


def test_a_server_that_is_not_started_stays_as_it_is(tmp_path: Path) -> None:
    server = {"type": "http", "url": "https://example.com"}
    assert channel.start_server(tmp_path, server) == server


@linux
def test_it_is_written_again_for_the_next_bubblewrap(tmp_path: Path) -> None:
    channel.write_channel(tmp_path, (), bubblewrap=Path("/first/bwrap"))
    channel.write_channel(tmp_path, (), bubblewrap=Path("/second/bwrap"))
    assert "/second/bwrap" in (tmp_path / channel.PROGRAMS / "bwrap").read_text(encoding="utf-8")


@linux
@pytest.mark.skipif(os.geteuid() == 0, reason="root can trace every process")
def test_an_ordinary_users_process_is_closed_without_a_sandbox(tmp_path: Path) -> None:
    channel.write_channel(tmp_path, (), bubblewrap=Path("/none/bwrap"))
    done = subprocess.run(channel.trial_words(tmp_path), check=False, timeout=30)
    assert done.returncode == 0


def test_an_unknown_machine_is_refused_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "mips")
    with pytest.raises(PrerequisiteError, match="On mips"):
        channel.write_channel(tmp_path, ())


@pytest.mark.parametrize("machine", sorted(channel.MACHINES))
@pytest.mark.skipif(shutil.which("readelf") is None, reason="needs readelf")
def test_the_library_is_one_that_tools_understand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machine: str
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    channel.write_channel(tmp_path, ())
    said = subprocess.run(
        ["readelf", "-Wld", str(tmp_path / "channel.so")],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    assert said.stderr == ""
    assert "RWE" not in said.stdout
    assert "(INIT)" in said.stdout


FORGE = """
echo of the agent >&2
for name in 0 1 2 3 4 5 6 7; do
  timeout 5 sh -c "echo FORGED > /proc/1/fd/$name"
done 2> /dev/null
for name in environ mem; do
  grep -a k3y-0f-the /proc/1/$name && echo READ
done 2> /dev/null
for name in root cwd; do
  test "$(readlink /proc/1/$name)" = / || ls /proc/1/$name/ 2> /dev/null
done
"""


@pytest.mark.process
@contains
def test_commands_do_not_write_what_the_agent_seems_to_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k3y-0f-the-agent")
    (tmp_path / "project").mkdir()
    with contained(ContainmentRequest(tmp_path / "project", AGENT)) as box:
        words = box.wrap(Instruction.CODING, [*box.start, "/bin/sh", "-c", FORGE])
        entries = ["PATH", "HOME", "ANTHROPIC_API_KEY"]
        process = AgentProcess(words, entries, passed_on=True, sealed=["ANTHROPIC_API_KEY"])
        done = subprocess.run(
            [process.launcher], capture_output=True, text=True, check=False, timeout=60
        )
        process.is_started()
    assert done.stdout == ""
    assert done.stderr == "of the agent\n"


@linux
def test_why_an_agent_did_not_start_is_heard(tmp_path: Path) -> None:
    process = AgentProcess(["/none/agent"], [], passed_on=True)
    subprocess.run([process.launcher], check=False, timeout=60)
    assert process.said_at_start() == ["cannot start /none/agent: No such file or directory"]
    process.is_started()
    assert process.said_at_start() == []
