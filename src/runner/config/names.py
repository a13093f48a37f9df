"""Names in configuration: the one that was meant, and those that look like a secret."""

import re
from collections.abc import Iterable

from runner.text.messages import nearest

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
    return nearest(name, names) or f"{label}: {', '.join(names)}."
