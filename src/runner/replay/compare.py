"""Say in a sentence where a text differs from the recorded one."""

import re
from collections.abc import Sequence
from itertools import zip_longest

from runner.replay.secrets import ANY_MASK

# What Claude Code leaves in the middle of a long output. Where it cuts depends on the length of
# the project's path.
_CUT = re.compile(r"\n*\.\.\. \[\d+ (?:characters|lines) truncated\] \.\.\.\n*")
_BEFORE = 30
_EXCERPT = 110


def difference(recorded: str, now: str) -> str | None:
    """Return where two texts differ first, with what stands there in each; None if nowhere."""
    recorded, now = _cut_alike(recorded, now)
    if recorded == now:
        return None
    pairs = zip_longest(recorded.split("\n"), now.split("\n"))
    for number, (old, new) in enumerate(pairs, start=1):
        if old != new and not _but_for_secrets(old or "", new or ""):
            start = max(0, _common(old or "", new or "") - _BEFORE)
            spaces = (old or "").split() == (new or "").split() and None not in (old, new)
            where = f"line {number}{', in white space only' if spaces else ''}"
            return f"{where}: recorded {_shown(old, start)}, now {_shown(new, start)}"
    return None


def _but_for_secrets(old: str, new: str) -> bool:
    """Whether two lines may be the same but for what is a secret on one of the machines only."""
    return _fits(ANY_MASK.split(old), new) or _fits(ANY_MASK.split(new), old)


def _fits(parts: Sequence[str], line: str) -> bool:
    """Whether a line consists of the parts, in this order, with anything between each two."""
    first, *middle, last = parts if len(parts) > 1 else (*parts, "")
    if len(parts) == 1 or not (line.startswith(first) and line.endswith(last)):
        return False
    at, end = len(first), len(line) - len(last)
    for part in middle:
        found = line.find(part, at + 1, end)
        if found < 0:
            return False
        at = found + len(part)
    return at < end


def _cut_alike(recorded: str, now: str) -> tuple[str, str]:
    """Return the lines that both texts have as a whole, where both were cut in the middle."""
    halves = [_CUT.split(text) for text in (recorded, now)]
    if any(len(parts) != 2 for parts in halves):
        return recorded, now
    heads = [head.split("\n")[:-1] for head, _ in halves]
    tails = [tail.split("\n")[1:] for _, tail in halves]
    kept = min(map(len, heads))
    last = min(map(len, tails))
    one, other = (
        "\n".join([*head[:kept], "...", *tail[len(tail) - last :]])
        for head, tail in zip(heads, tails, strict=True)
    )
    return one, other


def _common(one: str, other: str) -> int:
    length = min(len(one), len(other))
    return next((at for at in range(length) if one[at] != other[at]), length)


def _shown(line: str | None, start: int) -> str:
    if line is None:
        return "nothing"
    end = start + _EXCERPT
    return f"{'…' if start else ''}“{line[start:end]}”{'…' if len(line) > end else ''}"
