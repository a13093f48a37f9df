"""Record a run through the proxy, and play it again, with the real agent."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.e2e.harness import SPEC, Project, agent_environment, project
from tests.e2e.scripts import REVIEW_PASS

from runner.replay import ScriptedModel, load_script
from runner.replay.cleaner import without_volatile
from runner.replay.demo import demo_script, demo_spec_text

pytestmark = pytest.mark.e2e

CANARY = "canary-4711-do-not-keep"
SCRIPT = """
[[session]]
instruction = "initializer"

[[session.turn]]
text = "Planning."

[[session.turn.tools]]
name = "mcp__runner__create"

[[session.turn.tools.input.deliverables]]
id = "CLI-001"
description = "greet.py prints hello"
acceptanceCriteria = ["python3 greet.py prints hello"]

[[session.turn]]
text = "Planned."

[[session]]
instruction = "coding"

[[session.turn]]
thinking = "Look first."
text = "A look around, and the script."
tools = [
  { name = "Bash", input = { command = "date && pwd && ls -la && cat CLAUDE.md" } },
  { name = "Write", input = { file_path = "{{project}}/greet.py", content = '''
# {{braces}}task}} stays as it is
print("hello")
''' } },
  { name = "Read", input = { file_path = "{{project}}/missing.txt" } },
]

[[session.turn]]
error = { status = 529, times = 1 }

[[session.turn]]
tools = [
  { name = "Bash", input = { command = "python3 greet.py && git init -q && git add greet.py && git commit -m 'Add it'" } },
]

[[session.turn]]
tools = [{ name = "mcp__runner__set_status", input = { deliverableId = "{{task}}", status = "passed" } }]

