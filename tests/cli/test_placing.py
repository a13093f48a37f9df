"""Commands that are pasted elsewhere still mean the project they are about."""

from pathlib import Path

import pytest
from tests.cli.scenes import result

from runner.app.job import Job
from runner.app.subscribers import complete_end
from runner.config.options import RunOptions
from runner.events import RunEnded
from runner.project import Project
from runner.report.workspace_flag import place_to_name, placed, placed_command, placed_text

RESUME = "runner session resume --session-id auto_1"
PLACE = " --workspace ../app"


def ended(directory: Path, event: RunEnded) -> RunEnded:
    """Return the end of a run on a project as its subscribers get it."""
    return complete_end(Job(Project(directory, {}), RunOptions(), "Test"), event)


def test_a_command_of_the_control_plane_names_the_place() -> None:
    assert placed_command(RESUME, PLACE) == f"{RESUME} --workspace ../app"


@pytest.mark.parametrize("name", ["run", "sync", "status", "rollback --to 3", "config show"])
def test_a_command_of_a_project_names_it_by_its_own_option(name: str) -> None:
    assert placed_command(f"runner {name}", PLACE) == f"runner {name} --project-dir ../app"


def test_a_command_in_backticks_names_the_place() -> None:
    text = placed_text("Then `runner run` goes on.", PLACE)
    assert text == "Then `runner run --project-dir ../app` goes on."


@pytest.mark.parametrize("text", ["runner demo", "the runner run", "runner sessions", "git log"])
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert placed_text(text, PLACE) == text


def test_in_the_projects_folder_nothing_needs_naming(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert place_to_name(tmp_path) == ""


def test_from_elsewhere_the_project_is_named(tmp_path: Path) -> None:
    assert place_to_name(tmp_path) == f" --workspace {tmp_path}"


def test_the_advice_at_the_end_of_a_run_names_the_place(tmp_path: Path) -> None:
    end = ended(tmp_path, RunEnded(result(hint=f"Decide:\n  {RESUME}\nThen go on.")))
    assert end.result.hint == f"Decide:\n  {RESUME} --workspace {tmp_path}\nThen go on."


def test_the_recommended_actions_name_the_place(tmp_path: Path) -> None:
    actions = [{"action": "resume", "command": RESUME}, {"action": "correct"}]
    end = ended(tmp_path, RunEnded(result(), {"recommended_actions": actions}))
    assert [action.get("command") for action in end.details["recommended_actions"]] == [
        f"{RESUME} --workspace {tmp_path}",
        None,
    ]


def test_a_run_in_its_own_folder_has_its_advice_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert ended(tmp_path, RunEnded(result(hint=RESUME))).result.hint == RESUME


def test_a_view_without_advice_stays_without() -> None:
    assert placed({"status": "running"}, PLACE) == {"status": "running"}
