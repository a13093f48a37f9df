"""sqlite3 in a read-only session: statements that only read, on databases of the project."""

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.shell_policy.memory_facts import MemoryFacts

from runner.shell_policy.policy import judge_command


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


@pytest.fixture
def program() -> Iterator[Path]:
    """A name under /tmp where nothing is yet."""
    path = Path(f"/tmp/compiled-{os.getpid()}")
    yield path
    path.unlink(missing_ok=True)


def test_a_program_compiled_to_tmp_may_run(project: Path, program: Path) -> None:
    text = f"gcc -o {program} src/x.c && {program} 1"
    assert judge_command(text, project_dir=project).allowed


def test_a_link_in_its_place_may_not(project: Path, program: Path) -> None:
    program.symlink_to("/bin/sh")
    text = f"gcc -o {program} src/x.c && {program} 1"
    assert not judge_command(text, project_dir=project).allowed


@pytest.mark.parametrize(
    "text",
    ["{0}", "{0}; gcc -o {0} x.c", "gcc -o {0} x.c; cp a {0}; {0}", "gcc -o {0} x.c; a > {0}; {0}",
     "gcc() {{ :; }}; gcc -o {0} x.c; {0}", "gcc -o {0}x x.c && {0}"],
)  # fmt: skip
def test_what_else_may_write_a_program_keeps_it_from_running(
    project: Path, program: Path, text: str
) -> None:
    assert not judge_command(text.format(program), project_dir=project).allowed


@pytest.mark.parametrize(
    "statement",
    ["select 1 -- it's\n; delete from t where 1 -- '", "select \"it's\"; delete from t; select \"'\""],
)  # fmt: skip
def test_a_quote_in_a_comment_or_a_name_hides_no_statement(project: Path, statement: str) -> None:
    text = f"sqlite3 app.db {shlex.quote(statement)}"
    assert not judge_command(text, command="sync", project_dir=project).allowed


@pytest.mark.parametrize(
    ("text", "allowed"),
    [("rsync -a src/ build/", True), ("rsync -a src/ .", False), ("rsync -a src .", True)],
)
def test_a_whole_folder_is_not_copied_over_the_project(
    project: Path, text: str, allowed: bool
) -> None:
    assert judge_command(text, project_dir=project).allowed == allowed


def test_an_environment_of_any_name_may_be_activated() -> None:
    facts = MemoryFacts(
        files={"/workspace/project/science/pyvenv.cfg": "", "/workspace/project/x/a": ""}
    )
    allowed = [
        judge_command(f". {name}/bin/activate", project_dir=facts.project, facts=facts).allowed
        for name in ("science", "x", "../science")
    ]

    assert allowed == [True, False, False]


def test_a_program_in_the_folder_runs_where_it_is_there() -> None:
    facts = MemoryFacts(
        files={"/workspace/project/rock": "", "/workspace/project/sub/stone": ""},
        links={"/workspace/project/away": "/usr/bin/env"},
    )
    names = ("./rock --help", "cd sub && ./stone", "./missing", "./away", "./sub/stone")
    allowed = [
        judge_command(text, project_dir=facts.project, facts=facts).allowed for text in names
    ]

    assert allowed == [True, True, False, False, False]
    assert not judge_command(
        "./rock", command="sync", project_dir=facts.project, facts=facts
    ).allowed
