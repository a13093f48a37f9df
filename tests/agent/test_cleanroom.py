"""What an agent leaves where nobody looks decides no verification: real commands in a real box."""

import importlib.util
import os
import py_compile
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.agent.processes import LINUX_REASON, ON_LINUX
from tests.agent.test_verifying import STEP, issued
from tests.sandbox.test_probe import contains

from runner.checkpoints.tree_identity import tree_identity
from runner.config.runner_file import VerificationTable
from runner.deliverables.model import Deliverable, StatusFile
from runner.events import Checking, CheckStage
from runner.loop.baseline import Baseline
from runner.marker import Instruction
from runner.ports import VerificationRun, VerifiedCommand
from runner.records.baseline import BaselineBook, Outcome
from runner.records.receipts import latest_run
from runner.sandbox.probe import ContainmentRequest, contained
from runner.sandbox.scratch import Scratch, project_state
from runner.shell_policy.decision import Decision, PolicySettings
from runner.verification.verifier import SandboxedVerifier, make_verifier

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not ON_LINUX, reason=LINUX_REASON),
    pytest.mark.skipif(shutil.which("git") is None, reason="a clean room needs git"),
    pytest.mark.process,
]

# A cargo that rustup installed finds its toolchain there, whatever HOME is.
RUSTUP = os.environ.get("RUSTUP_HOME") or Path("~/.rustup").expanduser()
PASSES, FAILS = Outcome.PASSES, Outcome.FAILS
LONG = pytest.mark.skipif(not os.environ.get("RUNNER_STORM"), reason="a long run: make storm")
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


def git(project: Path, *words: str) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgSign=false"]
    subprocess.run(["git", "-C", project, *who, *words], check=True)


def commit(project: Path) -> None:
    git(project, "add", "-A")
    git(project, "commit", "-qm", "x")


class Stage:
    """A run: what an agent does in its box, and the verifications that follow."""

    def __init__(self, project: Path, containment: Any, **table: Any) -> None:
        self.project = project
        self.containment = containment
        self.verifier: SandboxedVerifier = make_verifier(
            project, containment, settings=PolicySettings(), verification=VerificationTable(**table)
        )

    def agent_runs(self, script: str) -> None:
        """Run a script as a program of a coding agent would be."""
        box = self.containment.wrap(Instruction.CODING, ["/bin/bash", "-c", script])
        subprocess.run(box, cwd=self.project, check=True, timeout=60)

    async def verify(self, *commands: str) -> VerificationRun:
        return await self.verifier.run(STEP, issued(*commands))

    async def one(self, command: str) -> VerifiedCommand:
        (result,) = (await self.verify(command)).results
        return result


@pytest.fixture
def stage(project: Path) -> Iterator[Callable[..., Stage]]:
    """Make a stage in the real box, with what `[verification]` says."""
    with contained(ContainmentRequest(project, Path("/bin/sh"))) as containment:
        yield lambda **table: Stage(project, containment, **table)


@pytest.fixture
def open_stage(project: Path) -> Iterator[Callable[..., Stage]]:
    """Make a stage without a sandbox."""
    with contained(ContainmentRequest(project, Path("/bin/sh"), wanted=False)) as containment:
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


# Forms that no list of programs knows: what they do is in the project, or comes from its state.
UNABLE_TO_FAIL = (
    "! python3 test_add.py",
    "bash idle.sh",
    "./idle.sh",
    "python3 idle.py",
    "make -f idle.mk check",
    "python3 -c 'x = [1]'",
    "python3 -c 'import unittest as u; u.TextTestRunner().run(u.TestSuite())'",
    "env X=1 timeout 20 bash idle.sh",
    "sh -c 'python3 test_add.py' || expr 1",
    "git ls-files",
)


