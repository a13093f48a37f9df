"""Recognise that a subscription's usage limit was hit (seed 001 §3.4).

The structured event is the better source; text is looked at only on a failed result, since
an agent may well *talk* about limits in an ordinary answer. When the limit ends is the
business of `quota_reset`.
"""

import re

_LIMIT_TEXT = re.compile(
    r"""^\s*
    # What the agent puts before a message that it passes on from the API.
    (?: api\ error:\s* (?: request\ rejected\ \(429\)\s*·\s* | 4\d\d\s+(?:·\s*)? )? )?
    (?:
        you(?:['\u2019]ve|\ have)\ (?:hit|reached)\ your\ [^·\n]{0,60}?\b(?:limits?|quota|cap)\b
      | you(?:['\u2019]re|\ are)\ out\ of\ (?:usage\ credits|extra\ usage)
      | your\ org(?:anization)?\ is\ out\ of\ usage
      | your\ org(?:anization)?['\u2019]s\ usage\ credit\ cap\ is\ reached
      | your\ usage\ allocation\ has\ been\ disabled
      | your\ group['\u2019]s\ usage\ limit\ is\ set\ to
      | your\ seat\ type\ (?:doesn['\u2019]t|does\ not)\ include
      | (?:fable|haiku|mythos|opus|sonnet)(?:\ [^·\n]{1,40})?\ requires\ usage\ credits
      | (?:claude\ )?(?:(?:ai|pro|max)\ )?
        (?: (?:\d+-hour|session|daily|weekly|monthly|opus|sonnet|haiku|fable)
            (?:\ (?:usage|spend|weekly))?
          | usage(?:\ credit)? | spend )
        \ limit\ reached\b
    )""",
    re.IGNORECASE | re.VERBOSE,
)


def is_quota_text(text: str) -> bool:
    """Return whether the text of a failed result says that a usage limit was hit."""
    return _LIMIT_TEXT.match(text) is not None
