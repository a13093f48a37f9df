"""The reference pages of the documentation, written from what the program itself declares.

`python -m runner.cli.reference` writes them to `docs/reference/` of the current folder; a test
holds the written pages and the code together.
"""

import inspect
import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import typer

from runner.app.exit_codes import (
    BLOCKED_RUNTIME,
    BUDGET,
    EXIT_CODES,
    FAILURE,
    INTERRUPTED,
    MAX_ITERATIONS,
    PERSON_NEEDED,
    SUCCESS,
    TERMINATED,
    TRY_LATER,
    USAGE,
)
from runner.cli.app import app
from runner.cli.presenter.event_schema import events_schema
from runner.config.feature_flags import FEATURE_FLAGS, FLAGS_TABLE
from runner.config.options import ALL_OPTIONS, Option
from runner.config.postures import POSTURE_VARIABLE, ROLE_OF_POSTURE, ROLE_VARIABLE
from runner.config.runner_file import RunnerFile

_FOLDER = Path("docs/reference")
_NOTE = "<!-- Written by `python -m runner.cli.reference` (`make reference`); do not edit. -->"
_VERBATIM = "\b"  # begins a paragraph whose lines Click keeps
_COLUMNS = 500  # wider than any help, so that nothing is wrapped


def reference_pages() -> dict[str, str]:
    """Return file name → text of every reference page."""
    pages = {
        "commands.md": _commands(),
        "configuration.md": _configuration(),
        "error-codes.md": _error_codes(),
        "events.md": _events(),
    }
    return {name: "\n".join(lines) + "\n" for name, lines in pages.items()}


def _page(title: str, introduction: str, *parts: Iterator[str]) -> list[str]:
    return [_NOTE, "", f"# {title}", "", introduction, *(line for part in parts for line in part)]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield ""
    for cells in (head, ["---"] * len(head), *rows):
        yield f"| {' | '.join(cells)} |"


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


# --- commands


def _commands() -> list[str]:
    introduction = (
        "Every command with its arguments and options. `runner COMMAND --help` says the same; "
        "[configuration](configuration.md) tells where else an option can be set, and "
        "[exit codes](error-codes.md) what it ends with."
    )
    command: Any = typer.main.get_command(app)
    context = command.make_context("runner", [], resilient_parsing=True, terminal_width=_COLUMNS)
    return _page("Commands", introduction, _group(command, context, "runner"))


def _group(group: Any, context: Any, path: str) -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        inner = command.make_context(
            name, [], parent=context, resilient_parsing=True, terminal_width=_COLUMNS
        )
        yield from _command(command, inner, f"{path} {name}")
        if hasattr(command, "list_commands"):
            yield from _group(command, inner, f"{path} {name}")


def _command(command: Any, context: Any, path: str) -> Iterator[str]:
    yield from ("", f"{'#' * (len(path.split()))} {_code(path)}")
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        yield ""
        yield from _paragraph(paragraph)
    if hasattr(command, "list_commands"):
        return
    usage = " ".join(command.collect_usage_pieces(context))
    yield from ("", "```text", f"{path} {usage}", "```", "")
    records = [parameter.get_help_record(context) for parameter in command.get_params(context)]
    for names, text in filter(None, records):
        yield f"- {_code(names)}: {text.strip()}" if text.strip() else f"- {_code(names)}"


def _paragraph(paragraph: str) -> Iterator[str]:
    if not paragraph.startswith(_VERBATIM):
        yield " ".join(paragraph.split())
        return
    title, *lines = paragraph.removeprefix(_VERBATIM).strip("\n").splitlines()
    yield from (title, "", "```text", *(line.removeprefix("  ") for line in lines), "```")


# --- configuration


def _configuration() -> list[str]:
    introduction = (
        "The command line goes before the environment, that before `.runner/runner.toml`, and that "
        "before the default; `runner config show` prints every value with its origin. "
        "[Configuration](../configuration.md) explains them."
    )
    return _page("Configuration keys", introduction, _options(), _tables(), _flags(), _postures())


def _options() -> Iterator[str]:
    yield from ("", "## Options")
    head = ("option and variable", "meaning", "default", "runner.toml")
    yield from _table(head, [_option(option) for option in ALL_OPTIONS])


def _option(option: Option) -> tuple[str, ...]:
    default = option.default_shown or ("off" if option.is_flag else str(option.default))
    key = _code(option.key) if option.in_file else "not there"
    names = f"{_code(f'--{option.name}')}<br>{_code(option.variable)}"
    return (names, option.help, default, key)


