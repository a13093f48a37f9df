"""What a step changed stands in its report, and is told to whoever takes the work up."""

import shutil
from pathlib import Path

import pytest
from tests.loop.bench import Bench
from tests.loop.fakes import deliverable
from tests.loop.repositories import write

from runner.checkpoints.checkpoints import GitCheckpoints
from runner.checkpoints.object_store import ObjectStore
from runner.loop.termination import RunLimits

SCOPE = "auto_01JABCDEFGHJKMNPQRSTVWXYZ0"


@pytest.fixture
def checkpoints(repository: Path) -> GitCheckpoints:
    """Those of a session whose first phase begins with the repository as it is."""
    found = GitCheckpoints(repository, SCOPE)
    found.phase_started("phase-1")
    return found


def test_new_changed_and_deleted_files_are_named(
    repository: Path, checkpoints: GitCheckpoints
) -> None:
    write(repository, made_dot_py="x\n", src__lib_dot_py="other\n")
    (repository / "app.py").unlink()
    assert checkpoints.touched() == ("app.py", "made.py", "src/lib.py")


def test_what_an_earlier_step_had_changed_is_not_named(
    repository: Path, checkpoints: GitCheckpoints
) -> None:
    write(repository, first_dot_py="x\n")
    checkpoints.record("step_A", "phase-1", "did it")
    write(repository, second_dot_py="x\n")
    assert checkpoints.touched() == ("second.py",)


def test_what_was_kept_in_another_session_is_nothing_to_compare_with(repository: Path) -> None:
    GitCheckpoints(repository, "auto_other").phase_started("phase-1")
    write(repository, made_dot_py="x\n")
    assert GitCheckpoints(repository, SCOPE).touched() == ()


def test_the_note_and_the_runners_own_files_are_not_named(
    repository: Path, checkpoints: GitCheckpoints
) -> None:
    write(repository, _dot_runner__status_dot_json="{}", _dot_runner__x_dot_md="x")
    (repository / ".runner-note.md").write_text("what I did\n", encoding="utf-8")
    assert checkpoints.touched() == ()


def test_many_files_are_named_in_part(repository: Path, checkpoints: GitCheckpoints) -> None:
    write(repository, **{f"many__{number:03}": "x" for number in range(80)})
    assert checkpoints.touched() == tuple(f"many/{number:03}" for number in range(50))


def test_names_are_text_that_can_be_reported(repository: Path, checkpoints: GitCheckpoints) -> None:
    for name in (b"bad\xff.py", b"line\nbreak", b"n" * 250):
        Path(str(repository), name.decode("utf-8", "surrogateescape")).touch()
    assert checkpoints.touched() == ("bad[U+DCFF].py", "line␊break", "n" * 200)


def test_what_was_kept_and_is_gone_is_a_warning(repository: Path) -> None:
    warnings: list[str] = []
    checkpoints = GitCheckpoints(repository, SCOPE, warn=warnings.append)
    checkpoints.phase_started("phase-1")
    write(repository, app_dot_py="two\n")
    shutil.rmtree(ObjectStore(repository).objects / "pack")
    assert checkpoints.touched() == ()
    assert len(warnings) == 1


@pytest.mark.anyio
async def test_a_run_that_goes_on_tells_its_agent_what_the_one_before_had_changed(
    tmp_path: Path,
) -> None:
    first = Bench(tmp_path, RunLimits(max_iterations=1))
    first.plan.put(deliverable(1), deliverable(2))
    first.checkpoints.changed = ("src/one.py", "tests/test_one.py")
    await first.execute()
    first.ask("session", "pause", spec_id="test")
    again = Bench(tmp_path)
    await again.execute()
    assert "- D-001: thing 1 (in src/one.py, tests/test_one.py)" in again.factory.prompts[0]


@pytest.mark.anyio
async def test_a_review_changes_nothing_that_could_be_named(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.plan.put(deliverable(1))
    bench.checkpoints.changed = ("src/one.py",)
    await bench.execute()
    (session,) = bench.ask("session", "list")["sessions"]
    events = bench.ask("session", "events", session_id=session["session_id"], limit=200)["events"]
    touched = {
        e["data"]["step_type"]: e["data"].get("files_touched")
        for e in events
        if e["data"].get("outcome") == "success"
    }
    assert touched == {"implement_task": ["src/one.py"], "run_fidelity_gate": []}
