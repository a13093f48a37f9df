"""Recognise that a subscription's usage limit was hit (seed 001 §3.4).

The structured event is the better source; text is looked at only on a failed result, since
an agent may well *talk* about limits in an ordinary answer. When the limit ends is the
business of `quota_reset`.
"""

import re
from datetime import datetime, timedelta

from runner.quota.reset_time import reset_time

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


_LONG = r"""(?:plan|pro|max|team|enterprise|organi[sz]ation|org|workspace|seat|subscription|account
    |hourly|\d+[ -]hours?|daily|weekly|monthly|day|week|month|session|usage|spend(?:ing)?|credits?
    |opus|sonnet|haiku|fable)"""
_SPENT = r"(?:reached|hit|exceeded|used\ up|exhausted|over|out\ of|no\ more)"
_BOUND = r"(?:limits?|caps?|quotas?|allowances?|allocations?)"
_LONG_LIMIT = re.compile(
    rf"""\b{_LONG}\b[^·\n]{{0,60}}\b{_BOUND}\b
       | \b{_BOUND}\b[^·\n]{{0,60}}\b{_LONG}\b
       | \b{_SPENT}\b[^·\n]{{0,40}}\b(?:usage|credits?|quota|allowance)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_SHORT_LIMIT = re.compile(
    r"not\ your\ usage\ limit | per[\ -](?:minute|second) | \bconcurren | acceleration | overloaded",
    re.IGNORECASE | re.VERBOSE,
)
_RATE_LIMIT = re.compile(r"rate[\s_-]?limit|too many requests", re.IGNORECASE)
_LONG_WAIT = timedelta(minutes=5)


def is_usage_limit(text: str, now: datetime) -> bool:
    """Return whether the text of a refusal with HTTP 429 announces a usage limit.

    A limit that names its reset, or that is one of a plan, a week, an organisation and the like, is
    a usage limit, unless it is known to be over in seconds.

    Args:
        now: aware.
    """
    if is_quota_text(text):
        return True
    if _SHORT_LIMIT.search(text):
        return False
    resets = reset_time(text, now)
    if resets is not None:
        return resets - now > _LONG_WAIT or not _RATE_LIMIT.search(text)
    return _LONG_LIMIT.search(text) is not None and not _RATE_LIMIT.search(text)


def is_quota_text(text: str) -> bool:
    """Return whether the text of a failed result says that a usage limit was hit."""
    return _LIMIT_TEXT.match(text) is not None
