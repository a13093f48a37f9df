"""Read the small text files that configure a project."""

from pathlib import Path

from runner.errors import ConfigError
from runner.files import read_regular
from runner.text.messages import reason

MAX_BYTES = 1024 * 1024


def read_text(path: Path, *, within: Path | None = None) -> str | None:
    """Return the text of a configuration file without a byte order mark, None without a file.

    Args:
        within: a folder out of which no link may lead.

    Raises:
        ConfigError: it can't be read, is no regular file, is too large or not UTF-8.
    """
    try:
        content = read_regular(path, limit=MAX_BYTES + 1, within=within)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path, reason(error, named=True)) from error
    if len(content) > MAX_BYTES:
        raise _unreadable(path, f"it has more than {MAX_BYTES} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _unreadable(path, f"line {line} is not UTF-8") from error


def _unreadable(path: Path, why: str) -> ConfigError:
    return ConfigError(
        f"{path} can't be read: {why}.",
        hint="Make it a readable UTF-8 text file, or remove it to use the defaults.",
    )
