"""Take secrets out of text: values that this machine holds, and whatever looks like a key."""

import base64
import json
import re
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import quote

MASK = "[secret]"
"""What stands in place of a secret."""

_FOR_URLS = str.maketrans("+/", "-_")
_MIN_LENGTH = 8  # shorter values are words that stand in any text
_SECRET_NAME = re.compile(
    r"TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY"
    r"|_(?:KEY|PASS|PWD|AUTH)$",
    re.IGNORECASE,
)
# Named by what they unlock. A group stays: it says what stood there.
_SHAPES = (
    r"()sk-[A-Za-z0-9_-]{16,}",  # Anthropic (sk-ant-…) and others
    r"()(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9+/=]{16,}",  # Stripe
    r"()gh[pousr]_[A-Za-z0-9]{20,}",  # GitHub
    r"()github_pat_\w{20,}",
    r"()glpat-[\w-]{16,}",  # GitLab
    r"()xox[abeoprs]-[\w-]{10,}",  # Slack
    r"()(?:AKIA|ASIA)[A-Z0-9]{16}",  # AWS
    r"()AIza[\w-]{30,}",  # Google
    r"()(?:npm|hf|pypi|dop_v1|rk_live|rk_test)[_-][A-Za-z0-9_-]{24,}",
    r"()eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*",  # a JSON web token
    r"((?i:\bbearer )\s*)[A-Za-z0-9._~+/=-]{8,}",
    r"((?i:\bx-api-key:)\s*)[^\s\"'\[]{8,}",
    r"((?i:\bauthorization:)\s*(?i:(?:basic|token) )\s*)[A-Za-z0-9+/=]{8,}",
    r"(\b[a-z][a-z0-9+.-]{0,20}://[^\s/:@]*:)[^\s/@\[]+(?=@)",  # a password in an address
    r"()-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
)
_SHAPE = tuple(re.compile(shape, re.DOTALL) for shape in _SHAPES)


def secret_values(environ: Mapping[str, str]) -> set[str]:
    """Return the values of the variables whose name says that they are secret.

    A value that is the path of something that exists says where a secret is; it is none.
    """
    return {
        value
        for name, value in environ.items()
        if _SECRET_NAME.search(name) and len(value) >= _MIN_LENGTH and not _is_path(value)
    }


class Scrubber:
    """Replaces secrets by MASK. What it returns, it returns unchanged a second time.

    Args:
        values: the secrets that are known.
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._lock = threading.Lock()
        self._values: set[str] = set()
        self._known: re.Pattern[str] | None = None
        self.learn(*values)

    def learn(self, *values: str) -> None:
        """Take these as secrets from now on; values of less than 8 characters are not."""
        new = {value for value in values if len(value) >= _MIN_LENGTH}
        with self._lock:
            if new <= self._values:
                return
            self._values |= new
            forms = {form for value in self._values for form in _forms(value)}
            longest_first = sorted(forms, key=lambda form: (-len(form), form))
            self._known = re.compile("|".join(map(re.escape, longest_first)))

    def __call__(self, text: str) -> str:
        """Return the text without secrets."""
        if self._known is not None:
            text = self._known.sub(MASK, text)
        for shape in _SHAPE:
            text = shape.sub(rf"\1{MASK}", text)
        return text


def _forms(value: str) -> set[str]:
    """Return the ways in which a secret may be written.

    A secret of several lines is also one by its lines: tools number and indent them.
    """
    raw = value.encode(errors="replace")
    forms = {value, quote(value, safe=""), quote(value), json.dumps(value)[1:-1], raw.hex()}
    forms.update(filter(_is_long, value.splitlines()))
    for before in range(3):  # as part of something that is base64 as a whole
        code = base64.b64encode(b"\0" * before + raw)[2 * before :].decode().rstrip("=")
        code = code[:-1] if (before + len(raw)) % 3 else code
        forms |= {code, code.translate(_FOR_URLS)}
    return {form for form in forms if len(form) >= _MIN_LENGTH}


def _is_long(line: str) -> bool:
    return len(line) >= 2 * _MIN_LENGTH


def _is_path(value: str) -> bool:
    try:
        return value.startswith("/") and Path(value).exists()
    except (OSError, ValueError):
        return False
