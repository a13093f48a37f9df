"""When a usage limit ends: from the words of the message that announced it.

Everything here is pure; «now» is an argument. A structured time, where the service gave one,
is better than any text and never comes through here.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

_LONGEST_TEXT = 2000
_GRACE = timedelta(minutes=2)
_DATE_GRACE = timedelta(days=1)
_LEAP_CYCLE_YEARS = 8
_WEEK_DAYS = 7
_HALF_DAY_HOURS = 12
_MILLISECOND_DIGITS = 13
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_UNIT_SECONDS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}

_EPOCH = re.compile(r"(?:\||\bresets?(?:\s+at)?:?)\s*(\d{13}|\d{10})(?!\d)", re.IGNORECASE)
_AMOUNT = (
    r"\d{1,6}(?:\.\d{1,3})?\s*"
    r"(?:weeks?|w|days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)(?![a-z])"
)
_SPAN = rf"\bin\s+(?:about\s+)?({_AMOUNT}(?:[\s,]*(?:and\s+)?{_AMOUNT})*)"
_SPAN_AFTER_CUE = re.compile(rf"\b(?:resets?|again|available|access)\s+{_SPAN}", re.IGNORECASE)
_ANY_SPAN = re.compile(_SPAN, re.IGNORECASE)
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([wdhms])", re.IGNORECASE)
_CUE = re.compile(
    r"\b(?:resets?|renews?|regain\s+access|try\s+again|come\s+back|available(?:\s+again)?)\b:?"
    r"\s+(?:(?:at|on|after)\s+)?",
    re.IGNORECASE,
)
_STAMP = re.compile(
    rf"""
    (?: (?P<weekday>{"|".join(_WEEKDAYS)})[a-z]*\.?,?\s+(?:at\s+)? )?
    (?: (?P<relative>today|tomorrow)\b,?\s*(?:at\s+)? )?
    (?:
        (?: (?P<month>{"|".join(_MONTHS)})[a-z]*\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)
          | (?P<day2>\d{{1,2}})\.?\s+(?P<month2>{"|".join(_MONTHS)})[a-z]*\b\.? )
        (?: ,?\s+(?P<year>\d{{4}})\b )?
      | (?P<iso>\d{{4}}-\d{{2}}-\d{{2}})
      | (?P<month3>\d{{1,2}})/(?P<day3>\d{{1,2}})(?:/(?P<year3>\d{{4}}))?(?![\d/])
    )?
    (?: (?:,?\s+at\s+|,?\s+|T)? (?:
        (?P<hour>\d{{1,2}})(?::(?P<minute>\d{{2}}))?(?::\d{{2}})?\s*(?P<half>[ap])\.?m\b\.?
      | (?P<hour24>\d{{1,2}}):(?P<minute24>\d{{2}})(?::\d{{2}}(?:\.\d+)?)?(?!\d)
      | (?P<french>\d{{1,2}})h(?P<minutes>\d{{2}})?(?![\da-z])
      | (?P<bare>\d{{1,2}})(?=\s*\()
      | (?P<named>noon|midnight)\b
    ) )?
    (?: \s*\((?P<zone>[^()]{{1,60}})\)
      | \s*(?P<offset>(?:UTC|GMT|Z)(?:[+-]\d{{1,2}}(?::?\d{{2}})?)?\b|[+-]\d{{2}}:\d{{2}}\b)
      | \s+(?P<name>[a-z]+/[a-z_+/0-9-]+ | (?-i:[A-Z]{{2,5}})\b)
    )?
    """,
    re.IGNORECASE | re.VERBOSE,
)
_OFFSET = re.compile(r"(?:utc|gmt|z)?(?:([+-])(\d{1,2})(?::?(\d{2}))?)?", re.IGNORECASE)


def reset_time(text: str, now: datetime, *, local: tzinfo | None = None) -> datetime | None:
    """Return when the limit that `text` announces ends, None when it does not say.

    Never raises. The result is in UTC, and can lie a little in the past: a clock time that
    passed within the last two minutes, or a date within the last day, means that the limit
    has just ended.

    Args:
        now: aware.
        local: the zone of a time without one; that of `now` when left out.
    """
    words = text[:_LONGEST_TEXT]
    home = local or now.tzinfo or UTC
    # All in UTC: within one zone Python compares wall clocks, and is wrong when they change.
    instant = now.astimezone(UTC)
    for read in _READERS:
        try:
            moment = read(words, instant, home)
        except (ValueError, OverflowError):
            # A date that no calendar has says nothing; another form may.
            continue
        if moment is not None:
            return moment
    return None


def _epoch(text: str, _now: datetime, _home: tzinfo) -> datetime | None:
    found = _EPOCH.search(text)
    if found is None:
        return None
    digits = found[1]
    seconds = int(digits) // (1000 if len(digits) == _MILLISECOND_DIGITS else 1)
    return datetime.fromtimestamp(seconds, UTC)


def _span_after_cue(text: str, now: datetime, _home: tzinfo) -> datetime | None:
    return _after(_SPAN_AFTER_CUE.search(text), now)


def _any_span(text: str, now: datetime, _home: tzinfo) -> datetime | None:
    return _after(_ANY_SPAN.search(text), now)


def _after(found: re.Match[str] | None, now: datetime) -> datetime | None:
    if found is None:
        return None
    seconds = sum(float(n) * _UNIT_SECONDS[unit.lower()] for n, unit in _PART.findall(found[1]))
    return now + timedelta(seconds=seconds)


def _stamp(text: str, now: datetime, home: tzinfo) -> datetime | None:
    for cue in _CUE.finditer(text):
        found = _STAMP.match(text, cue.end())
        if found is not None and (moment := _Stamp(found, home).after(now)) is not None:
            return moment
    return None


_READERS: tuple[Callable[[str, datetime, tzinfo], datetime | None], ...] = (
    _epoch,
    _span_after_cue,
    _stamp,
    _any_span,
)


@dataclass(frozen=True, slots=True)
class _Stamp:
    """A day, a time of day and a zone, any of which may be missing."""

    found: re.Match[str]
    home: tzinfo

    def after(self, now: datetime) -> datetime | None:
        """Return the moment it means at `now`; None when it names neither day nor time."""
        clock = self._clock()
        zone = self._zone(dated=clock is None)
        if zone is None or (clock is None and not self._has_date):
            return None
        today = now.astimezone(zone).date()
        grace = _DATE_GRACE if self._has_date else _GRACE
        moments = (
            moment for day in self._days(today) for moment in _moments(day, clock or time(), zone)
        )
        first = next(moments, None)
        if first is None or self._has_year or first > now - grace:
            return first
        return next((moment for moment in moments if moment > now - grace), None)

    @property
    def _has_date(self) -> bool:
        return any(self.found[name] for name in ("month", "month2", "month3", "iso"))

    @property
    def _has_year(self) -> bool:
        return bool(self.found["year"] or self.found["year3"] or self.found["iso"])

    def _clock(self) -> time | None:
        found = self.found
        if found["hour"]:
            hour = int(found["hour"])
            if not 1 <= hour <= _HALF_DAY_HOURS:
                raise ValueError(hour)
            afternoon = _HALF_DAY_HOURS if found["half"].lower() == "p" else 0
            return time(hour % _HALF_DAY_HOURS + afternoon, int(found["minute"] or 0))
        if found["hour24"]:
            return time(int(found["hour24"]), int(found["minute24"]))
        if found["french"]:
            return time(int(found["french"]), int(found["minutes"] or 0))
        if found["bare"]:
            return time(int(found["bare"]))
        if found["named"]:
            return time(_HALF_DAY_HOURS if found["named"].lower() == "noon" else 0)
        return None

    def _zone(self, *, dated: bool) -> tzinfo | None:
        if self.found["offset"]:
            return _fixed(self.found["offset"])
        name = self.found["zone"] or self.found["name"]
        if name:
            return _named_zone(name.strip())
        # A day alone is written by gateways, which count in UTC.
        return UTC if dated else self.home

    def _days(self, today: date) -> Iterator[date]:
        """Yield the days it can mean, earliest first."""
        found = self.found
        if found["iso"]:
            yield date.fromisoformat(found["iso"])
        elif found["month3"]:
            numbers = int(found["month3"]), int(found["day3"])
            month, day = numbers if numbers[0] <= len(_MONTHS) else numbers[::-1]
            yield from _same_day(today, month, day, found["year3"])
        elif self._has_date:
            month = _MONTHS.index((found["month"] or found["month2"]).lower()) + 1
            day = int(found["day"] or found["day2"])
            yield from _same_day(today, month, day, found["year"])
        elif found["weekday"]:
            ahead = (_WEEKDAYS.index(found["weekday"].lower()) - today.weekday()) % _WEEK_DAYS
            yield today + timedelta(ahead)
            yield today + timedelta(ahead + _WEEK_DAYS)
        elif found["relative"]:
            yield today + timedelta(found["relative"].lower() == "tomorrow")
        else:
            yield today
            yield today + timedelta(1)


def _same_day(today: date, month: int, day: int, year: str | None) -> Iterator[date]:
    if year:
        yield date(int(year), month, day)
        return
    # Last year's is the right one for «Dec 31» that is read on the first of January.
    for candidate in range(today.year - 1, today.year + _LEAP_CYCLE_YEARS + 1):
        try:
            yield date(candidate, month, day)
        except ValueError:
            continue


def _moments(day: date, clock: time, zone: tzinfo) -> Iterator[datetime]:
    """Yield the instants, in UTC, of a wall-clock time: two when the clocks go back.

    A time that the clocks skip is taken as the one that its old offset gives, after the gap.
    """
    first = datetime.combine(day, clock, zone)
    second = first.replace(fold=1)
    yield first.astimezone(UTC)
    # In a gap the two differ as well, and the second lies before it.
    if second.astimezone(UTC) > first.astimezone(UTC):
        yield second.astimezone(UTC)


def _named_zone(name: str) -> tzinfo | None:
    """Return the zone of this name, None for one that nobody knows."""
    if _OFFSET.fullmatch(name):
        return _fixed(name)
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        # OSError: a name such as «America» is a folder of the time zone database.
        return None


def _fixed(text: str) -> tzinfo:
    found = _OFFSET.fullmatch(text)
    if found is None or found[1] is None:
        return UTC
    offset = timedelta(hours=int(found[2]), minutes=int(found[3] or 0))
    return timezone(-offset if found[1] == "-" else offset)
