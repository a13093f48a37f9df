"""A project on disk, as the policy would find it."""

from pathlib import Path

import pytest


@pytest.fixture
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a source folder, a link that leaves it, and protected folders."""
    root = tmp_path_factory.mktemp("work") / "project"
    for folder in ("src", "tests", ".git/hooks", ".runner"):
        (root / folder).mkdir(parents=True)
    (root / "src/link-to-outside").symlink_to("/etc/shadow")
    (root / "src/out").symlink_to("/etc")
    (root / "Makefile").write_text("special:\n\ttrue\n")
    (root / "package.json").write_text(
        '{"scripts": {"mine": "true"}, "dependencies": {"odd": "1"}}'
    )
    return root


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch) -> None:
    """The decisions of tests do not depend on who runs them."""
    monkeypatch.setenv("HOME", "/home/somebody")
