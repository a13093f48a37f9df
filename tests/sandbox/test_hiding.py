"""What code in the real box can read: variables, wherever they are kept, and credential files."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.sandbox.test_probe import AGENT, contains

from runner.agent.claude.options import AgentSettings
from runner.marker import Instruction
from runner.sandbox.binary import candidates
from runner.sandbox.environment import ALLOWLIST, EnvironmentRules
from runner.sandbox.hiding import hiding_mounts
from runner.sandbox.probe import ContainmentRequest, contained
from runner.sandbox.process import AgentProcess
from runner.sandbox.scratch import Scratch
from runner.sandbox.status import Containment

pytestmark = pytest.mark.process

CANARY = "c4n4ry"
VARIABLES = (
    "NPM_TOKEN", "PYPI_TOKEN", "VAULT_TOKEN", "CARGO_REGISTRY_TOKEN", "DOCKER_AUTH_CONFIG",
    "SSH_AGENT_PID", "AWS_SECRET_ACCESS_KEY", "AZURE_CLIENT_SECRET", "OPENAI_API_KEY", "DATABASE_URL",
    "PGPASSWORD", "STRIPE_SECRET_KEY", "SLACK_TOKEN", "HF_TOKEN", "TF_VAR_db", "UNHEARD_OF",
)  # fmt: skip
NAMED = (
    "GOOGLE_APPLICATION_CREDENTIALS", "AWS_SHARED_CREDENTIALS_FILE", "KUBECONFIG",
    "NPM_CONFIG_USERCONFIG", "NETRC", "PGPASSFILE", "SOPS_AGE_KEY_FILE",
)  # fmt: skip
NAMED_FOLDERS = (
    "GNUPGHOME",
    "DOCKER_CONFIG",
    "GH_CONFIG_DIR",
    "CLOUDSDK_CONFIG",
    "AZURE_CONFIG_DIR",
)
IN_HOME = (
    ".gemini/oauth_creds.json", ".local/share/opencode/auth.json", ".pi/agent/auth.json",
    ".cache/huggingface/token", ".huggingface/token", ".fly/config.yml", ".config/stripe/config.toml",
    ".config/sops/age/keys.txt", ".config/hcloud/cli.toml", ".databrickscfg", ".snowflake/config.toml",
    ".local/share/com.vercel.cli/auth.json", ".config/Code/User/globalStorage/state.vscdb",
    ".wakatime.cfg", ".config/google-chrome/Default/Cookies", ".config/doctl/config.yaml", ".boto",
    ".terraform.d/credentials.tfrc.json", ".pip/pip.conf", ".config/pip/pip.conf", ".netlify/config.json",
    ".terraformrc", ".m2/settings-security.xml", ".m2/settings.xml", ".sentryclirc", ".oci/config",
    ".codex/auth.json", ".sqlite_history", ".lesshst", ".viminfo", ".mycli-history",
    ".nuget/NuGet/NuGet.Config", ".mozilla/firefox/x/logins.json", "Maildir/cur/1",
    ".config/git/credentials", ".ssh/id_rsa",
)  # fmt: skip
LOOK = f"""
import os
from pathlib import Path
places = [*Path("/proc").glob("[0-9]*/environ"), *Path("/proc").glob("[0-9]*/cmdline")]
for root in (os.environ["HOME"], os.getcwd()):
    places += [Path(f, n) for f, _, names in os.walk(root) for n in names]
seen = 0
for place in places:
    try:
        text = place.read_bytes()
    except OSError:
        continue
    seen += b"HOME=" in text
    if b"{CANARY[:-1]}" b"{CANARY[-1]}" in text:
        print("READ", place)
