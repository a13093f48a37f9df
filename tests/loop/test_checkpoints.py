"""Checkpoints in real repositories: what is kept, what stays untouched, what is never obeyed."""

import contextlib
import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.loop.repositories import contents, git, in_store, isolate, write

from runner.checkpoints import snapshot
from runner.checkpoints.checkpoints import GitCheckpoints
from runner.checkpoints.ledger import PHASE, STEP, Checkpoint, CheckpointLedger
from runner.checkpoints.object_store import ObjectStore

SCOPE = "auto_01JABCDEFGHJKMNPQRSTVWXYZ0"
NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)


def record(project: Path, name: str = "step_A", summary: str = "did it") -> Checkpoint:
    """Record a step; nothing may go wrong."""
    warnings: list[str] = []
    checkpoints = GitCheckpoints(project, SCOPE, warn=warnings.append, clock=lambda: NOON)
    checkpoints.record(name, "phase-1", summary)
    assert warnings == []
    found = CheckpointLedger(project).find(STEP, SCOPE, name)
    assert found is not None
    return found


def warned(project: Path) -> list[str]:
    warnings: list[str] = []
    GitCheckpoints(project, SCOPE, warn=warnings.append).record("step_A", None, "x")
    return warnings


def files(project: Path, commit: str) -> list[str]:
    return in_store(project, "ls-tree", "-r", "--name-only", commit).splitlines()


def content(project: Path, commit: str, path: str) -> bytes:
    store = ObjectStore(project).folder
    command = ["git", f"--git-dir={store}", "cat-file", "blob", f"{commit}:{path}"]
    return subprocess.run(command, cwd=project, capture_output=True, check=True).stdout


def visible_state(project: Path) -> tuple[str, ...]:
    index = (project / ".git" / "index").read_bytes().hex()
    return (
        index,
        git(project, "status", "--porcelain"),
        git(project, "branch", "-a", "--verbose"),
        git(project, "symbolic-ref", "HEAD"),
        git(project, "stash", "list"),
        git(project, "reflog"),
        str(contents(project)),
    )


def test_untracked_files_are_kept_and_ignored_ones_are_not(repository: Path) -> None:
    kept = record(repository)
    assert files(repository, kept.commit) == [
        ".gitignore", ".runner/status.json", "app.py", "new.py", "src/lib.py",
    ]  # fmt: skip


def test_the_work_tree_is_kept_and_not_the_index(repository: Path) -> None:
    write(repository, app_dot_py="staged\n")
    git(repository, "add", "app.py")
    write(repository, app_dot_py="in the work tree\n")
    assert content(repository, record(repository).commit, "app.py") == b"in the work tree\n"


def test_deleted_files_are_not_kept(repository: Path) -> None:
    record(repository)
    (repository / "src" / "lib.py").unlink()
    assert "src/lib.py" not in files(repository, record(repository, "step_B").commit)


def test_nothing_that_a_user_sees_changes(repository: Path) -> None:
    write(repository, app_dot_py="two\n")
    git(repository, "add", "app.py")
    before = visible_state(repository)
    record(repository)
    assert visible_state(repository) == before


def test_people_can_look_at_the_commit_of_a_step(repository: Path) -> None:
    kept = record(repository)
    assert in_store(repository, "log", "-1", "--format=%s%n%ct", kept.commit).split("\n")[:2] == [
        "runner: did it",
        str(int(NOON.timestamp())),
    ]


def test_nothing_is_written_into_the_repository(repository: Path) -> None:
    before = everything(repository / ".git")
    checkpoints = GitCheckpoints(repository, SCOPE)
    checkpoints.planning_started()
    checkpoints.phase_started("phase-1")
    checkpoints.record("step_A", "phase-1", "x")
    checkpoints.touched()
    assert everything(repository / ".git") == before


def everything(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path): (path.lstat().st_mtime_ns, path.lstat().st_size) for path in folder.rglob("*")
    }


