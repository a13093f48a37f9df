"""The help of every command: what it does, then examples."""

from collections.abc import Iterator
from typing import Any

import pytest
import typer

from runner.cli.app import app
from runner.cli.main import run_command_line


def _commands(level: typer.Typer, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for command in level.registered_commands:
        name = command.name or str(getattr(command.callback, "__name__", ""))
        yield (*above, name.replace("_", "-"))
    for group in level.registered_groups:
        if group.typer_instance is not None and group.name:
            yield (*above, group.name)
            yield from _commands(group.typer_instance, (*above, group.name))


ALL = sorted(_commands(app))


@pytest.mark.parametrize("command", ALL, ids=" ".join)
def test_after_one_sentence_come_examples(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line([*command, "--help"]) == 0
    usage, summary, examples = capsys.readouterr().out.strip().split("\n\n")[:3]
    assert usage.startswith(f"Usage: runner {' '.join(command)}")
    assert summary.strip().endswith(".")
    heading, *lines = [line.strip() for line in examples.splitlines()]
    assert heading == "Examples:"
    assert [line for line in lines if "runner" in line]


@pytest.mark.parametrize("command", ALL, ids=" ".join)
def test_no_line_is_wider_than_100_columns(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    run_command_line([*command, "-h"])
    assert [line for line in capsys.readouterr().out.splitlines() if len(line) > 100] == []


def _helps(command: Any, context: Any) -> Iterator[str]:
    yield command.get_help(context)
    for name in getattr(command, "list_commands", lambda _: [])(context):
        inner = command.get_command(context, name)
        options = {"parent": context, "resilient_parsing": True, "terminal_width": 80}
        yield from _helps(inner, inner.make_context(name, [], **options))


def test_every_example_fits_into_80_columns() -> None:
    root = typer.main.get_command(app)
    texts = _helps(root, root.make_context("runner", [], resilient_parsing=True))
    paragraphs = [part for text in texts for part in text.split("\n\n")]
    examples = [part for part in paragraphs if part.strip().startswith("Examples:")]
    assert [line for part in examples for line in part.splitlines() if len(line) > 80] == []


def test_a_bare_group_answers_with_its_help_as_runner_does(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = run_command_line(["config"])
    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    assert out.startswith("Usage: runner config")


def test_bare_runner_answers_with_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line([]) == 0
    assert capsys.readouterr().out.startswith("Usage: runner")


def test_a_command_that_does_not_exist_is_wrong_usage() -> None:
    assert run_command_line(["config", "nothing"]) == 2
