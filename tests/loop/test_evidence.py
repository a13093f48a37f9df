"""What agents can write does not decide what a reviewer sees: attacks on bases and diffs.

Each test begins a phase, does what an agent or its programs could do in the project, and looks at
the briefing of the review.
"""

import json
import mmap
import os
import shutil
import struct
import subprocess
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.loop.repositories import git, in_store, write

from runner.checkpoints import phase_diff, unversioned
from runner.checkpoints.checkout import check_out
from runner.checkpoints.checkpoints import GitCheckpoints
from runner.checkpoints.isolated_git import shadow_git
from runner.checkpoints.ledger import PHASE, STEP, Checkpoint, CheckpointLedger
from runner.checkpoints.object_store import ObjectStore
from runner.checkpoints.phase_diff import NoComparisonError
from runner.checkpoints.references import moved
from runner.checkpoints.repository import folder_alone
from runner.checkpoints.snapshot import take_snapshot
from runner.checkpoints.unversioned import Differences, Manifest, UnversionedEntry, times_tell
from runner.loop.reviewing.brief import PhaseBriefing
from runner.sandbox.scratch import remove_tree

SCOPE = "auto_01JABCDEFGHJKMNPQRSTVWXYZ0"
TEST = "def test_it():\n    assert add(1, 2) == 3\n"


def begin(project: Path, phase: str = "one") -> None:
    warnings: list[str] = []
    GitCheckpoints(project, SCOPE, warn=warnings.append).phase_started(phase)
    assert warnings == []


def brief(project: Path, phase: str = "one") -> str:
    return PhaseBriefing(project, SCOPE, load=lambda: None).text(phase)


def section(text: str, title: str) -> str:
    """Return what stands under a heading of the runner's own."""
    _, _, rest = text.partition(f"### {title}")
    return rest.partition("\n### ")[0]


def beside(project: Path, phase: str = "one") -> str:
    return section(brief(project, phase), "Files that the diff does not show")


@pytest.fixture
def project(repository: Path) -> Path:
    """Give a project with a test and an ignored virtual environment."""
    write(
        repository,
        tests__test_add_dot_py=TEST,
        _dot_gitignore=".venv/\n__pycache__/\n*.log\nnode_modules/\n",
        _dot_venv__bin__tool="#!/bin/sh\nexit 1\n",
    )
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "tests")
    return repository


def test_a_forged_object_of_the_repository_hides_no_change(project: Path) -> None:
    """L24: the loose object of a tree is replaced by one that has the agent's version."""
    begin(project)
    entry = CheckpointLedger(project).find(PHASE, SCOPE, "one")
    assert entry is not None
    write(project, tests__test_add_dot_py="def test_it(): pass\n")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "emptied")
    forged = git(project, "rev-parse", "HEAD^{tree}").strip()
    _replace_object(project, entry.tree, forged)
    _replace_object(project, git(project, "rev-parse", "HEAD~1^{tree}").strip(), forged)
    text = brief(project)
    assert "-    assert add(1, 2) == 3" in section(text, "The diff")


def _replace_object(project: Path, name: str, by: str) -> None:
    """Store the content of one object under the name of another, as an agent could."""
    content = subprocess.run(
        ["git", "cat-file", "tree", by], cwd=project, capture_output=True, check=True
    ).stdout
    path = project / ".git" / "objects" / name[:2] / name[2:]
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_bytes(zlib.compress(b"tree %d\0" % len(content) + content))


def test_what_planning_changes_is_shown_and_named(project: Path) -> None:
    """L25: the session that plans empties the tests."""
    GitCheckpoints(project, "").planning_started()
    write(project, tests__test_add_dot_py="")
    begin(project)
    write(project, add_dot_py="def add(a, b): return 3\n")
    text = brief(project)
    assert "-    assert add(1, 2) == 3" in section(text, "The diff")
    assert "1 file had been changed while planning" in text


def test_a_repository_made_while_planning_hides_nothing(project: Path) -> None:
    """L26: a nested repository that is there when the phase begins."""
    (project / "inner").mkdir()
    git(project / "inner", "init", "-q")
    begin(project)
    write(project, inner__cheat_dot_py="answer = 3\n")
    assert "+answer = 3" in section(brief(project), "The diff")


