"""A parameter of a control-plane command: its option, and how its text becomes a JSON value."""

import errno
import json
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from runner.autonomy.inputs import DuplicateKeyError, no_key_twice
from runner.autonomy.params import PARAMS, OnCommandLine
from runner.config.options import ENVIRONMENT_PREFIX

MAX_DOCUMENT = 4 * 1024 * 1024
"""Bytes of the longest document that is read, far more than the library accepts."""

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_SWITCHES = {"1": True, "true": True, "yes": True, "on": True} | {
    "0": False, "false": False, "no": False, "off": False,
}  # fmt: skip

Reader = Callable[[str, "Parameter"], Any]


class DocumentError(Exception):
    """A document can't be read; the text says why, for people."""


def text(given: str, _: "Parameter") -> Any:
    return given


def integer(given: str, _: "Parameter") -> Any:
    """Return the number; anything else stays text, which the library refuses."""
    return int(given) if _INTEGER.fullmatch(given.strip()) else given


def switch(given: str, _: "Parameter") -> Any:
    """Return what a switch in the environment says; another word stays text."""
    return _SWITCHES.get(given.strip().lower(), given)


def document(given: str, parameter: "Parameter") -> Any:
    """Return the JSON that is given itself, as @FILE, or as - on standard input.

    Raises:
        DocumentError: it can't be read or is not JSON.
    """
    content = _content(given, parameter)
    try:
        return json.loads(content, object_pairs_hook=no_key_twice)
    except (ValueError, RecursionError) as error:
        is_told = isinstance(error, json.JSONDecodeError | DuplicateKeyError)
        what = str(error) if is_told else "it can't be decoded"
        raise DocumentError(f"--{parameter.option} is not JSON: {what}.") from error


def _content(given: str, parameter: "Parameter") -> bytes:
    if given != "-" and not given.startswith("@"):
        return given.encode("utf-8", "surrogateescape")
    place = "standard input" if given == "-" else given[1:]
    try:
        content = _read(given)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is no path"
        raise DocumentError(f"--{parameter.option}: {place} can't be read: {why}.") from error
    if len(content) > MAX_DOCUMENT:
        raise DocumentError(f"--{parameter.option} is longer than {MAX_DOCUMENT} bytes.")
    return content


def _read(given: str) -> bytes:
    if given == "-":
        if sys.stdin is None:
            raise OSError(errno.EBADF, "it is closed")
        return sys.stdin.buffer.read(MAX_DOCUMENT + 1)
    with Path(given[1:]).open("rb") as file:
        return file.read(MAX_DOCUMENT + 1)


@dataclass(frozen=True)
class Parameter:
    """One parameter of a command, named as in the library.

    Attributes:
        key: its name in the library.
        help: one line.
        read: makes a JSON value of the text.
        metavar: the placeholder for the value in the help.
        named: the option's name where it is not the key in kebab case.
        required: whether the library wants it; the help says so.
        positional: it may also be given without its name.
        from_environment: it may also be given as `AUTORUNNER_<NAME>`; for what configures or
            names a session, not for what is said once.
    """

    key: str
    help: str
    read: Reader = text
    metavar: str = "TEXT"
    named: str = ""
    required: bool = False
    positional: bool = False
    from_environment: bool = False

    @property
    def option(self) -> str:
        """The name on the command line, without dashes."""
        return self.named or self.key.replace("_", "-")

    @property
    def is_switch(self) -> bool:
        return self.read is switch

    @property
    def variable(self) -> str:
        """The name in the environment."""
        return ENVIRONMENT_PREFIX + self.option.replace("-", "_").upper()

    @property
    def declaration(self) -> str:
        return f"--{self.option}/--no-{self.option}" if self.is_switch else f"--{self.option}"

    @property
    def described(self) -> str:
        """The help with what must be known besides."""
        notes = ["required"] if self.required else []
        notes += [f"env var: {self.variable}"] if self.from_environment else []
        return f"{self.help} [{'; '.join(notes)}]" if notes else self.help


def read_values(
    parameters: tuple[Parameter, ...], given: Mapping[str, Any], environ: Mapping[str, str]
) -> dict[str, Any]:
    """Return what the library is called with: the command line's values, then the environment's.

    Raises:
        DocumentError: a document can't be read.
    """
    values: dict[str, Any] = {}
    for parameter in parameters:
        value = given.get(parameter.key)
        if value is None and parameter.from_environment:
            value = environ.get(parameter.variable) or None
        if isinstance(value, str):
            value = parameter.read(value, parameter)
        if value is not None:
            values[parameter.key] = value
    return values


def parameters_of(group: str, command: str) -> tuple[Parameter, ...]:
    """Return the parameters of a command, as its model in `runner.autonomy.params` declares them."""
    fields = PARAMS[group, command].model_fields
    return tuple(_parameter(key, field) for key, field in fields.items())


def _parameter(key: str, field: FieldInfo) -> Parameter:
    kind, marks = _unwrapped(field.annotation)
    shown = next((m for m in (*field.metadata, *marks) if isinstance(m, OnCommandLine)), _PLAIN)
    read, metavar = _reader_of(kind)
    return Parameter(
        key,
        field.description or "",
        read,
        shown.metavar or metavar,
        named=shown.named,
        required=field.is_required(),
        positional=shown.positional,
        from_environment=shown.from_environment,
    )


_PLAIN = OnCommandLine()


def _unwrapped(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return a field's type without `None` and `Annotated`, and what it was annotated with."""
    kinds = [kind for kind in get_args(annotation) if kind is not NoneType]
    if get_origin(annotation) is Annotated:
        kind, marks = _unwrapped(kinds[0])
        return kind, (*annotation.__metadata__, *marks)
    if get_origin(annotation) in (Union, UnionType) and len(kinds) == 1:
        return _unwrapped(kinds[0])
    return annotation, ()


def _reader_of(kind: Any) -> tuple[Reader, str]:
    """Return how text becomes a value of a type, and its placeholder in the help."""
    if kind is bool:
        return switch, "TEXT"
    if kind is int:
        return integer, "N"
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return text, "|".join(kind)
    return (text, "TEXT") if kind is str else (document, "JSON|@FILE|-")
