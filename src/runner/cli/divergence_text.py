"""Show where a replay left its recording, so that it can be read on a narrow terminal."""

import re
import textwrap
from itertools import chain

from runner.text.safe import inert

INDENT = " " * 7
_COLUMNS = 80 - len(INDENT)
_UNDER = " " * 11
# How runner.replay.compare says it.
_COMPARED = re.compile(
    r"(line \d+(?:, in white space only)?): "
    r"recorded (nothing|…?“.*”…?), now (nothing|…?“.*”…?)\.?$"
)


def laid_out(divergence: str) -> str:
    """Return a divergence in lines of at most 80 columns; two texts stand one below the other."""
    texts = _COMPARED.sub(r"\1:\n  recorded \2\n  now      \3", inert(divergence)).splitlines()
    lines = (
        textwrap.wrap(text, _COLUMNS, subsequent_indent=_UNDER if text.startswith("  ") else "")
        for text in texts
    )
    return textwrap.indent("\n".join(chain.from_iterable(lines)), INDENT)
