"""From a declaration to a Typer command that calls the library and shows its answer."""

import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer
from typer.core import TyperCommand, TyperGroup

from runner.app.exit_codes import FAILURE, USAGE
from runner.cli.control.parameters import DocumentError, Parameter, parameters_of, read_values
from runner.cli.control.scene import Lines, Scene, screen_width, utc_now
from runner.cli.lazy import RootGroup
from runner.cli.options import AsJson
from runner.deliverables.spec_text import SpecText
from runner.errors import RunnerError, UsageError
from runner.report.workspace_flag import place_of, placed
from runner.text.columns import wrap
from runner.text.output import Output
from runner.text.safe import inert, json_text

if TYPE_CHECKING:
    from runner.autonomy.envelope import Envelope
    from runner.autonomy.service import ControlPlane


# Typer does not export its UsageError, which BadParameter is a kind of.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]
_JSON = "--json"


class ControlTyperCommand(TyperCommand):
    """A command that, with --json, answers wrong usage with an envelope, too."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        wants_json = _JSON in args
        try:
            return super().parse_args(ctx, args)
        except _UsageError as error:
            _answer(error, wants_json=wants_json)
            raise

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except _UsageError as error:
            _answer(error, wants_json=bool(ctx.params.get("as_json")))
            raise


class ControlTyperGroup(TyperGroup):
    """A group that does the same for unknown options and commands."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        wants_json = _JSON in args
        try:
            return super().parse_args(ctx, args)
        except _UsageError as error:
            _answer(error, wants_json=wants_json)
            raise

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        wants_json = _JSON in args
        try:
            return super().resolve_command(ctx, args)
        except _UsageError as error:
            known = ", ".join(self.list_commands(ctx))
            error.message = f"{error.message} Commands of {ctx.command_path}: {known}."  # type: ignore[attr-defined]
            _answer(error, wants_json=wants_json)
            raise


def refused(problem: RunnerError | str) -> "Envelope":
    """Return the envelope of a refusal; a text is what is wrong with the input."""
    from runner.autonomy.codes import ErrorCode, RefusedError  # noqa: PLC0415 - pydantic is slow
    from runner.autonomy.envelope import failure  # noqa: PLC0415
    from runner.autonomy.service import new_ulid  # noqa: PLC0415

    if isinstance(problem, str):
        problem = RefusedError(ErrorCode.VALIDATION_ERROR, problem)
    return failure(problem, request_id=new_ulid("req"))


def _answer(error: Exception, *, wants_json: bool) -> None:
    if wants_json:
        said: str = getattr(error, "format_message", error.__str__)()
        typer.echo(json_text(refused(said)))


_MARGIN = " " * 7

_UNSHOWN = frozenset({"field", "problem"})


def refusal_lines(
    envelope: Mapping[str, Any], parameters: Sequence[Parameter], scene: Scene
) -> Iterator[str]:
    """Yield what was refused, why, and what to do next."""
    data = envelope["data"]
    code = data["error_code"]
    said = _in_options(envelope["error"], parameters)
    yield from wrap(f"{said} ({code})", scene.width, _MARGIN, "Error: ")
    yield from wrap(_in_options(data["remediation"], parameters), scene.width, _MARGIN)
    for key, value in data["details"].items():
        if key not in _UNSHOWN and value not in (None, "", [], {}):
            yield from wrap(f"{key.replace('_', ' ')}: {_shown(value)}", scene.width, _MARGIN)
    recommended = [a for a in data.get("recommended_actions") or () if a.get("command")]
    for action in recommended:
        yield from scene.pasteable(inert(action["command"]), "Next:  ")
        yield from wrap(action["description"], scene.width, _MARGIN)


def warning_lines(envelope: Mapping[str, Any]) -> Iterator[str]:
    """Yield what went wrong without stopping the command, and what will stop working."""
    deprecated = envelope["meta"].get("deprecated")
    if deprecated is not None:
        said = "{action} is deprecated, and goes with {removal_target}. Use {replacement}."
        yield from wrap(said.format_map(deprecated), 80, " " * 9, "Warning: ")
    for warning in envelope["meta"].get("warnings") or ():
        yield from wrap(warning, 80, " " * 9, "Warning: ")


def _in_options(message: str, parameters: Sequence[Parameter]) -> str:
    """Return the message with parameters named as on the command line.

    Plain words are left alone but at the beginning, where the library names what is wrong.
    """
    for parameter in parameters:
        anywhere = (
            rf"\b{parameter.key}\b"
            if "_" in parameter.key
            else rf"^{parameter.key}(?=[:.]| must | is )"
        )
        message = re.sub(anywhere, f"--{parameter.option}", message)
    return message


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_shown, value))
    if isinstance(value, dict):
        return ", ".join(f"{key} {_shown(entry)}" for key, entry in value.items() if entry)
    return str(value)


Performer: TypeAlias = "Callable[[ControlPlane, Mapping[str, Any]], Envelope]"

WORKSPACE = Parameter(
    "workspace",
    "The project's folder; without it the current one.",
    metavar="PATH",
    from_environment=True,
)


@dataclass(frozen=True)
class ControlCommand:
    """A command of the control plane.

    Attributes:
        group, name: as in `runner.autonomy.params.PARAMS`, which has its parameters.
        help: as `help_text` makes it.
        lines: its answer for people.
        perform: what answers it, where that is not the dispatch table alone.
        hidden: left out of its group's help because it is deprecated.
        own_parameters: what it takes, for a command that the library does not have.
    """

    group: str
    name: str
    help: str
    lines: Lines
    perform: "Performer | None" = None
    hidden: bool = False
    own_parameters: tuple[Parameter, ...] | None = None

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """What it takes, besides the workspace and --json."""
        if self.own_parameters is not None:
            return self.own_parameters
        return parameters_of(self.group, self.name)


