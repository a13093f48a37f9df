"""What a recording keeps of a text: no secrets, no paths of this machine.

Two forms: *portable* text can be played again, with placeholders where paths were; a
*comparable* one is only compared, and has neither times nor ids.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from runner.replay.places import Placer, Places, without_forms
from runner.replay.script import escape
from runner.replay.secrets import Scrubber, secret_values
from runner.replay.wire import without_reminders

_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_CLOCK = r"\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?"
_HASH = r"[0-9a-f]{7,64}"

_DATE = (
    rf"(?:{_DAY},? )?(?:{_MONTH} {{1,2}}\d{{1,2}}|\d{{1,2}} {_MONTH}(?= \d{{4}}))"
    rf"(?:,? {{1,2}}\d{{4}})?(?: {_CLOCK})?(?: [AP]M)?(?: [A-Z]{{3,4}}(?= \d{{4}}))?(?: \d{{4}})?(?: [+-]\d{{4}})?"
)

# Each stands between characters of no word, so that no replacement makes room for another.
_TABLE = (
    # 20261122T020042Z, and as the name of a run and of its log: 20261122T020042Z-run-1234
    (r"\d{8}T\d{6}Z(?:(?:-[a-z]+)?-\d+)?", "<time>"),
    # 2026-11-22, 2026-11-22T02:00:42.123Z, 2026-11-22 02:00:42 +0000
    (rf"\d{{4}}-\d\d-\d\d(?:[T ]{_CLOCK}(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?)?", "<time>"),
    # Sun Nov 22 02:00:42 UTC 2026; 22 Nov 2026; Nov 22 02:00
    (_DATE, "<time>"),
    (r"\d{1,2}:\d\d:\d\d(?:[.,]\d+)?", "<time>"),
    # Seconds or milliseconds since 1970, from 2017 on.
    (r"1[5-9]\d{8}(?:\.\d+)?|1[5-9]\d{11}", "<time>"),
    (r"\d+m\d+(?:\.\d+)?s", "<duration>"),
    (r"\d+(?:\.\d+)? ?(?:ns|[uµ]s|ms|s|secs?|seconds?|mins?|minutes?)", "<duration>"),
    (r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}", "<id>"),
    (r"0x[0-9a-f]{6,16}", "<address>"),
    # Digits alone may be any number; where git writes hashes, they are one.
    (rf"(?=[0-9]*[a-f])(?=[a-f]*[0-9]){_HASH}", "<hash>"),
)
_ULID = re.compile(r"(?<![A-Za-z0-9])[0-7][0-9A-HJKMNP-TV-Z]{25}(?![A-Za-z0-9])")
_IN_CONTEXT = (
    # ls -l: what the folder above has, who owns what, and what a file system makes of sizes
    (r"^d[-rwxsStT]{9}[.+@]? .* \.\.$", "<parent>"),
    (r"^(d[-rwxsStT]{9})[.+@]? +\d+ +\S+ +\S+ +\d+(?!\w)", r"\1 <owner>"),
    (r"^([-lcbps][-rwxsStT]{9})[.+@]? +\d+ +\S+ +\S+", r"\1 <owner>"),
    (r"^total \d+[KMG]?$", "total <size>"),
    (rf"(\[[^\]\n]{{1,200}} ){_HASH}(?=\])", r"\1<hash>"),  # [main 1234567] a commit
    (r"^()[0-9a-f]{7,12}(?= )", r"\1<hash>"),  # the start of git log --oneline
    (rf"(\bindex ){_HASH}\.\.{_HASH}(?!\w)", r"\1<hash>..<hash>"),
    (r"(\b(?i:pid|process)\"?(?:: ?| |=))\d+\b", r"\1<pid>"),
    (r"^(\[\d+\] )\d+$", r"\1<pid>"),  # a job that the shell put in the background
    (r"((?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\]):)\d{5}(?!\w)", r"\1<port>"),
    (r"(\b(?i:port)(?:: ?| |=))\d{5}(?!\w)", r"\1<port>"),
    (r"(\bbackground with ID: )\w+", r"\1<id>"),
    (r"(?<![\w}>.])((?:/private)?(?:/var/folders/\w+/\w+/T|/var/tmp|/tmp)/)[\w.-]+", r"\1<name>"),
)

_ALONE = tuple((re.compile(rf"(?<!\w)(?:{what})(?!\w)"), name) for what, name in _TABLE)
_CONTEXT = tuple((re.compile(what, re.MULTILINE), name) for what, name in _IN_CONTEXT)


def without_volatile(text: str) -> str:
    """Return the text with names in place of what is different each time.

    What it returns, it returns unchanged a second time.
    """
    text = _ULID.sub("<id>", text)
    for pattern, name in (*_ALONE, *_CONTEXT):
        text = pattern.sub(name, text)
    return text


# Characters of a compared text that are kept: more than the agent leaves of an output it cuts.
_LIMIT = 40_000
_LETTERS = str.maketrans("0123456789abcdef", "ghijklmnopqrstuv")


class Cleaner:
    """Cleans texts. Safe to use from many threads.

    Args:
        scrub: takes out the secrets.
    """

    def __init__(self, places: Places, scrub: Scrubber) -> None:
        self._scrub = scrub
        self._place = Placer(places)

    @classmethod
    def here(
        cls, project: Path | None, environ: Mapping[str, str], *, learns: bool = False
    ) -> "Cleaner":
        """Return one for this machine, with the secrets that its environment names.

        Args:
            learns: whether a secret that is seen once is known in every text afterwards.
        """
        scrub = Scrubber(secret_values(environ), learns=learns)
        return cls(Places.here(project, environ), scrub)

    @property
    def knows(self) -> int:
        """How many secrets are known; it only grows."""
        return self._scrub.knows

    def learn_secrets(self, *values: str) -> None:
        """Take these as secrets from now on."""
        self._scrub.learn(*values)

    def portable(self, text: str) -> str:
        """Return the text as a script has it; what reads like a placeholder is escaped."""
        return self._place(escape(self._scrub(_encodable(text))))

    def portable_json(self, value: Any) -> Any:
        """Return a JSON value with every text in it, names included, portable."""
        return _each_text(value, self.portable)

    def scrubbed(self, value: Any) -> Any:
        """Return a JSON value with every text in it, names included, without secrets."""
        return _each_text(value, self._scrub)

    def forgetting(self, since: int) -> Callable[[Any], Any]:
        """Return what takes out of JSON values of cleaned texts the secrets found since then.

        Args:
            since: how many were known when the texts were cleaned.
        """
        concerns = self._scrub.finder(since)
        return lambda value: _each_text(
            value, lambda text: self._scrub(text) if concerns(text) else text
        )

    def comparable(self, text: str) -> str:
        """Return what of the text has to be the same in every replay."""
        return _cut(self.settled(without_reminders(_encodable(text)).strip()))

    def settled(self, text: str) -> str:
        """Return a text that was made comparable on another machine as this one makes it."""
        before = None
        while text != before:  # each step leaves less for the next
            before = text
            text = without_volatile(without_forms(self._place(self._scrub(text))))
        return text


def _each_text(value: Any, clean: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list | tuple):
        return [_each_text(item, clean) for item in value]
    if not isinstance(value, dict):
        return value
    cleaned: dict[str, Any] = {}
    for key, item in value.items():
        name = wanted = clean(key)
        number = 1
        while name in cleaned:  # two secrets as names must not become one
            number += 1
            name = f"{wanted} ({number})"
        cleaned[name] = _each_text(item, clean)
    return cleaned


def _encodable(text: str) -> str:
    """JSON can carry half of a character, a file can't."""
    return text.encode(errors="replace").decode()


def _cut(text: str) -> str:
    if len(text) <= _LIMIT:
        return text
    # In letters, so that it never looks like one of the hashes that are taken out.
    digest = hashlib.sha256(text.encode()).hexdigest()[:16].translate(_LETTERS)
    return f"{text[:_LIMIT]}… ({len(text) - _LIMIT} more characters, {digest})"
