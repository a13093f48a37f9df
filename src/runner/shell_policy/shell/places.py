"""Which commands print nothing but the path where something is installed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.shell_policy.shell.shapes import PLACE

if TYPE_CHECKING:
    from runner.shell_policy.shell.shapes import Shapes

PROGRAMS = frozenset(["which", "command", "type", "npm", "pnpm", "yarn", "python", "python3", "bundle", "gem", "rustc", "brew"])  # fmt: skip
"""Programs whose output is relied on here: no function may take their name."""

_WORDS = r"[A-Za-z0-9@][\w./@+-]*"
_PRINTS_PLACE = re.compile(
    rf"""(?: which \0 {_WORDS} | command \0 -v \0 {_WORDS} | type \0 -[pP] \0 {_WORDS}
    | git \0 rev-parse \0 (?:--show-toplevel|--show-cdup)
    | p?npm \0 (?:root|prefix) (?:\0 (?:-g|--global))? | yarn \0 global \0 dir
    | go \0 env \0 [A-Z]+ | go \0 list \0 -m \0 -f \0 \{{\{{\.Dir\}}\}} \0 {_WORDS}
    | bundle \0 (?:show|info \0 --path) \0 {_WORDS} | gem \0 which \0 {_WORDS}
    | rustc \0 --print \0 sysroot | brew \0 --prefix (?:\0 {_WORDS})?
    | python3? \0 -c \0 import[ ](?P<module>[A-Za-z_]\w*(?:\.\w+)*)\s*;\s*print\((?P=module)\.__file__\) )""",
    re.VERBOSE,
)


def places(texts: list[str | None]) -> Shapes:
    """What these words print when they ask a tool where something is; None for all else."""
    known = [text for text in texts if text is not None]
    asks = len(known) == len(texts) and _PRINTS_PLACE.fullmatch("\0".join(known)) is not None
    return (PLACE,) if asks else None