def test_objects_survive_garbage_collection(repository: Path) -> None:
    kept = record(repository)
    in_store(repository, "gc", "--prune=now", "--quiet", check=False)
    assert content(repository, kept.commit, "new.py") == b"new\n"


def test_recording_a_step_again_replaces_it(repository: Path) -> None:
    record(repository)
    write(repository, app_dot_py="later\n")
    kept = record(repository)
    assert content(repository, kept.commit, "app.py") == b"later\n"
    assert len(CheckpointLedger(repository).entries()) == 1


def test_only_the_first_beginning_of_a_phase_counts(repository: Path) -> None:
    checkpoints = GitCheckpoints(repository, SCOPE)
    checkpoints.phase_started("phase-1")
    write(repository, app_dot_py="later\n")
    GitCheckpoints(repository, SCOPE).phase_started("phase-1")
    found = CheckpointLedger(repository).find(PHASE, SCOPE, "phase-1")
    assert found is not None
    assert content(repository, found.commit, "app.py") == b"one\n"


def test_each_scope_has_its_own_beginnings(repository: Path) -> None:
    GitCheckpoints(repository, SCOPE).phase_started("phase-1")
    GitCheckpoints(repository, "auto_other").phase_started("phase-1")
    assert len(CheckpointLedger(repository).entries()) == 2


@pytest.mark.parametrize("name", ["a b", "../../heads/main", "x.lock", "ü", "a" * 200, "@{1}"])
def test_any_phase_id_can_be_kept(repository: Path, name: str) -> None:
    warnings: list[str] = []
    GitCheckpoints(repository, SCOPE, warn=warnings.append).phase_started(name)
    assert warnings == []
    assert CheckpointLedger(repository).find(PHASE, SCOPE, name) is not None


def test_of_the_runners_folder_only_status_json_is_kept(repository: Path) -> None:
    write(
        repository,
        _dot_runner__agent_dot_json="{}",
        _dot_runner__logs__x="log",
        _dot_runner__autonomy__sessions__x_dot_json="{}",
        _dot_runner___dot_gitignore="!autonomy/\n!logs/\n",
    )
    kept = [name for name in files(repository, record(repository).commit) if ".runner" in name]
    assert kept == [".runner/status.json"]


def test_status_and_note_are_kept_although_they_are_ignored(repository: Path) -> None:
    write(repository, _dot_gitignore=".runner/\n.runner-note.md\n")
    (repository / ".runner-note.md").write_text("note")
    kept = files(repository, record(repository).commit)
    assert {".runner/status.json", ".runner-note.md"} <= set(kept)


def test_a_tracked_file_is_kept_although_it_is_ignored(repository: Path) -> None:
    write(repository, build__out="tracked\n")
    git(repository, "add", "-f", "build/out")
    assert "build/out" in files(repository, record(repository).commit)


def test_what_the_user_ignores_everywhere_is_not_kept(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "everywhere").write_text("*.swp\n")
    git(repository, "config", "--global", "core.excludesFile", str(tmp_path / "everywhere"))
    (repository / ".git" / "info" / "exclude").write_text("*.bak\n")
    write(repository, x_dot_swp="x", x_dot_bak="x")
    assert {"x.swp", "x.bak"}.isdisjoint(files(repository, record(repository).commit))


def test_an_index_that_can_not_be_read_hides_nothing(repository: Path) -> None:
    (repository / ".git" / "index").write_bytes(b"DIRC nonsense")
    assert {"app.py", "new.py", "src/lib.py"} <= set(files(repository, record(repository).commit))


def test_a_split_index_is_no_obstacle(repository: Path) -> None:
    git(repository, "update-index", "--split-index")
    assert {"app.py", "new.py", "src/lib.py"} <= set(files(repository, record(repository).commit))


def test_a_sparse_checkout_is_no_obstacle(repository: Path) -> None:
    git(repository, "sparse-checkout", "set", "--sparse-index", "none")
    kept = record(repository)
    write(repository, src__hidden_dot_py="x")
    assert "src/hidden.py" in files(repository, record(repository, "step_B").commit)
    assert "src/lib.py" not in files(repository, kept.commit)


