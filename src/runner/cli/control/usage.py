"""What the command line itself refuses, as an envelope where one was asked for."""

from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

from runner.errors import RunnerError
from runner.text.safe import json_text

if TYPE_CHECKING:
    from runner.autonomy.envelope import Envelope

# Typer does not export its UsageError, which BadParameter is a kind of.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]
_JSON = "--json"


class ControlTyperCommand(TyperCommand):
    """A command that answers bad usage with an envelope, too, where --json stands."""

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
    """A group that does so for options and commands that there are not."""

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
