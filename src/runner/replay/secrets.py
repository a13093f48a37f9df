"""Take secrets out of what is recorded: those that this machine holds, and what looks like one."""

import re
import threading
from collections.abc import Iterable, Mapping

from runner.credentials import SHORTEST, environment_secrets, forms_of, without_shapes

MASK = "[secret]"
"""What stands in place of the first secret; the others are numbered, `[secret 2]`."""

ANY_MASK = re.compile(r"\[secret(?: [0-9]+)?\]")
# A word with a number behind it, like a version, may well stand elsewhere and be no secret there.
_WORD_AND_NUMBER = re.compile(r"[A-Za-z]+[0-9.]*|[0-9.]+[A-Za-z]*")


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
        self._forms: dict[str, str] = {}
        self._numbers: dict[str, int] = {}
        self._values: set[str] = set()
        self._known: re.Pattern[str] | None = None
        self.learn(*values)

    @property
    def knows(self) -> int:
        """How many secrets are known; it only grows."""
        return len(self._values)

    def learn(self, *values: str) -> None:
        """Take these as secrets from now on; values of less than 8 characters are not."""
        new = {value for value in values if len(value) >= SHORTEST}
        with self._lock:
            if new <= self._values:
                return
            for value in sorted(new - self._values):
                for form in forms_of(value):
                    self._forms.setdefault(form, value)
            self._values |= new
            longest_first = sorted(self._forms, key=lambda form: (-len(form), form))
            self._known = re.compile("|".join(map(re.escape, longest_first)))

    def __call__(self, text: str) -> str:
        """Return the text without secrets."""
        with self._lock:
            before = None
            while text != before:
                before = text
                if self._known is not None:
                    text = self._known.sub(lambda match: self._mask(self._forms[match[0]]), text)
                text = without_shapes(text, self._found)
        return text

    def _found(self, secret: str) -> str:
        if self._learns and len(secret) >= SHORTEST and not _WORD_AND_NUMBER.fullmatch(secret):
            self.learn(secret)
        return self._mask(secret)

    def _mask(self, secret: str) -> str:
        number = self._numbers.setdefault(secret, len(self._numbers) + 1)
        return MASK if number == 1 else f"{MASK[:-1]} {number}]"