def test_hidden_changes_are_kept(repository: Path) -> None:
    git(repository, "update-index", "--assume-unchanged", "app.py")
    git(repository, "update-index", "--skip-worktree", "src/lib.py")
    write(repository, app_dot_py="changed\n", src__lib_dot_py="changed too\n")
    kept = record(repository).commit
    assert content(repository, kept, "app.py") == b"changed\n"
    assert content(repository, kept, "src/lib.py") == b"changed too\n"


@pytest.mark.parametrize("data", [b"\0\xff\r\n\x80", b"crlf\r\nlf\n", b"$Id$\n", b""])
def test_files_are_kept_byte_by_byte(repository: Path, data: bytes) -> None:
    write(
        repository,
        _dot_gitattributes="* text=auto eol=lf ident\n*.u16 working-tree-encoding=UTF-16\n",
        data=data,
        data_dot_u16=data,
    )
    git(repository, "config", "core.autocrlf", "true")
    kept = record(repository).commit
    assert content(repository, kept, "data") == data
    assert content(repository, kept, "data.u16") == data


def test_links_and_programs_stay_what_they_are(repository: Path) -> None:
    (repository / "link").symlink_to("/etc/passwd")
    (repository / "app.py").chmod(0o755)
    listed = in_store(repository, "ls-tree", record(repository).commit)
    modes = {line.split()[3]: line.split()[0] for line in listed.splitlines()}
    assert (modes["link"], modes["app.py"]) == ("120000", "100755")


def test_strange_names_are_kept(repository: Path) -> None:
    names = [b"a\nb", b"-x", b":(top)y", b'"q"', b"\xff\xfe", b"*", b" "]
    for name in names:
        Path(os.fsdecode(os.fsencode(repository) + b"/" + name)).write_text("x")
    listed = subprocess.run(
        ["git", f"--git-dir={ObjectStore(repository).folder}", "ls-tree", "-z", "--name-only",
         record(repository).commit],
        cwd=repository, capture_output=True, check=True,
    )  # fmt: skip
    assert set(names) <= set(listed.stdout.split(b"\0"))


def test_what_lies_behind_a_link_is_not_kept(repository: Path, tmp_path: Path) -> None:
    write(tmp_path / "elsewhere", lib_dot_py="secret\n")
    (repository / "src" / "lib.py").unlink()
    (repository / "src").rmdir()
    (repository / "src").symlink_to(tmp_path / "elsewhere")
    kept = record(repository).commit
    assert "src/lib.py" not in files(repository, kept)
    assert content(repository, kept, "src") == os.fsencode(tmp_path / "elsewhere")


def test_a_file_may_become_a_folder_and_back(repository: Path) -> None:
    record(repository)
    (repository / "app.py").unlink()
    write(repository, app_dot_py__inner="x")
    assert "app.py/inner" in files(repository, record(repository, "step_B").commit)
    (repository / "app.py" / "inner").unlink()
    (repository / "app.py").rmdir()
    write(repository, app_dot_py="again")
    assert "app.py" in files(repository, record(repository, "step_C").commit)


