"""The one place that asks the shell package to read a script."""

from typing import cast

from runner.security.refusal import RefusedError
from runner.security.shell.facts import Script


def analyse(text: str) -> Script:
    """Return the commands in `text`. Raises RefusedError for what can't be understood."""
    from runner.security import shell  # noqa: PLC0415

    try:
        return cast("Script", shell.analyse(text))
    except RecursionError as error:
        raise RefusedError("limit:depth", "The script is nested too deeply.") from error
    except ValueError as error:
        raise RefusedError(
            "parse", f"This can't be understood with certainty: {error}. Write it simpler."
        ) from error
