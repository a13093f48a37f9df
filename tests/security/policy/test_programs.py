"""sqlite3 in a read-only session: statements that only read, on databases of the project."""

from pathlib import Path

import pytest

from runner.security.policy import judge_command


@pytest.mark.parametrize(
    "statement", ["select 1", "with a as (select 1) select * from a", ".schema", "pragma table_info(t)"]
)  # fmt: skip
def test_reading_a_database_is_allowed_in_sync(project: Path, statement: str) -> None:
    decision = judge_command(f'sqlite3 app.db "{statement}"', command="sync", project_dir=project)
    assert decision.allowed, decision.reason


@pytest.mark.parametrize(
    "statement",
    ["insert into t values (1)", "select 1; drop table t", "with a as (select 1) delete from t",
     "pragma user_version = 3", "explain select 1; vacuum", "create table t(a)"],
)  # fmt: skip
def test_changing_a_database_is_refused_in_sync(project: Path, statement: str) -> None:
    decision = judge_command(f'sqlite3 app.db "{statement}"', command="sync", project_dir=project)
    assert decision.rule.endswith("sqlite3")
    assert not decision.allowed
