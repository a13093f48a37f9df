"""Going back to a step in real repositories: what is restored, and that nothing is lost."""

import os
import shutil
import zlib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.loop.repositories import contents, git, in_store, write

from runner.checkpoints import rollback as rollback_module
from runner.checkpoints.checkpoints import GitCheckpoints
from runner.checkpoints.ledger import Checkpoint, CheckpointLedger
from runner.checkpoints.object_store import ObjectStore
from runner.checkpoints.rollback import Changes, Rollback, find_checkpoint, prepared, restorable
from runner.deliverables.spec_text import SpecText
from runner.errors import PrerequisiteError, RunnerError, UsageError

SCOPE = "auto_01JABCDEFGHJKMNPQRSTVWXYZ0"
NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)


def record(project: Path, name: str) -> None:
    warnings: list[str] = []
    GitCheckpoints(project, SCOPE, warn=warnings.append).record(name, "phase-1", f"did {name}")
    assert warnings == []


def go_back(project: Path, name: str) -> Rollback:
    with prepared(project, find_checkpoint(project, name), NOON) as rollback:
        rollback.keep_now()
        rollback.apply()
        return rollback


def test_files_are_as_they_were(repository: Path) -> None:
    record(repository, "step_A")
    before = contents(repository)
    write(repository, app_dot_py="two\n", src__more_dot_py="more\n")
    (repository / "new.py").unlink()
    rollback = go_back(repository, "step_A")
    assert contents(repository) == before
    assert rollback.changes == Changes(
        created=("new.py",), changed=("app.py",), deleted=("src/more.py",)
    )


def test_status_json_goes_back_too(repository: Path) -> None:
    record(repository, "step_A")
    write(repository, _dot_runner__status_dot_json='{"later": 1}')
    go_back(repository, "step_A")
    assert (repository / ".runner" / "status.json").read_text() == "{}\n"


def test_the_text_that_the_plan_was_made_from_goes_back_with_it(repository: Path) -> None:
    spec = SpecText(repository)
    write(repository, SPEC_dot_md="one\n")
    spec.note(spec.digest())
    record(repository, "step_A")
    write(repository, SPEC_dot_md="two\n")
    spec.note(spec.digest())  # a sync
    stash = go_back(repository, "step_A").stash
    assert not spec.changed()
    go_back(repository, stash.name)
    assert not spec.changed()


def test_an_edit_that_no_plan_was_made_from_is_still_one(repository: Path) -> None:
    spec = SpecText(repository)
    write(repository, SPEC_dot_md="one\n")
    spec.note(spec.digest())
    write(repository, SPEC_dot_md="two\n")
    record(repository, "step_A")
    spec.note(spec.digest())  # a sync
    go_back(repository, "step_A")
    assert spec.changed()


def test_the_users_configuration_does_not_go_back(repository: Path) -> None:
    record(repository, "step_A")
    write(repository, _dot_runner__agent_dot_json="{}", _dot_runner__coding_dot_md="mine")
    go_back(repository, "step_A")
    assert (repository / ".runner" / "agent.json").exists()
    assert (repository / ".runner" / "coding.md").read_text() == "mine"


def test_ignored_files_stay(repository: Path) -> None:
    record(repository, "step_A")
    write(repository, x_dot_log="later\n", build__out="built")
    go_back(repository, "step_A")
    assert (repository / "x.log").read_text() == "later\n"
    assert (repository / "build" / "out").read_text() == "built"


def test_branch_head_index_and_configuration_stay(repository: Path) -> None:
    record(repository, "step_A")
    write(repository, app_dot_py="two\n")
    git(repository, "commit", "-qam", "second")
    write(repository, app_dot_py="staged\n")
    git(repository, "add", "app.py")

    def state() -> tuple[object, ...]:
        names = ("HEAD", "index", "config", "logs/HEAD")
        return (
            git(repository, "branch", "-v"),
            *((repository / ".git" / n).read_bytes() for n in names),
        )

    before = state()
    go_back(repository, "step_A")
    assert state() == before
    assert (repository / "app.py").read_text() == "one\n"


