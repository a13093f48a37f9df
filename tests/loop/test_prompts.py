import os
from pathlib import Path

import pytest

from runner.deliverables.model import Deliverable, StatusFile
from runner.loop.prompts import build_prompt
from runner.marker import Instruction, PromptMarker

MARKER = PromptMarker(Instruction.CODING, 2, task="UI-001")
UI = Deliverable("UI-001", "A page", ("it opens", "it closes"), verification=("pytest -q",))
FILE = StatusFile("s", deliverables=(UI,))


def test_the_first_line_is_the_marker(tmp_path: Path) -> None:
    prompt = build_prompt(MARKER, "# Do it", tmp_path)
    assert prompt.splitlines()[0] == MARKER.render()


@pytest.mark.parametrize("part", ["UI-001", "A page", "1. it opens", "2. it closes", "`pytest -q`"])
def test_the_deliverable_is_described(tmp_path: Path, part: str) -> None:
    assert part in build_prompt(MARKER, "# Do it", tmp_path, file=FILE, deliverable=UI)


@pytest.mark.parametrize("name", ["CLAUDE.md", ".claude/CLAUDE.md"])
def test_the_conventions_of_the_project_are_included(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("Use tabs.", encoding="utf-8")
    assert "Use tabs." in build_prompt(MARKER, "# Do it", tmp_path)


def test_a_long_guide_is_cut(tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_text("x" * 1_000_000, encoding="utf-8")
    assert len(build_prompt(MARKER, "# Do it", tmp_path)) < 110_000


def test_the_note_is_mentioned_where_there_is_one(tmp_path: Path) -> None:
    (tmp_path / ".runner-note.md").write_text("hi", encoding="utf-8")
    assert "`.runner-note.md` exists; read it." in build_prompt(MARKER, "# Do it", tmp_path)


def test_an_earlier_failure_is_passed_on(tmp_path: Path) -> None:
    prompt = build_prompt(MARKER, "# Do it", tmp_path, previous_failure="it timed out")
    assert "it timed out" in prompt


def test_a_guide_that_leads_out_of_the_project_is_not_read(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    secret = tmp_path_factory.mktemp("home") / "id_rsa"
    secret.write_text("the-secret", encoding="utf-8")
    (tmp_path / "CLAUDE.md").symlink_to(secret)
    assert "the-secret" not in build_prompt(MARKER, "# Do it", tmp_path)


def test_a_guide_may_be_a_link_inside_the_project(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Use tabs.", encoding="utf-8")
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    assert "Use tabs." in build_prompt(MARKER, "# Do it", tmp_path)


def test_a_pipe_in_place_of_a_guide_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "CLAUDE.md")
    assert build_prompt(MARKER, "# Do it", tmp_path)
