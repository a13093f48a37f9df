"""A review is contained like sync: on a throw-away copy, and its word is checked."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.sandbox.test_probe import AGENT, contains, run

from runner.errors import IntegrityError
from runner.marker import Instruction
from runner.sandbox.probe import ContainmentRequest, contained
from runner.sandbox.status import Containment
from runner.sandbox.watch import ReviewWatch

pytestmark = pytest.mark.process


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home" / ".cache"))
    project = tmp_path / "project"
    project.mkdir()
    (project / "app.py").write_text("one\n")
    return project


@pytest.fixture
def box(project: Path) -> Iterator[Containment]:
    with contained(ContainmentRequest(project, AGENT)) as containment:
        yield containment


@contains
def test_what_a_review_writes_is_thrown_away(box: Containment, project: Path) -> None:
    command = 'echo two > "$PWD/app.py"; : > "$PWD/.runner-note.md"; cat "$PWD/app.py"'
    assert run(box, Instruction.REVIEW, command) in ("two\n", "one\n")
    assert (project / "app.py").read_text() == "one\n"
    assert not (project / ".runner-note.md").exists()


@contains
def test_a_review_that_changed_nothing_counts(box: Containment, project: Path) -> None:
    watch = ReviewWatch(project)
    run(box, Instruction.REVIEW, 'echo two > "$PWD/app.py"')
    watch.after_session()
    assert not (project / ".runner-note.md").exists()


def test_a_change_during_a_review_takes_its_verdict_away(project: Path) -> None:
    watch = ReviewWatch(project)
    (project / "app.py").write_text("two\n")
    with pytest.raises(IntegrityError, match=r"app\.py.*verdict of a review"):
        watch.after_session()