print("SEEN", seen, os.environ["GOFLAGS"], os.environ.get("ANTHROPIC_API_KEY"))
"""
Look = Callable[[Containment], str]


def write(path: Path, text: str = CANARY) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a project of a user who has credentials in every known place."""
    home, project = tmp_path / "home", tmp_path / "project"
    # What lies below /tmp is not there inside; the home folder is.
    elsewhere = home / "elsewhere"
    project.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("CACHE", "CONFIG", "DATA", "STATE"):
        monkeypatch.delenv(f"XDG_{name}_HOME", raising=False)
    for name in os.environ:
        if name.startswith(("ANTHROPIC_", "CLAUDE")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "of-the-agent")
    monkeypatch.setenv("GOFLAGS", "-kept")
    for name in VARIABLES:
        monkeypatch.setenv(name, CANARY)
    for name in NAMED:
        monkeypatch.setenv(name, str(write(elsewhere / name / "file")))
    monkeypatch.setenv("KUBECONFIG", f"/nowhere:{elsewhere}/KUBECONFIG/file")
    for name in NAMED_FOLDERS:
        monkeypatch.setenv(name, str(write(elsewhere / name / "deep" / "file").parents[1]))
    monkeypatch.setenv("SERVICE_KEY_FILE", str(write(project / "service.json")))
    for place in IN_HOME:
        write(home / place)
    return project


@pytest.fixture
def box(project: Path) -> Iterator[Containment]:
    with contained(ContainmentRequest(project, AGENT)) as containment:
        yield containment


