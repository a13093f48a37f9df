"""Bounds of one analysis, counted in things and never in time."""

from runner.errors import RunnerError


class ShellParseError(RunnerError):
    """The text is not shell that we positively understand, so it must not run.

    Attributes:
        position: offset in the analysed text where understanding ended; for text inside
            backquotes, here-documents and `eval` it is relative to that inner text.
    """

    def __init__(self, message: str, *, hint: str, position: int = 0) -> None:
        super().__init__(message, hint=hint)
        self.position = position


MAX_BYTES = 131_072
"""Linux takes no longer argument than this, so a longer command could not start anyway."""
MAX_DEPTH = 32
MAX_NODES = 20_000
MAX_WORDS = 5_000
MAX_CHOICES = 64
MAX_VALUE = 16_384
MAX_VARIABLES = 128
MAX_REDIRECTIONS = 64
MAX_PASSES = 8
WIDEN_AFTER = 3

_SPLIT_UP = "Split it into several smaller commands, or put it in a file."


class AnalysisBudget:
    """What is left of the bounds; one instance serves a text and all that is nested in it."""

    __slots__ = ("depth", "nodes", "words")

    def __init__(self) -> None:
        self.nodes = 0
        self.depth = 0
        self.words = 0

    def node(self, count: int = 1) -> None:
        self.nodes += count
        if self.nodes > MAX_NODES:
            raise ShellParseError("The command has too many parts.", hint=_SPLIT_UP)

    def expanded(self, count: int) -> None:
        self.words += count
        if self.words > MAX_WORDS:
            raise ShellParseError("The command expands to too many words.", hint=_SPLIT_UP)

    def enter(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ShellParseError("The command is nested too deeply.", hint=_SPLIT_UP)

    def leave(self) -> None:
        self.depth -= 1
