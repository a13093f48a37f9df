"""`runner init --from-autonoe`: all of it or nothing, and never over anything."""

import json
from pathlib import Path
from typing import Any

import pytest

from runner.app.adoption import has_unadopted
from runner.cli.main import run_command_line
from runner.records.run_lock import run_lock

STATUS: dict[str, Any] = {
    "createdAt": "2025-01-01",
    "updatedAt": "2025-01-10",
    "deliverables": [
        {
            "id": "UI-001",
            "description": "User Authentication",
            "acceptanceCriteria": ["User can login"],
            "passed": True,
            "blocked": False,
            "mood": "unknown fields stay",
        },
        {
            "id": "DL-002",
            "description": "Legacy",
            "acceptanceCriteria": ["works"],
            "passed": True,
            "blocked": False,
            "deprecatedAt": "2025-01-10",
        },
    ],
}


class Old:
    """A project of Autonoe."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys
        self.write("SPEC.md", "# app\n")
        self.write(".autonoe/status.json", json.dumps(STATUS))
        self.write(".autonoe/agent.json", '{"profile": "node", "allowCommands": ["docker"]}')
        self.write(".autonoe/coding.md", "Work carefully.\n")
        self.write(".autonoe-note.md", "The login needs a key.\n")

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def read(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")

    def ask(self, *arguments: str) -> tuple[int, str, str]:
        code = run_command_line([*arguments, "-p", str(self.folder)])
        return code, *self._capsys.readouterr()

    def adopt(self) -> tuple[int, str, str]:
        return self.ask("init", "--from-autonoe")

    @property
    def adopted(self) -> set[str]:
        """What stands there besides the old files, our own housekeeping left out."""
        names = ("status.json", "agent.json", "coding.md", "verify.md")
        found = {f".runner/{n}" for n in names if (self.folder / ".runner" / n).exists()}
        return found | {n for n in (".runner-note.md",) if (self.folder / n).exists()}


@pytest.fixture
def old(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Old:
    return Old(tmp_path, capsys)


EVERYTHING = {
    ".runner/status.json", ".runner/agent.json", ".runner/coding.md", ".runner-note.md",
}  # fmt: skip


def test_everything_is_copied_as_it_stands(old: Old) -> None:
    assert old.adopt()[0] == 0
    assert old.adopted == EVERYTHING
    assert old.read(".runner/status.json") == old.read(".autonoe/status.json")


def test_each_file_is_told(old: Old) -> None:
    _, out, _ = old.adopt()
    assert [line for line in out.splitlines() if line.startswith("Adopted")] == [
        "Adopted: .autonoe/agent.json as .runner/agent.json",
        "Adopted: .autonoe/coding.md as .runner/coding.md",
        "Adopted: .autonoe-note.md as .runner-note.md",
        "Adopted: .autonoe/status.json as .runner/status.json",
    ]


def test_the_old_files_stay(old: Old) -> None:
    before = old.read(".autonoe/status.json")
    old.adopt()
    assert old.read(".autonoe/status.json") == before
    assert old.read(".autonoe-note.md") == "The login needs a key.\n"


def test_status_knows_what_was_adopted(old: Old) -> None:
    old.adopt()
    _, out, _ = old.ask("status")
    assert "1 of 1 passed (1 claimed, not proved), 1\ndeprecated" in out


def test_no_example_is_written(old: Old) -> None:
    (old.folder / "SPEC.md").unlink()
    _, out, _ = old.adopt()
    assert not (old.folder / "SPEC.md").exists()
    assert "There is no SPEC.md" in out


@pytest.mark.parametrize("name", sorted(EVERYTHING))
def test_nothing_is_overwritten_and_nothing_else_adopted(name: str, old: Old) -> None:
    old.write(name, "mine")
    code, _, err = old.adopt()
    assert (code, old.adopted, old.read(name)) == (2, {name}, "mine")
    assert f"{old.folder / name} would be overwritten" in err


def test_every_file_in_the_way_is_named_at_once(old: Old) -> None:
    old.write(".runner/agent.json", "mine")
    old.write(".runner-note.md", "mine")
    _, _, err = old.adopt()
    assert ".runner/agent.json" in err
    assert ".runner-note.md" in err


def test_a_dangling_link_is_in_the_way_too(old: Old) -> None:
    (old.folder / ".runner-note.md").symlink_to("nowhere")
    assert old.adopt()[0] == 2
    assert not (old.folder / ".runner" / "status.json").exists()


def test_adopting_twice_changes_nothing_and_says_so(old: Old) -> None:
    old.adopt()
    code, out, _ = old.adopt()
    assert code == 0
    assert "Was adopted before: .autonoe/status.json" in out


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".autonoe/status.json", '{"deliverables": [}'),
        (".autonoe/status.json", '{"deliverables": 5}'),
        (".autonoe/agent.json", '{"profil": "node"}'),
        (".autonoe/agent.json", "{"),
        (".autonoe/verify.md", "  \n"),
    ],
)
def test_a_file_that_can_not_be_used_stops_all_of_it(name: str, text: str, old: Old) -> None:
    old.write(name, text)
    code, _, err = old.adopt()
    assert (code, old.adopted) == (2, set())
    assert str(old.folder / name) in err


def test_nothing_is_left_when_a_later_file_can_not_be_written(old: Old) -> None:
    # The note's new file is made ready under this name, after two others were written.
    (old.folder / "..runner-note.md.adopting").mkdir()
    code, _, err = old.adopt()
    assert (code, old.adopted) == (1, set())
    assert "could not be written" in err


def test_a_run_at_work_is_not_disturbed(old: Old) -> None:
    with run_lock(old.folder):
        assert old.adopt()[0] == 2
    assert old.adopted == set()


def test_a_link_out_of_the_project_is_not_adopted(old: Old, tmp_path_factory: Any) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "secret.md"
    elsewhere.write_text("secret")
    (old.folder / ".autonoe" / "sync.md").symlink_to(elsewhere)
    code, _, err = old.adopt()
    assert (code, old.adopted) == (2, set())
    assert "leads out" in err


def test_a_project_without_anything_to_adopt_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(["init", "--from-autonoe", "-p", str(tmp_path)]) == 2
    assert "nothing to adopt" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_names_that_mean_nothing_here_are_pointed_out(old: Old) -> None:
    old.write(".autonoe/coding.md", "Call mcp__autonoe__set_status, read .autonoe-note.md.")
    _, out, _ = old.adopt()
    assert "here .autonoe-note.md is .runner-note.md, mcp__autonoe is mcp__runner." in out


def test_init_alone_adopts_nothing_and_says_how_to(old: Old) -> None:
    _, out, _ = old.ask("init")
    assert old.adopted == set()
    assert "Found .autonoe/: `runner init --from-autonoe`" in out


def test_a_plan_that_is_not_adopted_is_noticed_until_it_is(old: Old) -> None:
    before = has_unadopted(old.folder)
    old.adopt()
    assert (before, has_unadopted(old.folder)) == (True, False)