def _tables() -> Iterator[str]:
    yield from ("", "## Tables of `runner.toml`")
    for field in fields(RunnerFile):
        if isinstance(field.type, type) and is_dataclass(field.type):
            said = inspect.cleandoc(field.type.__doc__ or "").partition("\n\n")[0]
            meaning = " ".join(said.split()).removeprefix(f"`[{field.name}]`: ")
            yield from ("", f"### `[{field.name}]`", "", meaning[:1].upper() + meaning[1:])
            rows = [
                (_code(key.metadata.get("key", key.name)), _type_name(key.type))
                for key in fields(field.type)
            ]
            yield from _table(("key", "type"), rows)


def _type_name(annotation: object) -> str:
    text = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    names = {"str": "text", "tuple[str, ...]": "list of texts", "float": "number",
             "int": "whole number", "bool": "true or false"}  # fmt: skip
    plain = text.removesuffix(" | None")
    return names.get(plain, plain)


def _flags() -> Iterator[str]:
    yield from ("", f"## Feature flags: `[{FLAGS_TABLE}]`")
    rows = [
        (
            f"{_code(flag.name)}<br>{_code(flag.variable)}",
            "on" if flag.default else "off",
            ", ".join(map(_code, flag.needs)),
            flag.description,
        )
        for flag in FEATURE_FLAGS.values()
    ]
    yield from _table(("flag and variable", "default", "needs", "meaning"), rows)


def _postures() -> Iterator[str]:
    yield from ("", "## Postures and roles", "")
    yield (
        f"Set in `[posture]`, or by {_code(POSTURE_VARIABLE)} and {_code(ROLE_VARIABLE)}. "
        "A posture brings a role along:"
    )
    yield from _table(
        ("posture", "role"), [(_code(one), _code(role)) for one, role in ROLE_OF_POSTURE.items()]
    )


# --- exit codes


_MEANINGS = {
    SUCCESS: "everything achievable has passed; with `--one-phase`, a phase is complete",
    FAILURE: "the run failed: a refused key, too many failed sessions, an unexpected error",
    USAGE: "wrong usage, configuration or prerequisite; nothing was started",
    PERSON_NEEDED: "a person is needed; the output names the command",
    MAX_ITERATIONS: "`--max-iterations` is reached; the same command goes on",
    BUDGET: "`--max-cost` or `[budget] total` is reached",
    BLOCKED_RUNTIME: "SPEC.md or the plan was edited by somebody else (`runner sync` takes that "
    "over), or the project changed during a read-only session",
    TRY_LATER: "a usage limit was hit; the output says when it resets",
    INTERRUPTED: "Ctrl-C (SIGINT); the same command goes on",
    TERMINATED: "SIGTERM; the same command goes on",
}


def _error_codes() -> list[str]:
    introduction = (
        "What `runner run` and `runner sync` exit with. Commands of the control plane exit with 0, "
        "1 when they are refused, and 2 for wrong usage; [error codes](../error-codes.md) has the "
        "reasons of a refusal."
    )
    return _page("Exit codes", introduction, _exits())


def _exits() -> Iterator[str]:
    by_code: dict[int, list[str]] = {code: [] for code in _MEANINGS}
    for reason, code in EXIT_CODES.items():
        by_code[int(code)].append(_code(reason))
    by_code[USAGE] = by_code[FAILURE][-1:]  # told as an error in JSON, see decision 6
    by_code[TERMINATED] = by_code[INTERRUPTED]
    rows = [(str(code), _MEANINGS[code], ", ".join(by_code[code])) for code in by_code]
    yield from _table(("exit code", "when", "`exit_reason` in JSON"), rows)


# --- events


def _events() -> list[str]:
    introduction = (
        "What `--output-format stream-json` prints, one object per line. "
        "[Events](../events.md) says when each comes; `docs/events.schema.json` is the same as a schema."
    )
    definitions = events_schema()["$defs"]
    return _page(
        "Fields of events",
        introduction,
        *(_event(name, shape) for name, shape in definitions.items()),
    )


def _event(name: str, shape: dict[str, Any]) -> Iterator[str]:
    yield from ("", f"## `{name}`")
    required = set(shape.get("required", ()))
    rows = [
        (_code(key), _shape(value), "yes" if key in required else "no")
        for key, value in shape["properties"].items()
    ]
    yield from _table(("field", "value", "always there"), rows)


def _shape(value: dict[str, Any]) -> str:
    if "const" in value:
        return _code(str(value["const"]))
    if "enum" in value:
        return ", ".join(_code(str(one)) for one in value["enum"])
    kind = value.get("type")
    if kind is None:
        parts = (_shape(one) for one in value.get("anyOf", value.get("oneOf", ())))
        return " or ".join(dict.fromkeys(parts)) or "anything"
    names = [kind] if isinstance(kind, str) else kind
    return " or ".join("date and time" if value.get("format") else str(one) for one in names)


def write_pages(folder: Path = _FOLDER) -> None:
    """Write every page into the folder, which is made when it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in reference_pages().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_pages(*map(Path, sys.argv[1:]))
