"""Computed and matched names on a real tree: links, protected folders, whole-tree changes."""

from pathlib import Path

import pytest

from runner.shell_policy.decision import PolicySettings
from runner.shell_policy.policy import explain, judge_command

DESTRUCTIVE = PolicySettings(allow_destructive=True)


def allowed(text: str, project: Path) -> bool:
    return judge_command(text, project_dir=project, settings=DESTRUCTIVE).allowed


@pytest.fixture
def linked(project: Path) -> Path:
    """The project with links that leave it where loops would meet them."""
    (project / "src/evil.py").symlink_to("/etc/passwd")
    (project / "src/evil.sh").symlink_to("/etc/cron.d/evil.sh")
    (project / "packages").mkdir()
    (project / "packages/evil").symlink_to("/etc")
    (project / "data").mkdir()
    (project / "data/git").symlink_to("../.git")
    (project / ".claude/hooks").mkdir(parents=True)
    (project / ".claude/hooks/format.py").touch()
    return project


@pytest.mark.parametrize(
    "text",
    [
        'for f in src/*.py; do sed -i s/a/b/ "$f"; done', "sed -i s/a/b/ src/*.py", "tee src/*.py",
        'for f in src/*.sh; do bash "$f"; done', 'for d in packages/*/; do (cd "$d" && npm test); done',
        'for d in packages/*/; do touch "$d/x"; done', 'for d in packages/*/; do echo > "${d}x"; done',
        "touch packages/*/new", 'for d in data/*; do rm -rf "$d/config"; done',
        "git ls-files '*.py' | xargs sed -i s/a/b/", "find . -name '*.py' -exec sed -i s/a/b/ {} +",
    ],
)  # fmt: skip
def test_a_match_that_leads_away_is_refused(linked: Path, text: str) -> None:
    assert not allowed(text, linked)


@pytest.mark.parametrize(
    "text",
    [
        'for f in src/*.py; do sed -i s/a/b/ "$f"; done', 'for d in */; do touch "$d/x"; done',
        "git ls-files '*.py' | xargs sed -i s/a/b/", 'for d in src/*/; do (cd "$d" && npm test); done',
    ],
)  # fmt: skip
def test_without_such_links_it_is_allowed(tmp_path: Path, text: str) -> None:
    (tmp_path / "src/sub").mkdir(parents=True)
    (tmp_path / "src/a.py").touch()
    assert allowed(text, tmp_path)


@pytest.mark.parametrize("name", ["x /y", "a .mcp.json b.py", "a .git", "folder "])
def test_names_that_fall_apart_into_other_paths_are_refused(project: Path, name: str) -> None:
    assert not allowed(f"touch '{name}'", project)


def test_a_denial_names_every_command_that_was_denied(project: Path) -> None:
    found = explain("ls; payload; git push; ls", project_dir=project)
    assert "payload is not an allowed command" in found.decision.reason
    assert "Also denied: git push: git: push is not allowed" in found.decision.reason


def test_a_reason_is_not_repeated(project: Path) -> None:
    found = explain("payload; payload", project_dir=project)
    assert "Also denied" not in found.decision.reason
