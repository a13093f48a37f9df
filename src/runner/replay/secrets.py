"""Take secrets out of what is recorded: those that this machine holds, and what looks like one."""

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice

from runner.credentials import SHORTEST, environment_secrets, forms_of, without_shapes

MASK = "[secret]"
"""What stands in place of the first secret; the others are numbered, `[secret 2]`."""

ANY_MASK = re.compile(r"\[secret(?: [0-9]+)?\]")
# A word with a number behind it, like a version, may well stand elsewhere and be no secret there.
_WORD_AND_NUMBER = re.compile(r"[A-Za-z]+[0-9.]*|[0-9.]+[A-Za-z]*")
_LONGEST = 20_000  # no key is longer; a file that looks like one is taken out where it stands


def secret_values(environ: Mapping[str, str]) -> set[str]:
    """Return the values of the variables whose name says that they are secret."""
    return set(environment_secrets(environ))


class Scrubber:
    """Replaces secrets by masks. What it returns, it returns unchanged a second time.

    Two secrets have two masks: a program that is tested with a right and a wrong password finds
    them different in a replay, too. Safe to use from many threads.

    Args:
        values: the secrets that are known.
        learns: whether what looks like a secret in one text is one in every text afterwards.
    """

    def __init__(self, values: Iterable[str] = (), *, learns: bool = False) -> None:
        self._lock = threading.RLock()
        self._learns = learns
        self._known = _Known()
        self._numbers: dict[str, int] = {}
        self._values: dict[str, None] = {}
        self.learn(*values)

    @property
    def knows(self) -> int:
        """How many secrets are known; it only grows."""
        return len(self._values)

    def learn(self, *values: str) -> None:
        """Take these as secrets from now on; values of less than 8 characters are not."""
        with self._lock:
            for value in sorted(set(values)):
                if len(value) >= SHORTEST and value not in self._values:
                    self._values[value] = None
                    self._known.add(value)

    def finder(self, since: int) -> Callable[[str], bool]:
        """Return what says of a text whether a secret is in it that became known lately.

        Args:
            since: how many were known before.
        """
        known = _Known()
        with self._lock:
            for value in islice(self._values, since, None):
                known.add(value)
        return known.is_in

    def __call__(self, text: str) -> str:
        """Return the text without secrets."""
        with self._lock:
            before = None
            while text != before:
                before = text
                text = without_shapes(self._known.replaced(text, self._mask), self._found)
        return text

    def _found(self, secret: str) -> str:
        if self._learns and _can_be_learned(secret):
            self.learn(secret)
        return self._mask(secret)

    def _mask(self, secret: str) -> str:
        number = self._numbers.setdefault(secret, len(self._numbers) + 1)
        return MASK if number == 1 else f"{MASK[:-1]} {number}]"


class _Known:
    """Finds known secrets in however many forms; what that takes does not depend on how many."""

    def __init__(self) -> None:
        self._forms: dict[str, dict[str, str]] = {}

    def add(self, value: str) -> None:
        """Find this secret from now on."""
        for form in forms_of(value):
            forms = self._forms.setdefault(form[:SHORTEST], {})
            if form not in forms:
                forms[form] = value
                # The longest first, so that a key that begins with another is not left half.
                ordered = sorted(forms.items(), key=lambda item: (-len(item[0]), item[0]))
                self._forms[form[:SHORTEST]] = dict(ordered)

    def is_in(self, text: str) -> bool:
        """Whether a secret stands in the text."""
        return next(self._places(text), None) is not None

    def replaced(self, text: str, mask: Callable[[str], str]) -> str:
        """Return the text with what `mask` returns in place of each secret."""
        parts: list[str] = []
        done = 0
        for start, form, value in self._places(text):
            if start >= done:
                parts += (text[done:start], mask(value))
                done = start + len(form)
        return "".join((*parts, text[done:])) if parts else text

    def _places(self, text: str) -> Iterator[tuple[int, str, str]]:
        if not self._forms:
            return
        heads = self._forms
        ends = range(SHORTEST, len(text) + 1)
        for start in [end - SHORTEST for end in ends if text[end - SHORTEST : end] in heads]:
            for form, value in heads[text[start : start + SHORTEST]].items():
                if text.startswith(form, start):
                    yield start, form, value
                    break


def _can_be_learned(secret: str) -> bool:
    return SHORTEST <= len(secret) <= _LONGEST and not _WORD_AND_NUMBER.fullmatch(secret)
