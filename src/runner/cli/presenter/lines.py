"""A permanent line: what it says, how it is toned, where it belongs."""

from dataclasses import dataclass
from enum import Enum, auto


class Tone(Enum):
    """How a piece of a line stands out where there are colours."""

    NORMAL = auto()
    STRONG = auto()
    FAINT = auto()
    GOOD = auto()
    CAUTION = auto()
    BAD = auto()


class Level(Enum):
    """How much a line matters; decides its stream and what `--quiet` keeps."""

    INFO = auto()
    WARNING = auto()
    ERROR = auto()
    FINAL = auto()


Span = tuple[str, Tone]


@dataclass(frozen=True, slots=True)
class Line:
    """One line for people. Its text is inert already.

    Attributes:
        spans: the pieces, in order.
        level: see Level.
        clip: whether a terminal shows only what fits into its width.
        whole: whether it is copied as a whole, so that no break is put into it.
        hang: the indent below it where it is broken; None for a little more than its own.
    """

    spans: tuple[Span, ...]
    level: Level = Level.INFO
    clip: bool = False
    whole: bool = False
    hang: int | None = None

    @property
    def text(self) -> str:
        """The line without tones."""
        return "".join(text for text, _ in self.spans)

    @property
    def is_for_stderr(self) -> bool:
        """Whether it is a warning or an error (CONTRACT §3)."""
        return self.level in (Level.WARNING, Level.ERROR)


def line(text: str, tone: Tone = Tone.NORMAL, level: Level = Level.INFO) -> Line:
    """Return a line of one piece."""
    return Line(((text, tone),), level)


BLANK = line("")