def control_command(command: ControlCommand) -> typer.Typer:
    """Return the Typer application of a top-level command."""
    application = typer.Typer(rich_markup_mode=None, add_completion=False)
    _add(application, command)
    return application


def control_group(help: str, *commands: ControlCommand) -> typer.Typer:  # noqa: A002 - Typer's word
    """Return the Typer application of a group."""
    group = typer.Typer(
        help=help,
        no_args_is_help=True,
        rich_markup_mode=None,
        add_completion=False,
        cls=ControlTyperGroup,
    )
    # With a callback, a group of one command stays a group.
    group.callback()(lambda: None)
    for command in commands:
        _add(group, command)
    return group


def _add(application: typer.Typer, command: ControlCommand) -> None:
    register = application.command(
        command.name, help=command.help, cls=ControlTyperCommand, hidden=command.hidden
    )
    register(_function(command))


def call(
    command: ControlCommand, given: Mapping[str, Any], environ: Mapping[str, str]
) -> "Envelope":
    """Call the library for what the command line said, and return the envelope.

    Raises:
        RunnerError: it did not come to a call; nothing was changed.
    """
    from runner.app.control_plane import control_plane  # noqa: PLC0415 - pydantic is slow

    if given.get(WORKSPACE.key) == "":
        return refused("The workspace is empty; name the project's folder: --workspace PATH.")
    named = read_values((WORKSPACE,), given, environ)
    plane = control_plane(Path(named.get(WORKSPACE.key) or "."))
    try:
        values = read_values(command.parameters, given, environ)
    except DocumentError as error:
        return refused(str(error))
    if command.perform is not None:
        envelope = command.perform(plane, values)
    else:
        envelope = plane.call(command.group, command.name, **values)
    envelope["data"] = placed(envelope["data"], place_of(given.get(WORKSPACE.key)))
    return envelope


def _function(command: ControlCommand) -> Callable[..., None]:
    def function(*, as_json: bool = False, **given: Any) -> None:
        from runner.autonomy.observability.export import exporting  # noqa: PLC0415 - as `call`

        for parameter in command.parameters:
            _merge_positional(parameter, given)
        answer = _answer_json if as_json else _answer_people
        with exporting(os.environ, _warn):
            code = answer(command, given)
        raise typer.Exit(code)

    parameters = [
        *(_argument(p) for p in command.parameters if p.positional),
        *(_option(p) for p in (*command.parameters, WORKSPACE)),
        inspect.Parameter(
            "as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=AsJson
        ),
    ]
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined] # read by inspect
    function.__annotations__ = {p.name: p.annotation for p in parameters}
    function.declaration = command  # type: ignore[attr-defined] # for those who list what there is
    return function


def _warn(text: str) -> None:
    typer.echo(f"Warning: {inert(text)}", err=True)


def _answer_json(command: ControlCommand, given: Mapping[str, Any]) -> int:
    """Print exactly one envelope, whatever happens; return the exit code."""
    code = 0
    try:
        envelope = call(command, given, os.environ)
        code = 0 if envelope["success"] else FAILURE
    except RunnerError as error:
        envelope = refused(error)
        code = USAGE if isinstance(error, UsageError) else FAILURE
    except Exception as error:
        typer.echo(json_text(refused(RunnerError(f"Unexpected {type(error).__name__}."))))
        raise
    typer.echo(json_text(envelope))
    return code


def _answer_people(command: ControlCommand, given: Mapping[str, Any]) -> int:
    envelope = call(command, given, os.environ)
    scene = Scene(
        data=envelope["data"],
        pagination=envelope["meta"].get("pagination") or {},
        now=utc_now(),
        width=screen_width(),
        place=place_of(given.get(WORKSPACE.key)),
        is_looped=SpecText(Path(given.get(WORKSPACE.key) or ".")).is_noted,
    )
    out, err = Output(sys.stdout), Output(sys.stderr)
    for line in warning_lines(envelope):
        err.write(line + "\n")
    if not envelope["success"]:
        for line in refusal_lines(envelope, command.parameters, scene):
            err.write(line + "\n")
        return FAILURE
    for line in command.lines(scene):
        out.write(line + "\n")
    out.require_written()
    return 0


def _merge_positional(parameter: Parameter, given: dict[str, Any]) -> None:
    if not parameter.positional:
        return
    argument = given.pop(_argument_name(parameter))
    if argument is not None and given[parameter.key] not in (None, argument):
        raise typer.BadParameter(f"{argument} and --{parameter.option} say different things.")
    given[parameter.key] = given[parameter.key] or argument


def _argument_name(parameter: Parameter) -> str:
    return f"{parameter.key}_argument"


def _argument(parameter: Parameter) -> inspect.Parameter:
    info = typer.Argument(metavar=parameter.metavar, help=parameter.help, show_default=False)
    return inspect.Parameter(
        _argument_name(parameter),
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[str | None, info],
    )


def _option(parameter: Parameter) -> inspect.Parameter:
    info = typer.Option(
        parameter.declaration,
        metavar=None if parameter.is_switch else parameter.metavar,
        help=parameter.described,
        show_default=False,
    )
    return inspect.Parameter(
        parameter.key,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[(bool if parameter.is_switch else str) | None, info],
    )


def control_variables() -> frozenset[str]:
    """Return the names of all variables that some command of the control plane reads."""
    found: set[str] = set()
    for place in RootGroup.lazy.values():
        module, _, name = place.partition(":")
        for info in getattr(import_module(module), name).registered_commands:
            parameters = (*info.callback.declaration.parameters, WORKSPACE)
            found |= {p.variable for p in parameters if p.from_environment}
    return frozenset(found)