def test_large_files_are_left_out_and_named(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (repository / "large").open("wb") as file:
        file.truncate(snapshot.MAX_FILE_BYTES + 1)
    kept = record(repository)
    assert kept.left_out == ("large",)
    assert "large" not in files(repository, kept.commit)


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read everything")
def test_unreadable_files_are_left_out_and_named(repository: Path) -> None:
    (repository / "new.py").chmod(0)
    assert record(repository).left_out == ("new.py",)


def test_pipes_and_sockets_do_not_matter(repository: Path) -> None:
    os.mkfifo(repository / "pipe")
    assert "pipe" not in files(repository, record(repository).commit)


def test_nested_repositories_are_named_and_not_looked_into(repository: Path) -> None:
    for name in ("empty", "full"):
        (repository / name).mkdir()
        git(repository / name, "init", "-q")
    write(repository, full__x="x")
    git(repository / "full", "add", "-A")
    git(repository / "full", "commit", "-qm", "x")
    kept = record(repository)
    assert kept.nested == ("empty", "full")
    assert not [name for name in files(repository, kept.commit) if name.startswith("full")]


def test_a_submodule_is_no_obstacle(repository: Path, tmp_path: Path) -> None:
    write(tmp_path / "other", x="x")
    git(tmp_path / "other", "init", "-q")
    git(tmp_path / "other", "add", "-A")
    git(tmp_path / "other", "commit", "-qm", "x")
    git(repository, "submodule", "add", "-q", str(tmp_path / "other"), "sub")
    assert record(repository).nested == ("sub",)


def test_an_unborn_branch_is_no_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(monkeypatch, tmp_path / "home")
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init", "-q")
    write(project, app_dot_py="x")
    assert files(project, record(project).commit) == ["app.py"]


def test_an_empty_project_is_no_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(monkeypatch, tmp_path / "home")
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init", "-q")
    assert files(project, record(project).commit) == []


def test_no_identity_is_needed(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "home" / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n")
    assert (
        in_store(repository, "log", "-1", "--format=%an", record(repository).commit) == "runner\n"
    )


def test_a_linked_work_tree_is_kept_in_its_repository(repository: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    git(repository, "worktree", "add", "-q", str(linked))
    write(linked, app_dot_py="linked\n")
    kept = record(linked)
    assert content(linked, kept.commit, "app.py") == b"linked\n"


def test_a_project_in_a_folder_of_a_repository_keeps_that_folder(repository: Path) -> None:
    write(repository, sub__app__x_dot_py="x", sub__app__y_dot_log="ignored above", sub__other="no")
    kept = record(repository / "sub" / "app")
    assert files(repository / "sub" / "app", kept.commit) == ["x.py"]


def test_sha256_repositories_work_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(monkeypatch, tmp_path / "home")
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init", "-q", "--object-format=sha256")
    write(project, app_dot_py="x")
    assert files(project, record(project).commit) == ["app.py"]


def test_a_lock_that_a_killed_git_left_is_no_obstacle(repository: Path) -> None:
    record(repository)
    lock = CheckpointLedger(repository).index.with_name("index.lock")
    lock.touch()
    (repository / ".git" / "index.lock").touch()
    write(repository, app_dot_py="two\n")
    assert content(repository, record(repository).commit, "app.py") == b"two\n"


KILLED = """
import sys
from pathlib import Path
from runner.checkpoints.checkpoints import GitCheckpoints
project = Path(sys.argv[1])
print("ready", flush=True)
for number in range(10_000):
    (project / f"file{number % 50}").write_text(str(number))
    GitCheckpoints(project, "auto_killed", warn=print).record(f"step_{number % 3}", None, "x")
"""


@pytest.mark.process
def test_being_killed_at_any_moment_leaves_everything_usable(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    for number in range(8):
        words = [sys.executable, "-c", KILLED, str(repository)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == b"ready\n"
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(0.05 + number * 0.07)
            os.killpg(child.pid, signal.SIGKILL)
        record(repository)
    in_store(repository, "fsck", "--strict")
    for entry in CheckpointLedger(repository).entries():
        assert in_store(repository, "cat-file", "-t", entry.commit) == "commit\n"
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_damaged_index_is_made_anew(repository: Path) -> None:
    record(repository)
    CheckpointLedger(repository).index.write_bytes(b"DIRC nonsense")
    write(repository, app_dot_py="two\n")
    assert content(repository, record(repository).commit, "app.py") == b"two\n"


def test_a_repository_of_somebody_else_is_no_obstacle(repository: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    os.chown(repository, 12345, 12345)
    os.chown(repository / ".git", 12345, 12345)
    assert record(repository).commit


Attack = Callable[[Path, Path], None]


def _script(tmp: Path) -> Path:
    script = tmp / "evil"
    script.write_text(f"#!/bin/sh\necho $0 >> {tmp}/executed\ncat\n")
    script.chmod(0o755)
    return script


def _fsmonitor(project: Path, script: Path) -> None:
    git(project, "config", "core.fsmonitor", str(script))


def _hooks(project: Path, script: Path) -> None:
    hooks = "reference-transaction post-index-change pre-commit post-commit post-checkout"
    for name in hooks.split():
        (project / ".git" / "hooks" / name).symlink_to(script)


def _hooks_path(project: Path, script: Path) -> None:
    (project / "hooks").mkdir()
    (project / "hooks" / "reference-transaction").symlink_to(script)
    git(project, "config", "core.hooksPath", str(project / "hooks"))


def _filter(project: Path, script: Path) -> None:
    write(project, _dot_gitattributes="* filter=evil diff=evil merge=evil\n")
    for key in ("filter.evil.clean", "filter.evil.smudge", "filter.evil.process",
                "diff.evil.textconv", "diff.evil.command", "diff.external"):  # fmt: skip
        git(project, "config", key, str(script))
    git(project, "config", "filter.evil.required", "true")


def _included(project: Path, script: Path) -> None:
    (project / "more").write_text(f"[core]\n\tfsmonitor = {script}\n\tpager = {script}\n")
    git(project, "config", "include.path", str(project / "more"))


def _submodule(project: Path, script: Path) -> None:
    inner = project / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    write(inner, x="x")
    git(inner, "add", "-A")
    git(inner, "commit", "-qm", "x")
    git(project, "add", "inner", check=False)
    git(inner, "config", "core.fsmonitor", str(script))
    write(inner, x="changed")


def _lazy_fetch(project: Path, script: Path) -> None:
    git(project, "config", "core.repositoryFormatVersion", "1")
    git(project, "config", "extensions.partialClone", "origin")
    git(project, "config", "remote.origin.url", f"ext::{script}")
    git(project, "config", "protocol.ext.allow", "always")
    git(project, "config", "core.sshCommand", str(script))
    (project / ".git" / "HEAD").write_text("0123456789" * 4 + "\n")


@pytest.mark.parametrize(
    "attack", [_fsmonitor, _hooks, _hooks_path, _filter, _included, _submodule, _lazy_fetch]
)
def test_no_program_that_the_repository_names_is_run(
    repository: Path, tmp_path: Path, attack: Attack
) -> None:
    attack(repository, _script(tmp_path))
    checkpoints = GitCheckpoints(repository, SCOPE)
    checkpoints.phase_started("phase-1")
    write(repository, app_dot_py="two\n")
    (tmp_path / "executed").unlink(missing_ok=True)
    checkpoints.record("step_A", "phase-1", "x")
    write(repository, app_dot_py="three\n")
    checkpoints.record("step_B", "phase-1", "x")
    assert not (tmp_path / "executed").exists()
    found = CheckpointLedger(repository).find(STEP, SCOPE, "step_B")
    assert found is not None
    (repository / ".git" / "config").write_text("[core]\n\trepositoryformatversion = 0\n")
    assert content(repository, found.commit, "app.py") == b"three\n"


def _objects_elsewhere(project: Path, elsewhere: Path) -> None:
    (project / ".git" / "objects").rename(elsewhere)
    (project / ".git" / "objects").symlink_to(elsewhere)


def _one_folder_elsewhere(project: Path, elsewhere: Path) -> None:
    elsewhere.mkdir()
    (project / ".git" / "objects" / "zz").symlink_to(elsewhere)


def _references_elsewhere(project: Path, elsewhere: Path) -> None:
    elsewhere.mkdir()
    (project / ".git" / "refs" / "runner").mkdir()
    (project / ".git" / "refs" / "runner" / SCOPE).symlink_to(elsewhere)


def _another_common_folder(project: Path, elsewhere: Path) -> None:
    git(project, "clone", "-q", "--bare", ".", str(elsewhere))
    (project / ".git" / "commondir").write_text(str(elsewhere))


def _a_git_file(project: Path, elsewhere: Path) -> None:
    (project / ".git").rename(elsewhere)
    (project / ".git").write_text(f"gitdir: {elsewhere}\n")


def _a_link(project: Path, elsewhere: Path) -> None:
    (project / ".git").rename(elsewhere)
    (project / ".git").symlink_to(elsewhere)


@pytest.mark.parametrize(
    "redirect",
    [
        _objects_elsewhere,
        _one_folder_elsewhere,
        _references_elsewhere,
        _another_common_folder,
        _a_git_file,
        _a_link,
    ],
)
def test_nothing_is_written_where_a_repository_leads_out_of_itself(
    repository: Path, tmp_path: Path, redirect: Attack
) -> None:
    redirect(repository, tmp_path / "elsewhere")
    before = sorted((tmp_path / "elsewhere").rglob("*"))
    assert "app.py" in files(repository, record(repository).commit)
    assert sorted((tmp_path / "elsewhere").rglob("*")) == before


def test_without_a_repository_there_is_one_warning(tmp_path: Path) -> None:
    warnings: list[str] = []
    checkpoints = GitCheckpoints(tmp_path, SCOPE, warn=warnings.append)
    checkpoints.phase_started("phase-1")
    checkpoints.record("step_A", None, "x")
    assert len(warnings) == 1
    assert "no git repository" in warnings[0]


def test_steps_are_kept_when_the_repository_got_lost(repository: Path) -> None:
    warnings: list[str] = []
    checkpoints = GitCheckpoints(repository, SCOPE, warn=warnings.append)
    checkpoints.phase_started("phase-1")
    (repository / ".git").rename(repository / "git-moved-away")
    checkpoints.record("step_A", None, "x")
    assert len(warnings) == 1
    assert "bring it back" in warnings[0]
    assert CheckpointLedger(repository).find(STEP, SCOPE, "step_A") is not None


def test_without_git_there_is_a_warning(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(repository))
    assert "git was not found" in warned(repository)[0]


def test_a_full_disk_is_a_warning(repository: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root can write everything")
    record(repository)
    (ObjectStore(repository).objects / "pack").chmod(stat.S_IRUSR | stat.S_IXUSR)
    write(repository, app_dot_py="two\n")
    assert "could not be kept" in warned(repository)[0]


def test_a_ledger_that_leads_elsewhere_is_a_warning(repository: Path, tmp_path: Path) -> None:
    (repository / ".runner" / "autonomy").symlink_to(tmp_path)
    assert "leads out of the project" in warned(repository)[0]


def test_a_torn_line_hides_no_other(repository: Path) -> None:
    record(repository)
    path = CheckpointLedger(repository).index.with_name("ledger.jsonl")
    with path.open("ab") as file:
        file.write(b'{"kind": "step", "na')
    record(repository, "step_B")
    assert [entry.name for entry in CheckpointLedger(repository).entries()] == ["step_A", "step_B"]


def test_git_can_be_used_at_the_same_time(repository: Path) -> None:
    def commit_often() -> None:
        for number in range(15):
            write(repository, **{f"theirs{number}": "x"})
            git(repository, "add", f"theirs{number}")
            git(repository, "commit", "-q", "-m", "meanwhile")

    with ThreadPoolExecutor() as pool:
        commits = pool.submit(commit_often)
        for number in range(10):
            record(repository, f"step_{number}")
        commits.result()
    assert len(CheckpointLedger(repository).entries()) == 10
    in_store(repository, "fsck", "--strict")


@pytest.mark.parametrize("line", [b"[]", b"{}", b"null", b"\xff", b'{"kind": 3}', b"[" * 9999])
def test_nonsense_in_the_ledger_is_passed_over(repository: Path, line: bytes) -> None:
    record(repository)
    path = CheckpointLedger(repository).index.with_name("ledger.jsonl")
    path.write_bytes(path.read_bytes() + line + b"\n")
    assert [entry.name for entry in CheckpointLedger(repository).entries()] == ["step_A"]
