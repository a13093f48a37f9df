"""Scripts under /tmp that the same command writes, and other shapes judged by rule."""

from pathlib import Path

import pytest

from runner.shell_policy.decision import PolicySettings
from runner.shell_policy.policy import judge_command

WRITES = (
    "cat > /tmp/probe_of_policy.py <<'EOF'\n{code}\nEOF\n{between}python3 /tmp/probe_of_policy.py"
)


def _allowed(command: str, project: Path, mode: str = "run") -> bool:
    return judge_command(
        command, command="sync" if mode == "sync" else "run", project_dir=project,
        settings=PolicySettings(),
    ).allowed  # fmt: skip


def test_a_script_that_is_written_out_before_may_run(project: Path) -> None:
    assert _allowed(WRITES.format(code="print(1)", between=""), project)


def test_what_is_written_is_judged_like_inline_code(project: Path) -> None:
    assert not _allowed(WRITES.format(code="import os; os.system('x')", between=""), project)


def test_a_read_only_session_does_not_run_it(project: Path) -> None:
    assert not _allowed(WRITES.format(code="print(1)", between=""), project, "sync")


@pytest.mark.parametrize(
    "between",
    ["cp x.py /tmp/probe_of_policy.py; ", "echo x >> /tmp/probe_of_policy.py; ", 'echo x > "$f"; '],
)
def test_nothing_else_may_write_it(between: str, project: Path) -> None:
    assert not _allowed(WRITES.format(code="print(1)", between=between), project)


@pytest.mark.parametrize(
    ("command", "allowed"),
    [
        ('sleep 1 & p=$!; trap "kill $p" EXIT', True),
        ('p=$(cat pid); trap "kill $p" EXIT', False),
        ("for x in a:1 b:2; do head -n ${x##*:} README.md; done", True),
        ("cargo tree --help", True),
        ("git log --help", False),
        ("pylint --persistent=n src", True),
        ("pylint --persistent=evil.x=1 --load-plugins=evil src", False),
        ("GIT_SEQUENCE_EDITOR=: git rebase -i --autosquash main", True),
        ("git rebase -i main", False),
        ("git bisect run npm test", True),
        ("git bisect run evil", False),
        ("yarn workspaces foreach -A run build", True),
        ("make -f ci.mk test", True),
        ("make -f - test", False),
        ("git -c core.pager=cat log", True),
        ("git -c core.pager=evil log", False),
        ("cmake --build build -- -k 0", True),
        ("yq eval '.a' a.yml", True),
        ("yq eval 'env(HOME)' a.yml", False),
        ("c8 --include-all-sources mocha evil", False),
    ],
)
def test_a_rule_decides(command: str, allowed: bool, project: Path) -> None:
    assert _allowed(command, project) is allowed


def test_a_declaration_is_no_dry_run(project: Path) -> None:
    assert not _allowed("npx tsc -d", project, "sync")
