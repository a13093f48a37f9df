"""Recognise that a subscription's usage limit was hit (seed 001 §3.4).

The structured event is the better source; text is looked at only on a failed result, since
an agent may well *talk* about limits in an ordinary answer.
"""

import re

_LIMIT_TEXT = re.compile(
    r"""^\s*(?:
        you['\u2019]ve\ (?:hit|reached)\ your\b
      | you['\u2019]re\ out\ of\ (?:usage\ credits|extra\ usage)
      | your\ org\ is\ out\ of\ usage
      | your\ usage\ allocation\ has\ been\ disabled
      | your\ group['\u2019]s\ usage\ limit\ is\ set\ to
      | your\ seat\ type\ doesn['\u2019]t\ include
      | claude\ ai\ usage\ limit\ reached
      | \d+-hour\ limit\ reached
    )""",
    re.IGNORECASE | re.VERBOSE,
)


def is_quota_text(text: str) -> bool:
    """Return whether the text of a failed result says that a usage limit was hit."""
    return _LIMIT_TEXT.match(text) is not None
