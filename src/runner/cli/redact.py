"""Take credentials out of what is written down.

Two kinds are known: the values of the environment's credential variables, wherever they turn up,
and strings that have the form of a key. What is neither can't be told from ordinary text.
"""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from runner.config.names import looks_secret
from runner.security.environment import is_secret_name

REDACTED = "[redacted]"

_SHORTEST_SECRET = 8
"""A shorter value is as likely to be an ordinary word, and would cut up the whole log."""

_FORMS = (
    r"sk-[A-Za-z0-9_-]{20,}",
    r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}",
    r"gh[oprsu]_[A-Za-z0-9]{20,}",
    r"github_pat_[A-Za-z0-9_]{20,}",
    r"glpat-[A-Za-z0-9_-]{20,}",
    r"(?:AKIA|ASIA)[0-9A-Z]{16}",
    r"AIza[A-Za-z0-9_-]{35}",
    r"xox[a-z]-[A-Za-z0-9-]{10,}",
    r"npm_[A-Za-z0-9]{36}",
    r"pypi-[A-Za-z0-9_-]{40,}",
    r"hf_[A-Za-z0-9]{30,}",
    r"eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
    r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,30}PRIVATE KEY-----|\Z)",
)
_KEY = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(_FORMS)})", re.DOTALL)
_HEADER = re.compile(
    r"(authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:bearer|basic)\s{1,3})[^\s\"',]+", re.IGNORECASE
)
_ASSIGNED = re.compile(
    r"((?:api[_-]?key|token|secret|passw(?:or)?d)[\"']?\s{0,3}[:=]\s{0,3}[\"']?)"
    r"(?=[^\s\"']{0,40}\d)[A-Z0-9+/_=-]{16,}",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"(://)[^/\s:@]{1,200}:[^/\s@]{1,200}(?=@)")
_AFTER_A_LEAD = (_HEADER, _ASSIGNED, _ADDRESS)


class Redactor:
    """Replaces credentials in texts.

    Args:
        environ: where the values of credential variables are found.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        values = {
            form: name
            for name, value in environ.items()
            if _holds_credential(name) and len(value.strip()) >= _SHORTEST_SECRET
            for form in (value.strip(), quote(value.strip(), safe=""))
        }
        self._names = values
        # The longest first, so that a key that begins with another is not left half.
        alternatives = "|".join(map(re.escape, sorted(values, key=len, reverse=True)))
        self._values = re.compile(alternatives) if values else None

    def text(self, text: str) -> str:
        """Return `text` without credentials; a variable's value is replaced by its name."""
        if self._values is not None:
            text = self._values.sub(self._named, text)
        text = _KEY.sub(REDACTED, text)
        for form in _AFTER_A_LEAD:
            text = form.sub(rf"\1{REDACTED}", text)
        return text

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


def _holds_credential(name: str) -> bool:
    if looks_secret(name) or "PASSW" in name.upper():
        return True
    # ANTHROPIC_BASE_URL and ANTHROPIC_MODEL are no secrets, and stand in every log.
    return is_secret_name(name) and not name.upper().startswith("ANTHROPIC_")
