"""The labels of the startup display."""

from pathlib import Path

from runner.app.job import Job, startup_facts
from runner.config.options import RunOptions
from runner.project import Project


def test_the_labels_are_words_for_people(tmp_path: Path) -> None:
    facts = startup_facts(Job(Project(tmp_path, {}), RunOptions(), "Test"))
    assert [label for label, _ in facts] == [
        "Working directory", "Plan model", "Model", "Thinking", "Verification",
    ]  # fmt: skip


def test_thinking_is_said_once_for_a_model_that_decides_itself(tmp_path: Path) -> None:
    options = RunOptions(thinking_tokens=8192)
    facts = startup_facts(Job(Project(tmp_path, {}), options, "Test"))
    assert [text for label, text in facts if label == "Thinking"] == ["decided by the model"]