def test_going_to_the_stash_undoes_it(repository: Path) -> None:
    record(repository, "step_A")
    write(repository, app_dot_py="two\n", other="uncommitted\n")
    (repository / "src" / "lib.py").unlink()
    before = contents(repository)
    stash = go_back(repository, "step_A").stash
    go_back(repository, stash.name)
    assert contents(repository) == before


def test_people_can_look_at_the_stash(repository: Path) -> None:
    record(repository, "step_A")
    write(repository, app_dot_py="two\n")
    stash = go_back(repository, "step_A").stash
    assert in_store(repository, "show", f"{stash.commit}:app.py") == "two\n"


def test_stashes_of_one_second_do_not_replace_each_other(repository: Path) -> None:
    record(repository, "step_A")
    found = []
    for text in ("two\n", "three\n"):
        write(repository, app_dot_py=text)
        found.append(go_back(repository, "step_A").stash)
    assert [in_store(repository, "show", f"{s.commit}:app.py") for s in found] == [
        "two\n",
        "three\n",
    ]


def test_preparing_changes_nothing(repository: Path) -> None:
    record(repository, "step_A")
    write(repository, app_dot_py="two\n")
    before = (contents(repository), git(repository, "for-each-ref"))
    with prepared(repository, find_checkpoint(repository, "step_A"), NOON) as rollback:
        assert rollback.changes.count == 1
    assert (contents(repository), git(repository, "for-each-ref")) == before


def test_a_file_that_is_ignored_by_now_is_kept_before_it_is_replaced(repository: Path) -> None:
    write(repository, data="then\n")
    record(repository, "step_A")
    write(repository, data="precious\n")
    with (repository / ".gitignore").open("a") as file:
        file.write("data\n")
    stash = go_back(repository, "step_A").stash
    assert (repository / "data").read_text() == "then\n"
    assert in_store(repository, "show", f"{stash.commit}:data") == "precious\n"


def test_a_file_where_a_folder_was_is_kept_before_it_is_replaced(repository: Path) -> None:
    record(repository, "step_A")
    (repository / "src" / "lib.py").unlink()
    (repository / "src").rmdir()
    write(repository, src="precious\n")
    with (repository / ".gitignore").open("a") as file:
        file.write("/src\n")
    stash = go_back(repository, "step_A").stash
    assert (repository / "src" / "lib.py").read_text() == "lib\n"
    assert in_store(repository, "show", f"{stash.commit}:src") == "precious\n"


def test_a_folder_where_a_file_was_is_kept_with_its_ignored_files(repository: Path) -> None:
    record(repository, "step_A")
    (repository / "app.py").unlink()
    write(repository, app_dot_py__x_dot_log="precious\n")
    before = contents(repository)
    stash = go_back(repository, "step_A").stash
    assert (repository / "app.py").read_text() == "one\n"
    go_back(repository, stash.name)
    assert contents(repository) == before


def test_a_repository_where_a_file_was_is_not_touched(repository: Path) -> None:
    record(repository, "step_A")
    (repository / "app.py").unlink()
    (repository / "app.py" / "inner").mkdir(parents=True)
    git(repository / "app.py" / "inner", "init", "-q")
    with pytest.raises(PrerequisiteError, match=r"repository of its own.*Nothing was changed"):
        go_back(repository, "step_A")
    assert (repository / "app.py" / "inner" / ".git").is_dir()


def test_what_git_calls_in_the_way_is_named(repository: Path) -> None:
    (repository / "inner").write_text("file")
    record(repository, "step_A")
    (repository / "inner").unlink()
    os.mkfifo(repository / "inner")
    write(repository, app_dot_py="two\n")
    before = contents(repository)
    with pytest.raises(PrerequisiteError, match=r"stands in the way[\s\S]*inner"):
        go_back(repository, "step_A")
    assert contents(repository) == before


