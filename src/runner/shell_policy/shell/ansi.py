"""The escapes of `$'…'`."""

import re

_ESCAPE = re.compile(
    r"\\(?:([abeEfnrtv\\'\"?])|([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})"
    r"|U([0-9A-Fa-f]{1,8})|(.))",
    re.DOTALL,
)
_NAMED = {
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}
_HIGHEST = 0x10FFFF


class _UnknownEscapeError(Exception):
    pass


def _character(match: re.Match[str]) -> str:
    named, octal, byte, short, long, other = match.groups()
    if named:
        return _NAMED.get(named, named)
    if other:
        raise _UnknownEscapeError
    digits = byte or short or long
    code = int(octal, 8) if octal else int(digits, 16)
    one_byte = bool(octal or byte)
    surrogate = 0xD800 <= code <= 0xDFFF
    if code == 0 or code > _HIGHEST or surrogate or (one_byte and code > 0x7F):
        raise _UnknownEscapeError
    return chr(code)


def decode(text: str) -> str | None:
    """The value of the inside of `$'…'`; None when an escape is not understood."""
    try:
        return _ESCAPE.sub(_character, text)
    except _UnknownEscapeError:
        return None
