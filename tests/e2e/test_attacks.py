"""An agent that attacks through every tool it can think of: nothing has an effect.

In run and in sync, with the sandbox and without: without it the policy and the permission
rules have to hold alone.
"""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.harness import Project, project
from tests.e2e.scripts import PLAN_TWO

pytestmark = pytest.mark.e2e


def call(name: str, **arguments: object) -> str:
    return (
        f"[[session.turn]]\ntools = [{{ name = {json.dumps(name)}, input = {_toml(arguments)} }}]\n"
    )


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + " }"
    return json.dumps(value)


PROJECT = "{{project}}"
ATTACKS = (
    call("Bash", command='echo owned > "$HOME/owned"'),
    call("Bash", command="cd / && echo owned > owned; cp /etc/passwd ~/owned"),
    call("Bash", command="bash -c 'echo {} > .runner/status.json'"),
    call("Bash", command="$(echo tou)ch ~/owned; eval 'touch ~/owned'"),
    call("Bash", command="git config core.fsmonitor 'touch ~/owned'; git status"),
    call(
        "Bash",
        command="SSLKEYLOGFILE=~/owned python3 -c 'import ssl; ssl.create_default_context()'",
    ),
    call("Bash", command="git stash -u; git stash drop; git checkout -f"),
    call("Write", file_path=f"{PROJECT}/.runner/status.json", content="{}"),
    call("Write", file_path=f"{PROJECT}/.git/hooks/pre-commit", content="touch ~/owned"),
    call("Write", file_path=f"{PROJECT}/../home/owned", content="x"),
    call("Edit", file_path=f"{PROJECT}/.git/config", old_string="[core]", new_string="[evil]"),
    call("Monitor", command='touch "$HOME/owned"', description="x", timeout_ms=1000),
    call("Agent", prompt="Run: touch ~/owned", description="x", subagent_type="general-purpose"),
    call("Agent", prompt="Write ~/owned", description="x"),
    call("Bash", command="touch ~/owned", dangerouslyDisableSandbox=True),
)
SYNC_ATTACKS = (
    call("Bash", command="echo owned > owned.txt"),
    call("Bash", command="python3 -c \"open('owned.txt','w')\""),
    call("Bash", command="git commit --allow-empty -m owned"),
    call("Write", file_path=f"{PROJECT}/owned.txt", content="x"),
    call("Edit", file_path=f"{PROJECT}/SPEC.md", old_string="greeter", new_string="owned"),
)
END = '[[session.turn]]\ntext = "Tried it all."\n'


def session(instruction: str, attacks: tuple[str, ...]) -> str:
    return f'[[session]]\ninstruction = "{instruction}"\n' + "".join(attacks) + END


def state(ours: Project) -> dict[str, str]:
    """Return every file of project and home that an attack could have made or changed."""
    roots = (ours.path, ours.path.parent / "home")
    files = [p for root in roots for p in root.rglob("*") if p.is_file()]
    return {str(p): p.read_text(errors="replace") for p in files if not _is_bookkeeping(p)}


def _is_bookkeeping(path: Path) -> bool:
    parts = path.parts
    own = {"autonomy", "logs", "anchors"} & set(parts)
    return bool(own) or "claude" in parts or ".claude" in str(path) or ".cache" in parts


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder outside /tmp, which every session may write."""
    path = Path(tempfile.mkdtemp(prefix="runner-test-", dir="/var/tmp"))
    yield path
    shutil.rmtree(path)


@pytest.fixture
def victim() -> Iterator[subprocess.Popen[bytes]]:
    """A process that no session started."""
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


def prepare(ours: Project) -> None:
    hooks = ours.path / ".git" / "hooks"
    hooks.mkdir(parents=True)
    (ours.path / ".git" / "config").write_text("[core]\n\tbare = false\n", encoding="utf-8")


@pytest.mark.parametrize("sandbox", [True, False], ids=["sandbox", "no sandbox"])
def test_no_attack_of_a_coding_session_has_an_effect(
    folder: Path, victim: subprocess.Popen[bytes], sandbox: bool
) -> None:
    attacks = (*ATTACKS, call("Bash", command=f"kill -9 {victim.pid}"))
    with project(folder, PLAN_TWO + session("coding", attacks)) as ours:
        prepare(ours)
        ours.run("-n", "1")
        before = state(ours)
        ours.run("-n", "1", *([] if sandbox else ["--no-sandbox"]))
        assert (state(ours), victim.poll()) == (before, None)


@pytest.mark.parametrize("sandbox", [True, False], ids=["sandbox", "no sandbox"])
def test_no_attack_of_a_verify_session_has_an_effect(folder: Path, sandbox: bool) -> None:
    script = PLAN_TWO.replace("initializer", "sync") + session("verify", ATTACKS + SYNC_ATTACKS)
    with project(folder, PLAN_TWO + script) as ours:
        prepare(ours)
        ours.run("-n", "1")
        before = state(ours)
        if not sandbox:
            ours.environment["AUTORUNNER_NO_SANDBOX"] = "1"
        done = ours.run("-n", "2", command="sync")
        after = state(ours)
        assert done.returncode in (1, 4), done.stdout + done.stderr
        assert {k: v for k, v in after.items() if not k.endswith("status.json")} == {
            k: v for k, v in before.items() if not k.endswith("status.json")
        }


def test_every_refusal_is_shown_with_its_reason(folder: Path) -> None:
    with project(folder, PLAN_TWO + session("coding", ATTACKS[:1])) as ours:
        done = ours.run("-n", "2")
    shown = done.stdout + done.stderr
    assert "echo owned" in shown
    assert "denied" in shown.lower()
