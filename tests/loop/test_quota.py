"""Texts that say that a usage limit was hit, and texts that do not."""

import pytest

from runner.loop.quota import is_quota_text

LIMITS = [
    "You've hit your session limit · resets 10:52pm (UTC)",
    "You\u2019ve hit your weekly limit · resets Nov 24, 8:35pm (Europe/Paris)",
    "You've reached your Opus limit",
    "You're out of usage credits",
    "You\u2019re out of extra usage · resets Jan 20, 2027, 8:35pm (UTC)",
    "Your org is out of usage · ask your admin",
    "Your usage allocation has been disabled by your admin",
    "Your group's usage limit is set to $0",
    "Your seat type doesn't include this model",
    "Claude AI usage limit reached|1800000000",
    "5-hour limit reached ∙ resets 3pm",
    "  you've HIT your limit",
]
OTHERS = [
    "",
    "API Error: 429 rate_limit_error",
    "Server is temporarily limiting requests (not your usage limit)",
    "I think you've hit your limit there, so the test fails.",
    "The 5-hour limit reached in the fixture is now parsed.",
    "You've hit yourself",
    "Your organization is fine",
]


@pytest.mark.parametrize("text", LIMITS)
def test_a_limit_is_recognised(text: str) -> None:
    assert is_quota_text(text)


@pytest.mark.parametrize("text", OTHERS)
def test_other_texts_are_not(text: str) -> None:
    assert not is_quota_text(text)
