"""What one option of the command line is, wherever its value comes from."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from runner.config.kinds import FLAG, Kind

ENVIRONMENT_PREFIX = "AUTORUNNER_"

T = TypeVar("T")


def _anything_goes(_value: Any) -> str | None:
    return None


@dataclass(frozen=True)
class Option(Generic[T]):
    """One option, declared once (CONTRACT §1).

    Attributes:
        name: as on the command line, without the dashes.
        default: when nothing else says so.
        help: one line.
        short: the one-letter form with its dash, or empty.
        metavar: what stands for the value in the help, or empty for the kind's own.
        default_shown: the default in words, where the value itself says too little.
        check: returns what is wrong with a value, or None.
        in_file: whether `.runner/runner.toml` may set it.
    """

    name: str
    kind: Kind[Any]
    default: T
    help: str
    short: str = ""
    metavar: str = ""
    default_shown: str = ""
    check: Callable[[Any], str | None] = _anything_goes
    in_file: bool = True

    @property
    def key(self) -> str:
        """The name in runner.toml and in Python."""
        return self.name.replace("-", "_")

    @property
    def variable(self) -> str:
        """The name in the environment."""
        return ENVIRONMENT_PREFIX + self.key.upper()

    @property
    def is_flag(self) -> bool:
        return self.kind is FLAG

    @property
    def declarations(self) -> tuple[str, ...]:
        """The names on the command line; a flag has one to turn it off, too."""
        long = f"--{self.name}"
        if self.is_flag:
            positive = self.name.removeprefix("no-")
            long += f"/--{positive}" if positive != self.name else f"/--no-{self.name}"
        return (long, self.short) if self.short else (long,)
