"""What a recording keeps of a text: no secrets, no paths of this machine.

Two forms: *portable* text can be played again, with placeholders where paths were; a
*comparable* one is only compared, and has neither times nor ids.
"""

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from runner.replay.places import Placer, Places, without_forms
from runner.replay.script import escape
from runner.replay.secrets import Scrubber, secret_values
from runner.replay.volatile import without_volatile
from runner.replay.wire import without_reminders

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
