"""The one error of the shell analysis."""

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
