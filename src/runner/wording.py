"""Words that several packages need to say the same thing in the same way."""

import errno


def plural(count: int, noun: str, many: str | None = None) -> str:
    """Return `1 tool`, `2 tools`.

    Args:
        many: the noun for any number but one, where it is not `noun` with an s.
    """
    return f"{count} {noun}" if count == 1 else f"{count} {many or noun + 's'}"


_OWN_WORDS = {errno.EBADF: "it is closed"}


def reason(error: BaseException, *, named: bool = False) -> str:
    """Return why something failed, without a full stop at the end.

    An error of the system is told in words and with the file it is about: nobody knows the number.

    Args:
        named: whether the message has named the file already.
    """
    said = str(error)
    if isinstance(error, OSError) and error.strerror:
        about = "" if named or error.filename is None else f": {error.filename}"
        said = f"{_OWN_WORDS.get(error.errno or 0, error.strerror)}{about}"
    return said.rstrip(".") or type(error).__name__