def test_a_link_leads_no_file_out_of_the_project(repository: Path, tmp_path: Path) -> None:
    record(repository, "step_A")
    write(tmp_path / "elsewhere", lib_dot_py="theirs\n")
    (repository / "src" / "lib.py").unlink()
    (repository / "src").rmdir()
    (repository / "src").symlink_to(tmp_path / "elsewhere")
    go_back(repository, "step_A")
    assert (tmp_path / "elsewhere" / "lib.py").read_text() == "theirs\n"
    assert (repository / "src" / "lib.py").read_text() == "lib\n"
    assert not (repository / "src").is_symlink()


def test_large_files_are_left_alone(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record(repository, "step_A")
    monkeypatch.setattr(rollback_module, "MAX_FILE_BYTES", 1000)
    write(repository, large="x" * 2000, app_dot_py="y" * 2000)
    rollback = go_back(repository, "step_A")
    assert rollback.changes.kept == ("large",)
    assert (repository / "large").exists()
    assert (repository / "app.py").read_text() == "one\n"


def test_a_file_that_changes_after_preparing_is_not_overwritten(repository: Path) -> None:
    record(repository, "step_A")
    write(repository, app_dot_py="two\n", more="more\n")
    with prepared(repository, find_checkpoint(repository, "step_A"), NOON) as rollback:
        write(repository, app_dot_py="edited meanwhile\n")
        rollback.keep_now()
        with pytest.raises(RunnerError, match=r"app\.py"):
            rollback.apply()
    assert (repository / "app.py").read_text() == "edited meanwhile\n"
    assert (repository / "more").exists()


def _pack_of(project: Path) -> Path:
    return next((ObjectStore(project).objects / "pack").glob("*.pack"))


def test_a_checkpoint_whose_objects_are_gone_is_refused(repository: Path) -> None:
    record(repository, "step_A")
    _pack_of(repository).unlink()
    write(repository, app_dot_py="two\n")
    with pytest.raises(PrerequisiteError, match="no longer there"):
        go_back(repository, "step_A")
    assert (repository / "app.py").read_text() == "two\n"


def _kept_by_an_older_version(project: Path) -> str:
    """Note a tree in the project's own objects, as versions before did; return its id."""
    commit, tree = git(project, "rev-parse", "HEAD", "HEAD^{tree}").split()
    ledger = CheckpointLedger(project)
    ledger.prepare()
    ledger.add(Checkpoint("step", "step_old", SCOPE, commit, tree, "refs/x", NOON.isoformat()))
    return tree


def test_a_step_that_an_older_version_kept_can_be_gone_back_to(repository: Path) -> None:
    (repository / 'q"t\n').write_text("odd name\n")
    write(repository, bin_dot_dat=b"\0\xff\r\n")
    (repository / "link").symlink_to("app.py")
    (repository / "app.py").chmod(0o755)
    git(repository, "add", "-A", ":!.runner/.gitignore")
    git(repository, "commit", "-qm", "second")
    _kept_by_an_older_version(repository)
    before = contents(repository)
    write(repository, app_dot_py="two\n", bin_dot_dat="other")
    (repository / 'q"t\n').unlink()
    (repository / "link").unlink()
    stash = go_back(repository, "step_old").stash
    assert contents(repository) == before
    assert str((repository / "link").readlink()) == "app.py"
    assert (repository / "app.py").stat().st_mode & 0o100
    go_back(repository, stash.name)
    assert (repository / "app.py").read_text() == "two\n"


def test_a_forged_step_of_an_older_version_is_refused(repository: Path) -> None:
    _kept_by_an_older_version(repository)
    blob = git(repository, "rev-parse", "HEAD:app.py").strip()
    path = repository / ".git" / "objects" / blob[:2] / blob[2:]
    path.unlink()
    path.write_bytes(zlib.compress(b"blob 7\0forged\n"))
    write(repository, app_dot_py="two\n")
    with pytest.raises(PrerequisiteError, match="damaged"):
        go_back(repository, "step_old")
    assert (repository / "app.py").read_text() == "two\n"


def test_files_can_be_brought_back_when_the_repository_is_gone(repository: Path) -> None:
    record(repository, "step_A")
    shutil.rmtree(repository / ".git")
    write(repository, app_dot_py="two\n")
    go_back(repository, "step_A")
    assert (repository / "app.py").read_text() == "one\n"


def test_no_program_that_the_repository_names_is_run(repository: Path, tmp_path: Path) -> None:
    script = tmp_path / "evil"
    script.write_text(f"#!/bin/sh\ntouch {tmp_path}/executed\ncat\n")
    script.chmod(0o755)
    write(repository, _dot_gitattributes="* filter=evil\n")
    record(repository, "step_A")
    for key in ("filter.evil.smudge", "filter.evil.clean", "core.fsmonitor"):
        git(repository, "config", key, str(script))
    for name in ("post-checkout", "post-index-change", "reference-transaction"):
        (repository / ".git" / "hooks" / name).symlink_to(script)
    write(repository, app_dot_py="two\n")
    (tmp_path / "executed").unlink(missing_ok=True)
    go_back(repository, "step_A")
    assert not (tmp_path / "executed").exists()
    assert (repository / "app.py").read_text() == "one\n"


def test_a_project_in_a_folder_of_a_repository_goes_back_alone(repository: Path) -> None:
    project = repository / "sub" / "app"
    write(project, x_dot_py="one\n")
    record(project, "step_A")
    write(project, x_dot_py="two\n", y_dot_py="y")
    write(repository, app_dot_py="two\n")
    go_back(project, "step_A")
    assert (project / "x.py").read_text() == "one\n"
    assert not (project / "y.py").exists()
    assert (repository / "app.py").read_text() == "two\n"


def test_without_a_repository_it_is_refused(tmp_path: Path) -> None:
    nowhere = Checkpoint("step", "x", "s", "0" * 40, "0" * 40, "r", NOON.isoformat())
    with pytest.raises(RunnerError, match="no git repository"), prepared(tmp_path, nowhere, NOON):
        pass


@pytest.mark.parametrize(("name", "found"), [("step_AA", "step_AA"), ("step_B", "step_BC")])
def test_a_name_may_be_cut_short(repository: Path, name: str, found: str) -> None:
    for step in ("step_AA", "step_AAA", "step_BC"):
        record(repository, step)
    assert find_checkpoint(repository, name).name == found


@pytest.mark.parametrize(
    ("name", "reason"), [("step_A", "More than one"), ("x", "no checkpoint"), ("", "no checkpoint")]
)
def test_a_name_must_be_clear(repository: Path, name: str, reason: str) -> None:
    record(repository, "step_AA")
    record(repository, "step_AB")
    with pytest.raises(UsageError, match=reason):
        find_checkpoint(repository, name)


def test_beginnings_of_phases_can_not_be_gone_back_to(repository: Path) -> None:
    GitCheckpoints(repository, SCOPE).phase_started("phase-1")
    assert restorable(repository) == ()
    assert len(CheckpointLedger(repository).entries()) == 1


_NAMES = st.sampled_from(["a", "b", "d/a", "d/b", "d/e/a", "d", "x.log", "é"])
_TREES = st.dictionaries(_NAMES, st.binary(max_size=5), max_size=6)


def _set(project: Path, tree: dict[str, bytes]) -> None:
    for path in sorted(project.rglob("*"), reverse=True):
        if not {".git", ".runner", ".gitignore"} & set(path.relative_to(project).parts):
            path.rmdir() if path.is_dir() else path.unlink()
    for name, data in tree.items():
        path = project / name
        if not path.is_dir() and not any(parent.is_file() for parent in path.parents):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(then=_TREES, now=_TREES)
def test_going_back_and_undoing_it_is_exact_or_refused(
    repository: Path, then: dict[str, bytes], now: dict[str, bytes]
) -> None:
    _set(repository, then)
    record(repository, "step_A")
    before_then = _unignored(repository)
    _set(repository, now)
    before_now = contents(repository)
    try:
        rollback = go_back(repository, "step_A")
    except PrerequisiteError:
        assert contents(repository) == before_now
        return
    assert _unignored(repository) == before_then
    go_back(repository, rollback.stash.name)
    assert contents(repository) == before_now


def _unignored(project: Path) -> dict[str, bytes]:
    return {name: data for name, data in contents(project).items() if not name.endswith(".log")}
