"""The labels of the startup display."""

from pathlib import Path

from runner.app.composition import Job, startup_facts
from runner.config.resolve import RunOptions


def test_the_labels_are_words_for_people(tmp_path: Path) -> None:
    facts = startup_facts(Job(tmp_path, RunOptions(), "Test"))
    assert [label for label, _ in facts] == [
        "Working directory", "Plan model", "Model", "Thinking", "Verification",
    ]  # fmt: skip