def test_a_repository_in_a_repository_in_the_project_hides_nothing(project: Path) -> None:
    write(project, inner__deep__x_dot_py="one\n")
    git(project / "inner", "init", "-q")
    git(project / "inner" / "deep", "init", "-q")
    begin(project)
    write(project, inner__deep__x_dot_py="two\n")
    assert "-one\n+two" in section(brief(project), "The diff")


def test_what_a_nested_repository_ignores_is_named(project: Path) -> None:
    write(project, inner___dot_gitignore="*\n")
    git(project / "inner", "init", "-q")
    begin(project)
    write(project, inner__cheat_dot_py="answer = 3\n")
    assert "inner/cheat.py" in beside(project)


def test_a_program_in_an_ignored_folder_is_named(project: Path) -> None:
    """L21: a program that goes before the system's."""
    begin(project)
    write(project, _dot_venv__bin__python3="#!/bin/sh\nexit 0\n")
    (project / ".venv" / "bin" / "python3").chmod(0o755)
    assert "added              17 bytes  .venv/bin/python3  (a program)" in beside(project)


def test_a_program_on_path_comes_first(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{project}/.venv/bin:{os.environ['PATH']}")
    begin(project)
    write(project, _dot_venv__a__x="x", _dot_venv__bin__python3="x", node_modules__m__a_dot_js="x")
    listed = beside(project)
    assert ".venv/bin/python3  (on PATH)" in listed
    assert listed.index("python3") < listed.index(".venv/a/x")
    assert listed.index("python3") < listed.index("node_modules")


def test_compiled_code_that_no_source_is_compared_with_is_named(project: Path) -> None:
    """L22: bytecode that Python loads without a look at the honest source."""
    begin(project)
    write(project, __pycache____x="")
    (project / "__pycache__").mkdir(exist_ok=True)
    header = b"\xa7\r\r\n" + struct.pack("<I", 1) + b"x" * 8
    (project / "__pycache__" / "add.cpython-311.pyc").write_bytes(header)
    assert "add.cpython-311.pyc  (never compared with its source)" in beside(project)


def test_an_ignored_file_that_is_rewritten_is_named_as_changed(project: Path) -> None:
    begin(project)
    before = (project / ".venv" / "bin" / "tool").stat()
    write(project, _dot_venv__bin__tool="#!/bin/sh\nexit 0\n")
    os.utime(project / ".venv" / "bin" / "tool", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "changed            17 bytes  .venv/bin/tool" in beside(project)


def test_an_ignored_file_that_is_removed_is_named(project: Path) -> None:
    begin(project)
    (project / ".venv" / "bin" / "tool").unlink()
    assert "removed            17 bytes  .venv/bin/tool" in beside(project)


def test_an_ignored_file_with_other_permissions_is_named(project: Path) -> None:
    begin(project)
    (project / ".venv" / "bin" / "tool").chmod(0o755)
    assert "changed            17 bytes  .venv/bin/tool" in beside(project)


def test_an_ignored_file_that_is_the_same_again_is_not_named(project: Path) -> None:
    begin(project)
    write(project, _dot_venv__bin__tool="other")
    write(project, _dot_venv__bin__tool="#!/bin/sh\nexit 1\n")
    assert "None of these files was added, changed or removed." in beside(project)


def _exclude(project: Path) -> None:
    shutil.rmtree(project / ".git" / "info")  # as `git init --template=` leaves it
    (project / ".git" / "info").mkdir()
    (project / ".git" / "info" / "exclude").write_text("*\n")


def _gitignore(project: Path) -> None:
    (project / ".gitignore").write_text("*\n")


def _inner_gitignore(project: Path) -> None:
    (project / "tests" / ".gitignore").write_text("*\n")


def _no_index(project: Path) -> None:
    _exclude(project)
    (project / ".git" / "index").unlink()


@pytest.mark.parametrize("hide", [_exclude, _gitignore, _inner_gitignore, _no_index])
def test_what_is_ignored_by_now_is_shown_all_the_same(
    project: Path, hide: Callable[[Path], None]
) -> None:
    """L23: files are hidden by rules that the agent makes."""
    write(project, tests__test_more_dot_py=TEST)  # untracked when the phase begins
    begin(project)
    hide(project)
    write(
        project,
        tests__test_add_dot_py="",
        tests__test_more_dot_py="",
        tests__conftest_dot_py="import cheat\n",
    )
    text = brief(project)
    shown = section(text, "The diff")
    assert "--- a/tests/test_add.py" in shown
    assert "--- a/tests/test_more.py" in shown
    hidden = section(text, "Files that the diff does not show")
    assert "tests/conftest.py  (a check)" in hidden


def test_a_new_exclude_file_is_named(project: Path) -> None:
    shutil.rmtree(project / ".git" / "info")
    begin(project)
    write(project, _dot_git__info__exclude="*\n")
    assert ".git/info/exclude  (git obeys it)" in beside(project)


def test_files_in_gits_own_folder_are_named(project: Path) -> None:
    begin(project)
    write(
        project,
        _dot_git__evil_dot_py="x",
        _dot_git__hooks__post_checkout="x",
        _dot_git__objects__ab__evil_dot_py="x",
        _dot_git__objects__info__alternates="/elsewhere\n",
    )
    named = beside(project)
    for name in ("evil.py", "hooks/post_checkout", "objects/ab/evil.py", "objects/info/alternates"):
        assert f".git/{name}" in named


def test_commits_and_branches_are_not_named(project: Path) -> None:
    begin(project)
    write(project, app_dot_py="two\n")
    git(project, "commit", "-qam", "two")
    git(project, "checkout", "-qb", "other")
    git(project, "stash", "list")
    git(project, "gc", "--quiet")
    assert "None of these files" in beside(project)


def test_a_name_that_git_refuses_is_named(project: Path) -> None:
    begin(project)
    write(project, **{"git~1__test_x_dot_py": "x", "_dot_GIT__x_dot_py": "x"})
    text = brief(project)
    assert "git~1/test_x.py" in text
    assert ".GIT/x.py" in text


def test_special_files_and_what_can_not_be_read_are_named(project: Path) -> None:
    begin(project)
    os.mkfifo(project / "pipe")
    named = beside(project)
    assert "pipe  (no ordinary file)" in named


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read everything")
def test_a_folder_that_can_not_be_read_is_a_blind_spot(project: Path) -> None:
    begin(project)
    (project / "dark").mkdir(mode=0)
    assert "1 folder can't be read. Nobody knows what is in them" in beside(project)


def test_a_file_too_large_for_the_diff_is_named_with_its_change(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runner.checkpoints.snapshot.MAX_FILE_BYTES", 100)
    monkeypatch.setattr("runner.checkpoints.snapshot.take_snapshot.__kwdefaults__", {
        "max_file_bytes": 100, "also": (), "into_nested": False,
    })  # fmt: skip
    (project / "large").write_bytes(b"a" * 1000)
    begin(project)
    (project / "large").write_bytes(b"b" * 1000)
    assert "changed          1000 bytes  large" in beside(project)


def test_many_files_are_counted_by_folder(project: Path) -> None:
    begin(project)
    for number in range(400):
        write(project, **{f"node_modules__m__f{number}_dot_js": "x"})
    named = beside(project)
    assert "400 added, 0 changed, 0 removed" in named
    assert "added         250  node_modules/m/" in named


def test_more_files_than_the_limit_are_a_blind_spot(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(project)
    monkeypatch.setattr("runner.checkpoints.unversioned.MAX_ENTRIES", 20)
    for number in range(30):
        write(project, **{f"node_modules__f{number}": "x"})
    assert "were NOT looked at" in beside(project)


Attack = Callable[[Path, str], None]


def _replace_reference(project: Path, tree: str) -> None:
    for name in git(project, "rev-list", "--all").split():
        git(project, "replace", "-f", name, git(project, "rev-parse", "HEAD").strip(), check=False)


def _alternates(project: Path, tree: str) -> None:
    other = project.parent / "other"
    git(project.parent, "clone", "-q", "--bare", str(project), str(other))
    (project / ".git" / "objects" / "info" / "alternates").write_text(f"{other}/objects\n")


def _grafts(project: Path, tree: str) -> None:
    write(project, _dot_git__info__grafts=git(project, "rev-parse", "HEAD"))
    write(project, _dot_git__shallow=git(project, "rev-parse", "HEAD"))


def _sparse(project: Path, tree: str) -> None:
    git(project, "config", "core.sparseCheckout", "true")
    write(project, _dot_git__info__sparse_checkout="/nothing\n")
    git(project, "update-index", "--skip-worktree", "--", "app.py")


def _work_tree_elsewhere(project: Path, tree: str) -> None:
    git(project, "config", "core.worktree", str(project / "src"))
    git(project, "config", "core.ignoreCase", "true")
    git(project, "config", "core.fileMode", "false")


def _git_file(project: Path, tree: str) -> None:
    (project / ".git").rename(project.parent / "git-elsewhere")
    (project / ".git").write_text(f"gitdir: {project.parent / 'git-elsewhere'}\n")


def _git_link(project: Path, tree: str) -> None:
    (project / ".git").rename(project.parent / "git-elsewhere")
    (project / ".git").symlink_to(project.parent / "git-elsewhere")


def _fifo_as_index(project: Path, tree: str) -> None:
    (project / ".git" / "index").unlink()
    os.mkfifo(project / ".git" / "index")


def _fifo_as_exclude(project: Path, tree: str) -> None:
    (project / ".git" / "info" / "exclude").unlink(missing_ok=True)
    os.mkfifo(project / ".git" / "info" / "exclude")


def _no_repository(project: Path, tree: str) -> None:
    shutil.rmtree(project / ".git")


def _attributes(project: Path, tree: str) -> None:
    write(project, _dot_git__info__attributes="* -diff export-ignore filter=x\n")
    write(project, _dot_gitattributes="* binary export-ignore\n")


@pytest.mark.parametrize(
    "attack",
    [
        _replace_reference, _alternates, _grafts, _sparse, _work_tree_elsewhere, _git_file,
        _git_link, _fifo_as_index, _fifo_as_exclude, _no_repository, _attributes,
    ],
)  # fmt: skip
def test_nothing_in_the_repository_decides_what_is_shown(project: Path, attack: Attack) -> None:
    begin(project)
    entry = CheckpointLedger(project).find(PHASE, SCOPE, "one")
    assert entry is not None
    write(project, app_dot_py="hidden change\n")
    attack(project, entry.tree)
    assert "-one\n+hidden change" in section(brief(project), "The diff")


def test_a_reflog_that_is_a_link_is_not_written_through(project: Path, tmp_path: Path) -> None:
    """A06: `git update-ref` appended to whatever the agent's link named."""
    victim = tmp_path / "bashrc"
    victim.write_text("mine\n")
    for name in (f"{SCOPE}/step_A", f"{SCOPE}/phase/one"):
        link = project / ".git" / "logs" / "refs" / "runner" / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(victim)
    git(project, "config", "core.logAllRefUpdates", "always")
    begin(project)
    GitCheckpoints(project, SCOPE).record("step_A", "one", "x")
    assert victim.read_text() == "mine\n"


def test_a_change_within_a_second_and_with_old_times_is_seen(project: Path) -> None:
    """git may remember times in seconds; size, inode and modification time can be kept."""
    target = project / "app.py"
    os.utime(target, (1_000_000_000, 1_000_000_000))
    begin(project)
    with target.open("r+") as file:
        file.write("two")
    os.utime(target, (1_000_000_000, 1_000_000_000))
    assert "-one\n+two" in section(brief(project), "The diff")


def test_a_file_that_is_hard_linked_elsewhere_is_seen_to_change(
    project: Path, tmp_path: Path
) -> None:
    os.link(project / ".venv" / "bin" / "tool", tmp_path / "twin")
    begin(project)
    (tmp_path / "twin").write_text("#!/bin/sh\nexit 0\n")
    assert ".venv/bin/tool" in beside(project)


def test_files_as_they_were_can_be_read(project: Path) -> None:
    begin(project)
    write(project, tests__test_add_dot_py="", app_dot_py="two\n")
    (project / "src" / "lib.py").unlink()
    assert ".runner/autonomy/checkpoints/before/FILE" in brief(project)
    before = project / ".runner" / "autonomy" / "checkpoints" / "before"
    assert (before / "tests" / "test_add.py").read_text() == TEST
    assert (before / "src" / "lib.py").read_text() == "lib\n"
    assert not (before / "new.py").exists()


def _objects(project: Path) -> Path:
    return ObjectStore(project).objects


def _no_packs(project: Path) -> None:
    shutil.rmtree(_objects(project) / "pack")


def _forged_tree(project: Path) -> None:
    """Put the agent's version under the name of the kept tree, where there was no sandbox."""
    entry = CheckpointLedger(project).find(PHASE, SCOPE, "one")
    assert entry is not None
    with shadow_git(folder_alone(project)) as store:
        now = take_snapshot(store, project.parent / "index")
        forged = store.run("cat-file", "tree", now.tree)
    _no_packs(project)
    target = _objects(project) / entry.tree[:2] / entry.tree[2:]
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(zlib.compress(b"tree %d\0" % len(forged) + forged))


def _torn_pack(project: Path) -> None:
    (pack,) = (_objects(project) / "pack").glob("*.pack")
    pack.chmod(0o644)
    pack.write_bytes(pack.read_bytes()[:-200] + b"\0" * 200)


def _other_manifest(project: Path) -> None:
    path = CheckpointLedger(project).index.with_name("ledger.jsonl")
    entry = json.loads(path.read_text())
    path.write_text(json.dumps({**entry, "manifest": entry["tree"]}) + "\n")


@pytest.mark.parametrize("damage", [_no_packs, _forged_tree, _torn_pack, _other_manifest])
def test_a_beginning_that_is_damaged_gives_no_comparison(
    project: Path, damage: Callable[[Path], None]
) -> None:
    begin(project)
    write(project, tests__test_add_dot_py="", app_dot_py="two\n")
    damage(project)
    with pytest.raises(NoComparisonError):
        brief(project)


def test_a_torn_loose_object_is_written_again(project: Path) -> None:
    begin(project)
    write(project, app_dot_py="two\n")
    with shadow_git(folder_alone(project)) as store:
        take_snapshot(store, CheckpointLedger(project).index)
    for path in _objects(project).glob("??/*"):
        path.chmod(0o644)
        path.write_bytes(b"")
    GitCheckpoints(project, SCOPE, warn=pytest.fail).record("step_A", "one", "x")
    assert "-one\n+two" in section(brief(project), "The diff")


def test_an_object_store_that_is_a_link_is_refused(project: Path, tmp_path: Path) -> None:
    begin(project)
    _objects(project).rename(tmp_path / "objects")
    _objects(project).symlink_to(tmp_path / "objects")
    with pytest.raises(NoComparisonError, match="leads out"):
        brief(project)


def test_a_gitignore_that_is_a_pipe_is_named(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(project)
    monkeypatch.setattr("runner.checkpoints.snapshot._LISTING_SECONDS", 0.5)
    (project / ".gitignore").unlink()
    os.mkfifo(project / ".gitignore")
    with pytest.raises(NoComparisonError, match="is a pipe"):
        brief(project)


def test_the_next_phase_is_compared_with_what_the_last_review_saw(project: Path) -> None:
    begin(project)
    write(project, app_dot_py="two\n")
    brief(project)
    write(project, src__lib_dot_py="changed after the review\n")
    begin(project, "two")
    write(project, new_dot_py="three\n")
    text = brief(project, "two")
    assert "+changed after the review" in section(text, "The diff")
    assert "1 file had been changed since that review" in text
    assert "app.py" not in section(text, "The diff")


def test_a_phase_without_a_review_is_part_of_the_next_ones_comparison(project: Path) -> None:
    begin(project)
    write(project, app_dot_py="two\n")
    begin(project, "two")
    assert "-one\n+two" in section(brief(project, "two"), "The diff")


def test_a_second_planning_begins_where_the_first_did(project: Path) -> None:
    GitCheckpoints(project, "").planning_started()
    write(project, app_dot_py="two\n")
    GitCheckpoints(project, "").planning_started()
    begin(project)
    assert "-one\n+two" in section(brief(project), "The diff")


def test_a_planning_of_long_ago_is_no_beginning(project: Path) -> None:
    GitCheckpoints(project, "").planning_started()
    begin(project)
    write(project, app_dot_py="by people\n")
    GitCheckpoints(project, "").planning_started()
    other = GitCheckpoints(project, "auto_other")
    write(project, new_dot_py="by planning\n")
    other.phase_started("one")
    text = PhaseBriefing(project, "auto_other", load=lambda: None).text("one")
    assert "+by people" not in text
    assert "+by planning" in text


def test_a_beginning_in_the_projects_own_objects_is_used(project: Path) -> None:
    """Versions before kept their objects in the project's repository."""
    _begun_by_an_older_version(project)
    write(project, tests__test_add_dot_py="")
    text = brief(project)
    assert "-    assert add(1, 2) == 3" in section(text, "The diff")
    assert "was not kept" in section(text, "Files that the diff does not show")


def test_a_forged_beginning_in_the_projects_own_objects_is_noticed(project: Path) -> None:
    tree = _begun_by_an_older_version(project)
    write(project, tests__test_add_dot_py="")
    git(project, "commit", "-qam", "emptied")
    _replace_object(project, tree, git(project, "rev-parse", "HEAD^{tree}").strip())
    with pytest.raises(NoComparisonError, match="not what its name says"):
        brief(project)


def _begun_by_an_older_version(project: Path) -> str:
    commit = git(project, "rev-parse", "HEAD").strip()
    tree = git(project, "rev-parse", "HEAD^{tree}").strip()
    ledger = CheckpointLedger(project)
    ledger.prepare()
    ledger.add(Checkpoint(PHASE, "one", SCOPE, commit, tree, "refs/runner/x", "2026-03-04", "one"))
    return tree


def test_many_packs_become_one(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runner.checkpoints.sealing._MAX_PACKS", 3)
    begin(project)
    for number in range(6):
        write(project, app_dot_py=f"{number}\n")
        GitCheckpoints(project, SCOPE, warn=pytest.fail).record(f"step_{number}", "one", "x")
    assert len(ObjectStore(project).packs()) <= 3
    for number in range(6):
        entry = CheckpointLedger(project).find(STEP, SCOPE, f"step_{number}")
        assert entry is not None
        assert in_store(project, "show", f"{entry.commit}:app.py") == f"{number}\n"
    assert "-one\n+5" in section(brief(project), "The diff")


MEMORY = Path("/dev/shm")


@pytest.fixture
def in_memory() -> Iterator[Path]:
    """Give a repository on a file system that keeps no time of writes through shared memory."""
    if not (MEMORY.is_dir() and os.access(MEMORY, os.W_OK)):
        pytest.skip("needs /dev/shm")
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        project = Path(folder)
        (project / ".runner").mkdir()
        if times_tell(project / ".runner"):
            pytest.skip("needs a file system without such times")
        git(project, "init", "-q")
        yield project


def test_a_write_that_leaves_all_times_as_they_were_is_shown(
    in_memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unversioned, "_RECENT_NS", 0)  # the files need not get old
    begin(in_memory)
    (in_memory / "add.py").write_text("return a + b\n", encoding="utf-8")
    GitCheckpoints(in_memory, SCOPE).record("step_A", "one", "work")
    with (in_memory / "add.py").open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        memory[7:12] = b"4 " + memory[9:12]
    assert "+return 4 + b" in brief(in_memory)


def test_references_as_deep_as_an_agent_likes_are_no_obstacle(
    project: Path, tmp_path: Path
) -> None:
    deep = project / ".git" / "refs"
    for _ in range(1200):  # beyond the recursion limit
        deep = deep / "d"
        deep.mkdir()
    place = tmp_path / "place"
    place.mkdir()
    try:
        assert (check_out(project, place).files / ".git" / "HEAD").exists()
    finally:
        remove_tree(project / ".git" / "refs")  # pytest could not


MOVED = "What moved in the git repository"
LIES_IN_GIT = {
    "a branch that checks compare with": (
        "git branch -f trunk HEAD",
        "changed  refs/heads/trunk: ",
    ),
    "a remote's branch": (
        "git update-ref refs/remotes/origin/main HEAD",
        "refs/remotes/origin/main",
    ),
    "a tag that is gone": ("git tag -d v1", "removed  refs/tags/v1: "),
    "packed references": ("git branch -f trunk HEAD && git pack-refs --all", "refs/heads/trunk: "),
    "HEAD without a commit": ("git symbolic-ref HEAD refs/heads/no", "-> ref: refs/heads/no"),
    "a detached HEAD": ("git checkout -q --detach trunk", "changed  HEAD: ref: refs/heads/main ->"),
    "a history that is cut": ("git rev-parse HEAD > .git/shallow", "made     shallow: "),
    "a replacement": ("git replace HEAD trunk", "made     refs/replace/"),
}


@pytest.mark.parametrize("lie", LIES_IN_GIT)
def test_references_that_an_agent_moved_are_shown(project: Path, lie: str) -> None:
    for words in (("branch", "trunk"), ("tag", "v1"), ("commit", "-q", "--allow-empty", "-m", "2")):
        git(project, *words)
    begin(project)
    command, shown = LIES_IN_GIT[lie]
    subprocess.run(["bash", "-ec", command], cwd=project, check=True)
    assert shown in section(brief(project), MOVED)


def test_many_new_references_hide_no_moved_one(project: Path) -> None:
    git(project, "branch", "trunk")
    git(project, "commit", "-q", "--allow-empty", "-m", "2")
    begin(project)
    made = "".join(f"create refs/tags/{number:0200} HEAD\n" for number in range(200))
    subprocess.run(["git", "update-ref", "--stdin"], cwd=project, input=made, text=True, check=True)
    git(project, "branch", "-f", "trunk", "HEAD")
    assert "changed  refs/heads/trunk: " in section(brief(project), MOVED)


def test_where_no_reference_moved_nothing_is_said(project: Path) -> None:
    begin(project)
    write(project, new_dot_py="x = 1\n")
    assert MOVED not in brief(project)


def test_a_clean_room_has_no_replacements(project: Path, tmp_path: Path) -> None:
    git(project, "branch", "trunk")
    git(project, "commit", "-q", "--allow-empty", "-m", "2")
    git(project, "replace", "HEAD", "trunk")
    place = tmp_path / "place"
    place.mkdir()
    room = check_out(project, place).files
    assert "refs/replace/" not in (room / ".git" / "packed-refs").read_text(encoding="utf-8")


def test_a_beginning_of_a_version_before_knows_no_references(project: Path) -> None:
    found = Differences({b".git/refs/heads/x": UnversionedEntry(0, 0, (0, 0, 0), "61")}, {}, {})
    assert moved(Manifest({}), found) == ()


def test_a_reference_whose_name_is_no_text_is_not_in_a_clean_room(
    project: Path, tmp_path: Path
) -> None:
    head = git(project, "rev-parse", "HEAD")
    Path(os.fsdecode(os.fsencode(project) + b"/.git/refs/heads/\xff")).write_text(head)
    place = tmp_path / "place"
    place.mkdir()
    room = check_out(project, place).files
    assert "refs/heads/main" in (room / ".git" / "packed-refs").read_text(encoding="utf-8")


def test_where_not_all_files_as_they_were_are_kept_the_reviewer_learns_it(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(project, a_dot_py="1\n", b_dot_py="1\n")
    begin(project)
    write(project, a_dot_py="2\n", b_dot_py="2\n")
    assert "NOT all are there" not in brief(project)
    monkeypatch.setattr(phase_diff, "_MAX_BEFORE_FILES", 1)
    assert "NOT all are there" in brief(project)
