"""What is hidden in the project stays hidden, whatever agents do to the ways that lead there."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.sandbox.test_probe import AGENT, contains

from runner.checkpoints.isolated_git import shadow_git
from runner.checkpoints.ledger import CheckpointLedger
from runner.checkpoints.repository import find_repository
from runner.checkpoints.snapshot import take_snapshot
from runner.errors import PrerequisiteError, StateError
from runner.loop.reviewing.conventions import as_instructions
from runner.marker import Instruction
from runner.sandbox.decided import Decided, decide
from runner.sandbox.probe import ContainmentRequest, contained
from runner.sandbox.scratch import Scratch
from runner.sandbox.secrets import all_spelled, secret_places

SECRET = "the-key-of-the-user"
Decide = Callable[[], Decided]


def write(path: Path, text: str = SECRET) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def git(project: Path, *words: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(project), *identity, *words], check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a repository; the user's home is empty, and KUBECONFIG names a file of the project."""
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    git(project, "init", "-q")
    write(project / "README", "read me\n")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "first")
    for name in os.environ:
        if name.startswith(("XDG_", "ANTHROPIC_", "CLAUDE")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("AUTORUNNER_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("KUBECONFIG", str(project / "conf" / "deep" / "kube"))
    return project


@pytest.fixture
def decided(project: Path, tmp_path: Path) -> Decide:
    def run() -> Decided:
        home, environ = tmp_path / "home", dict(os.environ)
        places = [*secret_places(home, environ, project=project)]
        spelled = all_spelled(home, environ, project, lambda _: False)
        scratch = Scratch(tmp_path / "scratch")
        scratch.root.mkdir(exist_ok=True)
        return decide(project, places, spelled, scratch)

    return run


def named(project: Path) -> Path:
    return project / "conf" / "deep" / "kube"


def test_a_file_that_git_does_not_have_is_hidden(project: Path, decided: Decide) -> None:
    path = write(named(project))
    assert path in decided().hidden


def test_a_file_that_git_holds_as_it_is_stays_as_it_is(project: Path, decided: Decide) -> None:
    """Agents can read it in the repository, and a commit would empty it."""
    path = write(named(project))
    git(project, "add", ".")
    assert path in decided().shown


FORGED = {
    "another content under its name": "git update-index --add --cacheinfo 100644,{blob},{path}",
    "version 4 of the index": "git update-index --index-version 4",
    "its name in another file's": "touch conf/deep/kube2; git add conf/deep/kube2",
    "an index that is none": "echo none > .git/index",
    "intent to add": "git add -N -f {path}",
}


@pytest.mark.parametrize("command", FORGED.values(), ids=FORGED)
def test_an_index_that_agents_wrote_is_not_believed(
    project: Path, decided: Decide, command: str
) -> None:
    path = write(named(project))
    blob = "git rev-parse HEAD:README"
    text = command.format(blob=f"$({blob})", path=path.relative_to(project))
    subprocess.run(["sh", "-c", text], cwd=project, check=True)
    assert path in decided().hidden


def test_agents_see_gits_content_of_a_file_that_the_user_changed(
    project: Path, decided: Decide
) -> None:
    """With an empty cover, an agent's `git commit -a` would empty the file in the repository."""
    path = write(named(project), "template")
    git(project, "add", ".")
    path.write_text(SECRET)
    found = decided()
    assert path in found.hidden
    assert found.covers[path].read_text() == "template"


@pytest.mark.parametrize("tracked", [False, True])
def test_a_folder_is_hidden_but_for_what_git_holds(
    project: Path, decided: Decide, monkeypatch: pytest.MonkeyPatch, *, tracked: bool
) -> None:
    folder = project / "docker"
    monkeypatch.setenv("DOCKER_CONFIG", str(folder))
    write(folder / "Dockerfile", "FROM scratch\n")
    if tracked:
        git(project, "add", ".")
    secret = write(folder / "config.json")
    found = decided()
    assert (folder in found.hidden) is not tracked
    assert (secret in found.hidden) is tracked
    assert (folder / "Dockerfile" in found.shown) is tracked


def test_a_hard_link_to_what_is_hidden_is_hidden(project: Path, decided: Decide) -> None:
    path = write(named(project))
    (project / "other").hardlink_to(path)
    assert decided().hidden >= {path, project / "other"}


@pytest.mark.parametrize("where", ["inside", "outside"])
@pytest.mark.parametrize("link", ["conf", "conf/deep", "conf/deep/kube"])
def test_the_end_of_a_link_stays_hidden_when_the_link_is_gone(
    project: Path, decided: Decide, link: str, where: str
) -> None:
    root = project / "real" if where == "inside" else project.parent / "elsewhere"
    place, end = project / link, root / link
    real = write(root / "conf" / "deep" / "kube")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(end)
    assert real in decided().hidden
    place.unlink()
    assert real in decided().hidden


def test_what_no_variable_names_any_more_is_not_hidden(
    project: Path, decided: Decide, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = write(project.parent / "elsewhere")
    named(project).parent.mkdir(parents=True)
    named(project).symlink_to(real)
    decided()
    monkeypatch.delenv("KUBECONFIG")
    assert real not in decided().hidden


def test_notes_that_cannot_be_read_refuse_the_run(project: Path, decided: Decide) -> None:
    named(project).parent.mkdir(parents=True)
    named(project).symlink_to(write(project.parent / "elsewhere"))
    decided()
    (notes,) = (project.parent / "state").rglob("hidden-files.json")
    assert json.loads(notes.read_text())
    notes.write_text("[")
    with pytest.raises(PrerequisiteError, match="hidden from agents"):
        decided()


def snapshot(project: Path) -> frozenset[bytes]:
    repository = find_repository(project)
    assert repository is not None
    ledger = CheckpointLedger(project)
    ledger.prepare()
    with shadow_git(repository) as shadow:
        return take_snapshot(shadow, ledger.index).paths


@pytest.mark.parametrize("tracked", [False, True])
def test_no_snapshot_holds_a_hidden_file(project: Path, decided: Decide, *, tracked: bool) -> None:
    """An agent can take it out of .gitignore; the next review would show it as a new file."""
    path = write(named(project), "template")
    if tracked:
        git(project, "add", ".")
        path.write_text(SECRET)
    assert b"conf/deep/kube" in snapshot(project)
    decided()
    assert b"conf/deep/kube" not in snapshot(project)


def test_a_file_that_is_not_hidden_any_more_is_in_snapshots_again(
    project: Path, decided: Decide, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(named(project))
    decided()
    monkeypatch.delenv("KUBECONFIG")
    decided()
    assert b"conf/deep/kube" in snapshot(project)


@pytest.mark.parametrize("link", ["conf/deep/kube", "conf/../conf/deep/kube", "other"])
def test_no_prompt_shows_a_hidden_file(project: Path, decided: Decide, link: str) -> None:
    """runner reads CLAUDE.md outside of the sandbox, and follows links in the project."""
    write(named(project))
    decided()
    (project / "other").symlink_to("conf/deep/kube")
    (project / "CLAUDE.md").symlink_to(link)
    assert as_instructions(project) == []


def test_a_note_of_what_is_hidden_that_cannot_be_read_stops_snapshots(
    project: Path, decided: Decide
) -> None:
    write(named(project))
    decided()
    (project / ".runner" / "autonomy" / "checkpoints" / "hidden.json").write_text("[1")
    with pytest.raises(StateError, match="hidden from agents"):
        snapshot(project)


# What an agent does in one session; in the next it looks through all that it can read.
ATTACKS = {
    "git add -f": "git add -f {path}; git commit -qm x",
    "rename the file": "mv {path} stolen; mv conf/deep/kube conf/k",
    "rename the folder": "mv conf other",
    "rename an inner folder": "mv conf/deep conf/other",
    "git mv": "git mv conf other; git mv -f conf/deep/kube stolen",
    "hard link": "ln {path} stolen; ln -L conf/deep/../deep/kube stolen",
    "link to it": "ln -s conf/deep/kube stolen; ln -s /proc/self/root{path} stolen2",
    "replace the folder": "rm -rf conf; mkdir -p conf/deep; echo no > {path}",
    "exchange": 'python3 -c \'import ctypes; ctypes.CDLL(None).renameat2(-100, b"conf", -100, b"x", 2)\'',
    "stash": "git stash -u; git stash apply",
    "clean": "git clean -xfd",
    "another index": "git update-index --index-version 4 --add --cacheinfo"
    " 100644,$(git rev-parse HEAD:README),conf/deep/kube",
    "unmount": "umount {path}; umount -l {path}; unshare -Urm umount {path}",
    "a link to an ancestor": "ln -s . here; cat here/conf/deep/kube > stolen",
    "work tree": "git worktree add w; git --work-tree=. add -f conf; git checkout-index -a --prefix=w/",
}


@pytest.mark.process
@contains
@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_a_hidden_file_of_the_project_is_not_read_in_the_next_session(
    project: Path, attack: str
) -> None:
    path = write(named(project))
    for command in (f"mkdir -p x; {attack.format(path=path)}", "true"):
        with contained(ContainmentRequest(project, AGENT)) as box:
            words = ["sh", "-c", f"{command}; grep -Rs {SECRET[:-1]}[r] . && echo READ; true"]
            done = subprocess.run(
                box.wrap(Instruction.CODING, words),
                capture_output=True, text=True, cwd=project, check=False,
            )  # fmt: skip
            assert "READ" not in done.stdout
            assert done.returncode == 0, done.stderr
    assert path.read_text() == SECRET


@pytest.mark.process
@contains
@pytest.mark.parametrize("where", ["inside", "outside"])
def test_a_link_that_an_agent_replaced_uncovers_nothing(project: Path, where: str) -> None:
    root = project / "real" if where == "inside" else project.parent / "home"
    secret = write(root / "kube")
    (project / "conf").mkdir()
    (project / "conf" / "deep").symlink_to(root)
    for command in ("rm conf/deep; mkdir conf/deep; mv real other; touch conf/deep/kube", "true"):
        with contained(ContainmentRequest(project, AGENT)) as box:
            for instruction in (Instruction.CODING, Instruction.REVIEW):
                look = f"{command}; grep -Rs {SECRET[:-1]}[r] . {root} && echo READ; true"
                done = subprocess.run(
                    box.wrap(instruction, ["sh", "-c", look]),
                    capture_output=True, text=True, cwd=project, check=False,
                )  # fmt: skip
                assert "READ" not in done.stdout
    assert secret.read_text() == SECRET


@pytest.mark.process
@contains
def test_folders_above_a_hidden_file_can_be_worked_in(project: Path) -> None:
    write(named(project))
    write(project / "conf" / "a", "a")
    work = "set -e; mv conf/a conf/b; git add conf/b; git commit -qm x; mv conf/b c; rm -r c; ls -A"
    with contained(ContainmentRequest(project, AGENT)) as box:
        identity = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b"
        words = box.wrap(Instruction.CODING, ["sh", "-c", f"{identity}; {work}"])
        done = subprocess.run(words, capture_output=True, text=True, cwd=project, check=False)
    assert done.returncode == 0, done.stderr
