"""Names in configuration: the one that was meant, and those that look like a secret."""

import re
from collections.abc import Iterable
from difflib import get_close_matches

_SECRET = re.compile(
    r"(?:^|[_.-])(?:api[_-]?key|apikey|key|token|secret|password|passwd|credentials?|auth"
    r"|authorization|bearer)s?$",
    re.IGNORECASE,
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def looks_secret(name: str) -> bool:
    """Whether a value under this name is likely to be a credential."""
    return bool(_SECRET.search(_HUMP.sub("_", name)))


def suggestion(name: str, known: Iterable[str], label: str = "Known keys") -> str:
    """Return the hint for an unknown name: the nearest known one, or all of them."""
    names = list(dict.fromkeys(known))
    folded = {candidate.lower(): candidate for candidate in names}
    wanted = name.lower()
    near = get_close_matches(wanted, folded, n=1) or get_close_matches(
        wanted.replace("-", "_"), folded, n=1
    )
    if near:
        return f"Did you mean {folded[near[0]]}?"
    return f"{label}: {', '.join(names)}."