def in_session(box: Containment, instruction: Instruction, *command: str) -> str:
    """Run a command as the agent of a session is run, by its launcher."""
    settings = AgentSettings(Path(), AGENT)
    process = AgentProcess(box.wrap(instruction, command), settings.environment_entries(os.environ))
    done = subprocess.run([process.launcher], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@contains
@pytest.mark.parametrize("instruction", [Instruction.CODING, Instruction.SYNC, Instruction.REVIEW])
def test_code_in_a_session_finds_no_credential_but_the_agents(
    box: Containment, instruction: Instruction
) -> None:
    said = in_session(box, instruction, "python3", "-c", LOOK)
    assert "READ" not in said
    assert said.splitlines()[-1].split()[2:] == ["-kept", "of-the-agent"]
    assert int(said.split()[-3]) >= 2  # of bubblewrap and of Python itself


@contains
def test_code_in_a_verification_finds_no_credential_at_all(box: Containment) -> None:
    process = AgentProcess(box.wrap_verification(["python3", "-c", LOOK]))
    inside = ALLOWLIST.of_commands(os.environ)
    done = subprocess.run(
        [process.launcher], env=inside, capture_output=True, text=True, check=False
    )
    assert "READ" not in done.stdout
    assert done.stdout.splitlines()[-1].split()[2:] == ["-kept", "None"], done.stderr


@contains
def test_a_socket_that_obeys_the_user_is_not_reached(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = project.parent / "home" / "agent.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place))
        server.listen()
        monkeypatch.setenv("SSH_AUTH_SOCK", str(place))
        connect = f"import socket; socket.socket(socket.AF_UNIX).connect({str(place)!r})"
        with contained(ContainmentRequest(project, AGENT)) as box:
            said = in_session(box, Instruction.CODING, "python3", "-c", connect)
    assert "Error" in said


@contains
@pytest.mark.parametrize("way", [".rd/docker.sock", "link/docker.sock"])
def test_a_socket_in_the_home_folder_that_no_variable_names_is_not_reached(
    project: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """One of Docker, watchman or an editor runs what it is told; read-only mounts don't matter.

    Where an overlay lies over the home folder, it keeps sockets away.
    """
    monkeypatch.setattr("runner.sandbox.probe.OVERLAY_SINCE", (99, 0, 0))
    home = project.parent / "home"
    (home / ".rd").mkdir()
    (home / "link").symlink_to(".rd")
    place = home / ".rd" / "docker.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(home / way))
        server.listen()
        connect = f"import socket; socket.socket(socket.AF_UNIX).connect({str(place)!r})"
        with contained(ContainmentRequest(project, AGENT)) as box:
            said = in_session(box, Instruction.CODING, "python3", "-c", connect)
    assert "PermissionError" in said or "ConnectionRefusedError" in said


@contains
@pytest.mark.parametrize("place", ["home/mine", "below/tmp"])
def test_a_file_that_is_handed_on_is_read(
    project: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setenv("NETRC", str(write(project.parent / place)))
    rules = EnvironmentRules(passed=("NETRC",))
    with contained(ContainmentRequest(project, AGENT, rules=rules)) as box:
        look = box.wrap_verification(["cat", os.environ["NETRC"]])
        inside = rules.of_commands(os.environ)
        done = subprocess.run(look, env=inside, capture_output=True, text=True, check=False)
    assert done.stdout == CANARY


@contains
def test_what_a_program_needs_below_a_hidden_folder_stays_visible(project: Path) -> None:
    agent = write(project.parent / "home" / ".codex" / "bin" / "agent", "works")
    with contained(ContainmentRequest(project, agent)) as box:
        said = in_session(box, Instruction.CODING, "sh", "-c", f"cat {agent} {agent.parents[1]}/*")
    assert said.startswith("works")
    assert CANARY not in said


@contains
def test_a_project_in_a_folder_of_a_repository_is_found_by_git(project: Path) -> None:
    """Project and home are mounts of their own, where git stops unless it is told not to."""
    repository = Path(os.environ["HOME"]) / "work"
    inner = repository / "app"
    inner.mkdir(parents=True)
    subprocess.run(["git", "init", "--quiet", str(repository)], check=True)
    with contained(ContainmentRequest(inner, AGENT)) as box:
        shown = in_session(box, Instruction.CODING, "git", "rev-parse", "--show-prefix")
    assert shown == "app/\n"


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    (tmp_path / "scratch").mkdir()
    return Scratch(tmp_path / "scratch")


def test_nothing_is_mounted_below_what_is_hidden(scratch: Scratch, tmp_path: Path) -> None:
    (tmp_path / ".kube").mkdir()
    paths = {tmp_path / ".kube", write(tmp_path / ".kube/config")}
    mounts = list(hiding_mounts(paths, scratch, tmp_path / "project", ()))
    assert mounts == ["--ro-bind", str(scratch.void), str(tmp_path / ".kube")]


@pytest.mark.parametrize(
    ("name", "text"), [("settings.xml", "<settings/>\n"), ("auth.json", "{}\n")]
)
def test_programs_find_a_file_that_they_can_parse(
    scratch: Scratch, tmp_path: Path, name: str, text: str
) -> None:
    path = write(tmp_path / name)
    _, cover, _ = hiding_mounts({path}, scratch, tmp_path / "project", ())
    assert Path(cover).read_text() == text


@contains
@pytest.mark.parametrize("place", [".netrc", ".kube", ".config/gh"])
def test_what_is_replaced_while_a_session_runs_stays_hidden(project: Path, place: str) -> None:
    home = project.parent / "home"
    write(home / ".kube" / "config")
    write(home / ".netrc")
    write(home / ".config" / "gh" / "hosts.yml")
    look = f"until test -e go; do sleep 0.01; done; grep -rs {CANARY} {home} && echo READ"
    with contained(ContainmentRequest(project, AGENT)) as box:
        command = box.wrap(Instruction.CODING, ["sh", "-c", f"echo ready; {look}"])
        session = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=project)
        assert session.stdout is not None
        assert session.stdout.readline() == "ready\n"
        old = (home / place).rename(home / ".old")
        copy = shutil.copytree if old.is_dir() else shutil.copy
        copy(old, home / place)
        shutil.rmtree(old) if old.is_dir() else old.unlink()
        write(project / "go")
        said, _ = session.communicate(timeout=30)
    assert "READ" not in said


@contains
def test_a_file_system_in_the_home_folder_is_seen(project: Path) -> None:
    """No overlay can be mounted there: what is hidden is then hidden without one."""
    home = project.parent / "home"
    (home / "disk").mkdir()
    program = str(next(candidates(os.environ)).path)
    inside = f'echo there > {home}/disk/file; exec {sys.executable} -c "$1"'
    words = [
        program,
        "--dev-bind",
        "/",
        "/",
        "--tmpfs",
        str(home / "disk"),
        "sh",
        "-c",
        inside,
        "sh",
    ]
    done = subprocess.run([*words, _SEEN], capture_output=True, text=True, check=False, cwd=project)
    assert done.stdout == "there\n", done.stderr


_SEEN = """
import os, subprocess
from pathlib import Path
from runner.sandbox.probe import ContainmentRequest, contained
from runner.marker import Instruction
with contained(ContainmentRequest(Path.cwd(), Path("/bin/sh"))) as box:
    path = os.environ["HOME"] + "/disk/file"
    subprocess.run(box.wrap(Instruction.CODING, ["cat", path]), check=False)
"""
