"""Take credentials out of what is written down: logs, reports, notifications.

What one looks like is said in `runner.credentials`; recordings are cleaned by the same tables.
"""

import re
from collections.abc import Mapping
from typing import Any

from runner.credentials import environment_secrets, forms_of, without_shapes

REDACTED = "[redacted]"


class Redactor:
    """Replaces credentials in texts.

    Args:
        environ: where the values of credential variables are found.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        secrets = environment_secrets(environ)
        self._names = {form: name for value, name in secrets.items() for form in forms_of(value)}
        # The longest first, so that a key that begins with another is not left half.
        alternatives = "|".join(map(re.escape, sorted(self._names, key=len, reverse=True)))
        self._values = re.compile(alternatives) if self._names else None

    def text(self, text: str) -> str:
        """Return `text` without credentials; a variable's value is replaced by its name."""
        if self._values is not None:
            text = self._values.sub(self._named, text)
        return without_shapes(text, lambda _: REDACTED)

    def value(self, value: Any) -> Any:
        """Return a JSON value whose texts, keys included, hold no credentials."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(str(key)): self.value(entry) for key, entry in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(entry) for entry in value]
        return value

    def _named(self, found: re.Match[str]) -> str:
        return f"[redacted: {self._names[found.group()]}]"