[[session.turn]]
text = "Done with {{task}}."
"""
GATED = SCRIPT + REVIEW_PASS
_SECONDS = re.compile(r'("(?:\w+_)?seconds": ?)[\d.e-]+')
# Git's index and the seal of a session are made of times; a log is named after its own.
_OF_ONE_RUN = frozenset({".git", "checkpoints", "sessions", "logs"})
IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Ada"), ("EMAIL", "ada@example.invalid"))
}


@dataclass(frozen=True)
class Recorded:
    """A run that was recorded."""

    path: Path
    ours: Project
    done: "subprocess.CompletedProcess[str]"


@dataclass(frozen=True)
class Replayed:
    """A run that was played again, in a folder of its own."""

    project: Path
    done: "subprocess.CompletedProcess[str]"

    def files(self) -> dict[str, str]:
        """Return what every file holds, without times, ids and the place where it stands."""
        return {
            without_volatile(str(path.relative_to(self.project))): _SECONDS.sub(
                r"\1<seconds>",
                without_volatile(
                    path.read_text(errors="replace").replace(str(self.project), "PROJECT")
                ),
            )
            for path in sorted(self.project.rglob("*"))
            if path.is_file() and _OF_ONE_RUN.isdisjoint(path.parts)
        }


def _prepare(folder: Path) -> None:
    (folder / "SPEC.md").write_text(SPEC, encoding="utf-8")
    (folder / "CLAUDE.md").write_text(f"The key is {CANARY}.\n", encoding="utf-8")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    folder = tmp_path_factory.mktemp("recorded")
    path = folder / "run.toml"
    with project(folder, GATED) as ours:
        _prepare(ours.path)
        ours.environment.update(IDENTITY, ANTHROPIC_API_KEY=CANARY)
        yield Recorded(path, ours, ours.run("--record", str(path)))


def _run(
    folder: Path, environment: dict[str, str], *arguments: str
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "runner", "run", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def _replay(recorded: Recorded, script: Path, folder: Path, *arguments: str) -> Replayed:
    copy = folder / "project"
    copy.mkdir(parents=True)
    _prepare(copy)
    environment = {**recorded.ours.environment, "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
    return Replayed(copy, _run(copy, environment, "--replay", str(script), *arguments))


@pytest.fixture(scope="module")
def replayed(
    recorded: Recorded, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Replayed, Replayed]:
    first, second = (
        _replay(recorded, recorded.path, tmp_path_factory.mktemp(name)) for name in ("one", "two")
    )
    return first, second


def test_a_recorded_run_ends_as_any_other_and_says_where_the_recording_is(
    recorded: Recorded,
) -> None:
    assert (recorded.done.returncode, recorded.ours.passed()) == (0, ["CLI-001"])
    assert f"Recorded 3 agent sessions in {recorded.path}" in recorded.done.stderr


def test_a_recording_has_what_the_model_said(recorded: Recorded) -> None:
    planning, coding, _review = load_script(recorded.path).session
    assert (planning.instruction, coding.instruction, coding.task) == (
        "initializer",
        "coding",
        "CLI-001",
    )
    assert [turn.error.status for turn in coding.turn if turn.error] == [529]
    assert [[call.name for call in turn.tools] for turn in coding.turn if turn.speaks] == [
        ["Bash", "Write", "Read"],
        ["Bash"],
        ["mcp__runner__set_status"],
        [],
    ]


def test_neither_keys_nor_places_of_this_machine_are_in_a_recording(recorded: Recorded) -> None:
    text = recorded.path.read_text()
    home = recorded.ours.environment["HOME"]
    assert "[secret]" in text
    assert [leak for leak in (CANARY, str(recorded.ours.path), home) if leak in text] == []


def test_a_replay_is_what_was_recorded(replayed: tuple[Replayed, Replayed]) -> None:
    ends = [(one.done.returncode, "left the script" in one.done.stderr) for one in replayed]
    assert ends == [(0, False), (0, False)], replayed[0].done.stderr


def test_two_replays_leave_the_same_files(
    recorded: Recorded, replayed: tuple[Replayed, Replayed]
) -> None:
    first, second = replayed
    assert first.files() == second.files()
    original = Replayed(recorded.ours.path, recorded.done).files()
    assert first.files() == original
    assert {"greet.py", ".runner/status.json", ".runner/autonomy/journal/auto_<id>.jsonl"} <= (
        original.keys()
    )


def test_a_replay_that_goes_another_way_says_where(recorded: Recorded, tmp_path: Path) -> None:
    text = recorded.path.read_text()
    tampered = tmp_path / "tampered.toml"
    tampered.write_text(text.replace('print(\\"hello\\")', 'print(\\"tampered\\")'))
    replayed = _replay(recorded, tampered, tmp_path, "--output-format", "json")
    result = json.loads(replayed.done.stdout)
    assert (replayed.done.returncode, result["exit_code"]) == (1, 1)
    first = result["divergences"][0]
    assert re.search(r"The result of Bash \(python3 greet\.py .* recorded “hello”", first), first
    assert "now “tampered”" in first
    assert re.search("recorded “hello”\n +now +“tampered”\n", replayed.done.stderr)


def test_the_demo_recorded_here_replays_in_a_folder_with_a_longer_name(tmp_path: Path) -> None:
    here, there = tmp_path / "a" / "project", tmp_path / ("long-" * 20) / "project"
    for folder in (here, there):
        folder.mkdir(parents=True)
        (folder / "SPEC.md").write_text(demo_spec_text(), encoding="utf-8")
    path = tmp_path / "demo.toml"
    with ScriptedModel(demo_script(), project=here) as model:
        environment = agent_environment(tmp_path, model.base_url)
        codes = [_run(here, environment, "--record", str(path)).returncode]
    replayed = _run(there, environment, "--replay", str(path))
    assert [*codes, replayed.returncode] == [0, 0], replayed.stderr


def test_recording_and_replaying_exclude_each_other(recorded: Recorded, tmp_path: Path) -> None:
    replayed = _replay(recorded, recorded.path, tmp_path, "--record", str(tmp_path / "new.toml"))
    assert (replayed.done.returncode, (tmp_path / "new.toml").exists()) == (2, False)
    assert "--record and --replay exclude each other" in replayed.done.stderr


def test_another_cloud_is_refused_before_the_agent_starts(
    recorded: Recorded, tmp_path: Path
) -> None:
    environment = {**recorded.ours.environment, "CLAUDE_CODE_USE_BEDROCK": "1"}
    done = _run(recorded.ours.path, environment, "--record", str(tmp_path / "new.toml"))
    assert (done.returncode, list(tmp_path.iterdir())) == (2, [])
    assert "CLAUDE_CODE_USE_BEDROCK" in done.stderr