@contains
async def test_commands_that_cannot_fail_are_seen_to_pass_before_any_work(
    project: Path, stage: Make
) -> None:
    (project / "idle.sh").write_text("#!/bin/sh\npython3 test_add.py\nexit 0\n")
    (project / "idle.sh").chmod(0o755)
    (project / "idle.py").write_text("print('1 passed')\n")
    (project / "idle.mk").write_text("check:\n\t-@python3 test_add.py\n")
    commit(project)
    commands = (*UNABLE_TO_FAIL, "python3 test_add.py")
    item = Deliverable("A-001", "x", ("y",), verification=commands)
    baseline = Baseline(
        project,
        verifier=stage().verifier,
        common=(),
        tree_of=lambda: tree_identity(project),
        sink=lambda _: None,
    )
    record = await baseline.take(StatusFile("x", deliverables=(item,)), changed=False)
    found = {r.command: r.outcome for r in record.of(item)}
    assert found == {**dict.fromkeys(UNABLE_TO_FAIL, PASSES), "python3 test_add.py": FAILS}


@contains
async def test_stopping_a_run_before_any_work_ends_its_command_and_records_nothing(
    project: Path, stage: Make
) -> None:
    item = Deliverable("A-001", "x", ("y",), verification=("sleep 600",))
    running = anyio.Event()

    def tell(event: Checking) -> None:
        if event.stage is CheckStage.RUNNING:
            running.set()

    baseline = Baseline(
        project,
        verifier=replace(stage().verifier, tell=tell),
        common=(),
        tree_of=lambda: tree_identity(project),
        sink=lambda _: None,
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(
            partial(baseline.take, StatusFile("x", deliverables=(item,)), changed=False)
        )
        await running.wait()
        tasks.cancel_scope.cancel()
    assert not BaselineBook(project).path.exists()


# What an agent does in its box, and the honest command that it makes green where it stands.
ATTACKS = {
    "a .pth file in the virtual environment": (
        (
            "python3 -m venv --without-pip .venv; "
            "for d in .venv/lib/*/site-packages; do echo 'import os; os._exit(0)' > $d/x.pth; done"
        ),
        "python3 test_add.py",
    ),
    "a shim in the virtual environment": (
        (
            "mkdir -p .venv/bin; rm -f .venv/bin/python3; printf '#!/bin/sh\\nexit 0\\n' > .venv/bin/python3; "
            "chmod +x .venv/bin/python3"
        ),
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
    """Make a stage whose project has all that the attacks aim at, and run some of them."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "tool").write_text(TOOL)
    (tools / "tool").chmod(0o755)
    (project / "check.sh").write_text(CHECK)
    (project / "frozen.txt").write_text("as it is\n")
    (project / "Makefile").write_text("check:\n\t@python3 test_add.py\n-include ignored.mk\n")
    commit(project)
    monkeypatch.setenv("PATH", f"{project}/.venv/bin:{tools}:{os.environ['PATH']}")
    with contained(ContainmentRequest(project, Path("/bin/sh"))) as containment:

        def made(*names: str, **table: Any) -> Stage:
            stage = Stage(project, containment, **table)
            stage.agent_runs("\n".join(f"( {ATTACKS[name][0]} ) || exit 1" for name in names))
            # These commands are the user's own, whatever the policy says of their form.
            object.__setattr__(stage.verifier, "judge", lambda _: Decision.allow("test"))
            return stage

        yield made


# What the commands give for work that is not done; `make` has a code of its own.
HONEST = (1, 2)


@contains
async def test_what_agents_left_where_no_diff_shows_it_decides_nothing(attacked: Make) -> None:
    run = await attacked(*ATTACKS).verify(*(command for _, command in ATTACKS.values()))
    codes = dict(zip(ATTACKS, (result.exit_code for result in run.results), strict=True))
    assert {name: code for name, code in codes.items() if code not in HONEST} == {}


@contains
@pytest.mark.storm
@pytest.mark.parametrize("name", ATTACKS)
async def test_none_of_these_attacks_succeeds_alone(attacked: Make, name: str) -> None:
    assert (await attacked(name).one(ATTACKS[name][1])).exit_code in HONEST


@contains
@pytest.mark.storm
@pytest.mark.parametrize("name", ATTACKS)
async def test_in_place_each_of_these_attacks_succeeds(attacked: Make, name: str) -> None:
    """Show that the tests above can fail."""
    assert (await attacked(name, in_place=True).one(ATTACKS[name][1])).exit_code == 0


def cargo_runs() -> bool:
    """Tell whether cargo works: one of rustup stands in PATH without a toolchain in a new HOME."""
    if shutil.which("cargo") is None:
        return False
    done = subprocess.run(
        ["cargo", "--version"],
        env={**os.environ, "RUSTUP_HOME": str(RUSTUP)},
        capture_output=True,
        check=False,
    )
    return done.returncode == 0


@contains
@pytest.mark.storm
@LONG
@pytest.mark.skipif(not cargo_runs(), reason="needs a cargo that runs")
async def test_a_runner_in_the_settings_of_cargo_does_not_replace_the_tests(
    project: Path, stage: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUSTUP_HOME", str(RUSTUP))
    (project / "src").mkdir()
    (project / "Cargo.toml").write_text('[package]\nname = "p"\nversion = "0.1.0"\n')
    (project / "src" / "lib.rs").write_text("#[test]\nfn holds() { assert_eq!(1, 2) }\n")
    (project / ".gitignore").write_text("target/\nCargo.lock\n")
    made = stage()
    made.agent_runs(
        'rm -f "$CARGO_HOME/config.toml"; '
        'printf \'[target."cfg(all())"]\\nrunner = "/bin/true"\\n\' > "$CARGO_HOME/config.toml"'
    )
    assert (await made.one("cargo test --offline")).exit_code == 101


@contains
async def test_what_a_verification_leaves_decides_no_later_one(project: Path, stage: Make) -> None:
    made = stage()
    object.__setattr__(made.verifier, "judge", lambda _: Decision.allow("test"))
    places = '"$HOME/.left" /tmp/left /var/tmp/left .venv/left ignored.left'
    left = await made.one(f"mkdir -p .venv && for p in {places}; do : > $p || exit 1; done")
    assert left.exit_code == 0
    found = await made.one(f"for p in {places}; do [ -e $p ] && echo $p; done")
    assert found.output_tail == ""
    assert not (project / "ignored.left").exists()


@contains
async def test_what_the_setup_of_one_tree_leaves_is_not_there_for_another(
    project: Path, stage: Make
) -> None:
    (project / "setup.sh").write_text("echo old > ignored.made; echo old > ~/.made\n")
    made = stage(setup=("bash setup.sh",))
    assert (await made.one("cat ignored.made")).output_tail == "old"
    (project / "setup.sh").write_text("true\n")
    assert (await made.one("ls -A . ~")).output_tail.count("made") == 0


@contains
async def test_commands_of_a_step_see_what_those_before_them_made(stage: Make) -> None:
    results = (await stage().verify("touch ignored.1 /tmp/1", "ls ignored.1 /tmp/1")).results
    assert [result.exit_code for result in results] == [0, 0]


@contains
async def test_setup_runs_once_for_a_tree_and_again_for_another(
    project: Path, stage: Make, tmp_path: Path
) -> None:
    made = stage(setup=("bash -c 'echo $RANDOM$RANDOM > ignored.number'",))
    object.__setattr__(made.verifier, "judge", lambda _: Decision.allow("test"))
    first = await made.one("cat ignored.number")
    again = await made.one("cat ignored.number")
    (project / "more.py").write_text("x = 1\n")
    other = await made.one("cat ignored.number")
    assert first.output_tail == again.output_tail != other.output_tail


@contains
async def test_the_room_lies_at_the_projects_own_path(project: Path, stage: Make) -> None:
    made = await stage().one(f"cat {project}/new.py && pwd")
    assert made.exit_code == 1
    (project / "new.py").write_text("untracked\n")
    result = await stage().one(f"cat {project}/new.py && pwd")
    assert result.output_tail == f"untracked\n{project}"


@contains
async def test_what_was_deleted_is_not_in_a_later_room(project: Path, stage: Make) -> None:
    made = stage()
    (project / "large.bin").write_bytes(b"x" * 10)
    assert (await made.one("ls large.bin")).exit_code == 0
    (project / "large.bin").unlink()
    assert (await made.one("ls large.bin")).exit_code == 2


@contains
async def test_files_too_large_for_a_snapshot_are_in_the_room(
    project: Path, stage: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = stage()
    with (project / "large.bin").open("wb") as file:
        file.truncate(51 * 1024 * 1024)
    assert (await made.one("wc -c large.bin")).output_tail == f"{51 * 1024 * 1024} large.bin"
    (project / "large.bin").unlink()
    assert (await made.one("ls large.bin")).exit_code == 2


@contains
async def test_submodules_are_in_the_room_and_other_nested_repositories_are_not(
    project: Path, stage: Make, tmp_path: Path
) -> None:
    library = tmp_path / "library"
    for folder in (library, project / "nested"):
        git(project, "init", "-q", str(folder))
        (folder / "a.py").write_text("a\n")
        commit(folder)
    git(project, "-c", "protocol.file.allow=always", "submodule", "-q", "add", str(library), "sub")
    (project / "sub" / "b.py").write_text("b\n")
    made = stage()
    run = await made.verify("cat sub/a.py sub/b.py", "ls nested/a.py")
    assert [result.exit_code for result in run.results] == [0, 2]
    assert run.conditions is not None
    assert run.conditions.nested == ("nested",)
    (project / "sub" / "b.py").unlink()
    assert (await made.one("ls sub")).output_tail == "a.py"


@contains
async def test_git_tells_in_the_room_what_it_tells_in_the_project(
    project: Path, stage: Make
) -> None:
    git(project, "tag", "v1")
    (project / "new.py").write_text("untracked\n")
    result = await stage().one("git describe --tags && git ls-files && git diff --exit-code")
    assert result.output_tail.split() == ["v1", ".gitignore", "add.py", "new.py", "test_add.py"]


@contains
async def test_the_users_own_settings_of_tools_are_in_the_room(home: Path, stage: Make) -> None:
    (home / ".config").mkdir()
    (home / ".config" / "tool").write_text("the user's")
    assert (await stage().one('cat "$HOME/.config/tool"')).output_tail == "the user's"


@contains
async def test_secrets_stay_hidden_in_the_room(home: Path, stage: Make) -> None:
    (home / ".ssh").mkdir()
    (home / ".ssh" / "id").write_text("secret")
    made = stage()
    object.__setattr__(made.verifier, "judge", lambda _: Decision.allow("test"))
    assert (await made.one("ls -A ~/.ssh")).output_tail == ""


@pytest.fixture
def cargo_elsewhere(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    del home
    cargo = tmp_path / "elsewhere" / "cargo"
    cargo.mkdir(parents=True)
    (cargo / "credentials.toml").write_text("secret ")
    (cargo / "config.toml").write_text("settings ")
    monkeypatch.setenv("CARGO_HOME", str(cargo))
    return cargo


@contains
async def test_secrets_stay_hidden_in_caches_outside_the_home_folder(
    cargo_elsewhere: Path, stage: Make
) -> None:
    made = stage()
    object.__setattr__(made.verifier, "judge", lambda _: Decision.allow("test"))
    look = f"cd {cargo_elsewhere} && cat *.toml; echo x > new && cat new"
    assert (await made.one(look)).output_tail.split() == ["settings", "x"]


@contains
async def test_a_cache_that_a_link_in_the_project_names_is_not_mounted(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch, stage: Make
) -> None:
    secrets = tmp_path / "of-other-programs"
    secrets.mkdir()
    (secrets / "key").write_text("secret")
    monkeypatch.setenv("CARGO_HOME", str(project / ".cargo"))
    (project / ".cargo").symlink_to(secrets)
    made = stage()
    object.__setattr__(made.verifier, "judge", lambda _: Decision.allow("test"))
    assert "secret" not in (await made.one(f"cat {secrets}/key $CARGO_HOME/key")).output_tail


@contains
async def test_the_caches_of_agents_can_not_be_seen(project: Path, stage: Make) -> None:
    made = stage()
    made.agent_runs(': > "$CARGO_HOME/left"')
    cache = project_state(project)
    assert (await made.one(f"ls -A {cache}")).exit_code == 2


@contains
async def test_what_the_commands_change_is_told_and_dropped(project: Path, stage: Make) -> None:
    run = await stage().verify("echo 'def add(a, b): return 4' > add.py", "python3 test_add.py")
    assert run.conditions is not None
    assert run.conditions.changed == ("add.py",)
    assert (project / "add.py").read_text() == WRONG


@contains
async def test_a_folder_that_commands_take_away_is_told_file_by_file(
    project: Path, stage: Make
) -> None:
    for name in ("gone", "new"):
        (project / name).mkdir()
        (project / name / "a.py").touch()
    made = stage()
    object.__setattr__(made.verifier, "judge", lambda _: Decision.allow("test"))
    run = await made.verify("rm -r gone new; mkdir new; touch new/b.py")
    assert run.conditions is not None
    assert run.conditions.changed == ("gone/a.py", "new/a.py")


@contains
async def test_a_cancelled_verification_leaves_no_room_and_no_trace_for_the_next(
    project: Path, stage: Make
) -> None:
    made = stage(setup=("sleep 600",))
    object.__setattr__(made.verifier, "judge", lambda _: Decision.allow("test"))
    with anyio.move_on_after(1.0) as cancelled:
        await made.verify("true")
    assert cancelled.cancelled_caught
    assert made.verifier.rooms is not None
    made.verifier.rooms.declared = ("touch ignored.made",)
    assert (await made.one("ls ignored.made")).exit_code == 0


async def test_files_beyond_all_sizes_are_refused_before_they_fill_a_disk(
    project: Path, open_stage: Make
) -> None:
    with (project / "huge.bin").open("wb") as file:
        file.truncate(5 << 30)
    result = await open_stage().one("true")
    assert (result.exit_code, "more than 4 GiB" in result.output_tail) == (125, True)


@contains
async def test_a_declared_setup_that_fails_is_no_failed_test(stage: Make, project: Path) -> None:
    run = await stage(setup=("ls no-such-lock",)).verify("true", "true")
    assert [result.exit_code for result in run.results] == [125, 125]
    assert "the setup command `ls no-such-lock` failed" in run.results[0].output_tail
    kept = latest_run(project, ["true"], output_characters=500)
    assert kept is not None
    assert kept.conditions is not None
    assert "no-such-lock" in kept.conditions.failed_setup[0].output


@contains
async def test_commands_run_although_a_setup_that_was_guessed_fails(
    project: Path, stage: Make
) -> None:
    (project / "composer.lock").write_text('{"packages": [{"name": "no/such"}]}')
    run = await stage().verify("ls add.py")
    assert run.passed
    assert run.conditions is not None
    assert len(run.conditions.failed_setup) == 1


@contains
async def test_a_project_without_repository_has_a_room_without_what_is_generated(
    project: Path, stage: Make
) -> None:
    shutil.rmtree(project / ".git")
    (project / ".gitignore").unlink()
    shim(project / ".venv" / "bin" / "python3")
    (project / "new.py").write_text("x\n")
    assert (await stage().one("ls -A")).output_tail.split() == [
        ".runner", "add.py", "new.py", "test_add.py",
    ]  # fmt: skip


@contains
async def test_a_project_below_the_root_of_its_repository_has_a_room(
    project: Path, stage: Make, tmp_path: Path
) -> None:
    del stage
    below = project / "below"
    below.mkdir()
    (below / "ignored.x").write_text("x")
    (below / "seen.x").write_text("x")
    with contained(ContainmentRequest(below, Path("/bin/sh"))) as containment:
        assert (await Stage(below, containment).one("ls")).output_tail == "seen.x"


@contains
async def test_where_no_overlay_can_be_made_the_room_is_as_clean(
    attacked: Make, project: Path
) -> None:
    made = attacked("settings of cargo")
    shim(project / ".venv" / "bin" / "python3")
    assert made.verifier.rooms is not None
    assert made.verifier.rooms.builder is not None
    made.verifier.rooms.builder = replace(made.verifier.rooms.builder, overlays=False)
    places = "$HOME/.left /tmp/left ignored.left $XDG_CACHE_HOME/left"
    left = f"for p in {places}; do mkdir -p ${{p%/*}}; : > $p; done; tool || python3 test_add.py"
    assert (await made.one(left)).exit_code == 1
    assert (await made.one(f"ls {places}")).output_tail.count("cannot access") == 4


async def test_without_a_sandbox_ignored_files_decide_nothing_either(
    project: Path, open_stage: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    shim(project / ".venv" / "bin" / "python3")
    monkeypatch.setenv("PATH", f"{project}/.venv/bin:{os.environ['PATH']}")
    made = open_stage()
    assert (await made.one("python3 test_add.py")).exit_code == 1
    (project / "add.py").write_text("def add(a, b): return a + b\n")
    run = await made.verify("python3 test_add.py", "echo x > add.py")
    assert [result.exit_code for result in run.results] == [0, 0]
    assert run.conditions is not None
    assert run.conditions.changed == ("add.py",)
    assert "at another path" in run.conditions.remark


async def test_where_no_room_can_be_made_no_command_is_run(
    project: Path, open_stage: Make, tmp_path: Path
) -> None:
    made = open_stage()
    assert made.verifier.rooms is not None
    made.verifier.rooms.scratch = Scratch(tmp_path / "a full disk")
    run = await made.verify("touch made")
    assert run.results[0].exit_code == 125
    assert "no clean room could be made" in run.results[0].output_tail
    assert not (project / "made").exists()


async def test_in_place_is_what_the_user_can_ask_for(project: Path, open_stage: Make) -> None:
    made = open_stage(in_place=True)
    run = await made.verify("touch ignored.made")
    assert (project / "ignored.made").exists()
    assert run.conditions is not None
    assert not run.conditions.clean
    assert "in_place" in run.conditions.remark


@contains
async def test_no_room_is_left_behind(project: Path) -> None:
    with contained(ContainmentRequest(project, Path("/bin/sh"))) as containment:
        made = Stage(project, containment)
        assert containment.scratch is not None
        sessions = containment.scratch.root / "sessions"
        before = set(sessions.iterdir())
        await made.verify("true")
        await made.verify("true")
        rooms = [path for path in sessions.iterdir() if path not in before]
    assert len(rooms) == 1  # the checkout, for the next verification of this run
    assert not rooms[0].exists()


SEARCH = """
import os, subprocess, sys
KEY, found = b"the-" + b"key", []
for folder, _, names in os.walk("."):
    for name in names:
        content = open(os.path.join(folder, name), "rb").read()
        if KEY in content:
            found.append(name)
words = ["git", "cat-file", "--batch-all-objects", "--batch"]
if KEY in subprocess.run(words, capture_output=True).stdout:
    found.append("git")
print(found)
sys.exit(bool(found))
"""


@contains
@pytest.mark.parametrize("large", [False, True])
async def test_no_room_holds_a_hidden_file(
    project: Path, monkeypatch: pytest.MonkeyPatch, *, large: bool
) -> None:
    """Neither as a file nor as an object of the room's own repository."""
    monkeypatch.setenv("KUBECONFIG", str(project / "conf" / "kube"))
    monkeypatch.setenv("DOCKER_CONFIG", str(project / "docker"))
    content = "the-" + "key" + ("\n" * (51 << 20) if large else "")
    for path in (project / "conf" / "kube", project / "docker" / "config.json"):
        path.parent.mkdir()
        path.write_text(content)
    (project / "search.py").write_text(SEARCH)
    with contained(ContainmentRequest(project, Path("/bin/sh"))) as box:
        result = await Stage(project, box).one("python3 search.py")
    assert result.exit_code == 0, result.output_tail


@contains
async def test_a_room_shows_gits_content_of_a_hidden_file(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(project / "conf" / "kube"))
    path = project / "conf" / "kube"
    path.parent.mkdir()
    path.write_text("template")
    git(project, "add", ".")
    path.write_text("the-key")
    with contained(ContainmentRequest(project, Path("/bin/sh"))) as box:
        result = await Stage(project, box).one("grep -x template conf/kube")
    assert result.exit_code == 0, result.output_tail
