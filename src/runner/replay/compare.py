"""Say in a sentence where a text differs from the recorded one."""

from itertools import zip_longest

_BEFORE = 30
_EXCERPT = 110


def difference(recorded: str, now: str) -> str | None:
    """Return where two texts differ first, with what stands there in each; None if nowhere."""
    if recorded == now:
        return None
    pairs = zip_longest(recorded.split("\n"), now.split("\n"))
    for number, (old, new) in enumerate(pairs, start=1):
        if old != new:
            start = max(0, _common(old or "", new or "") - _BEFORE)
            return f"line {number}: recorded {_shown(old, start)}, now {_shown(new, start)}"
    return None


def _common(one: str, other: str) -> int:
    length = min(len(one), len(other))
    return next((at for at in range(length) if one[at] != other[at]), length)


def _shown(line: str | None, start: int) -> str:
    if line is None:
        return "nothing"
    end = start + _EXCERPT
    return f"{'…' if start else ''}“{line[start:end]}”{'…' if len(line) > end else ''}"
