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
