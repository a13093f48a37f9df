"""The seal of a session file: an HMAC over its bytes, so that no edit goes unnoticed (ADR 0140).

The key lies outside the project. The seal is also bound to the place of the workspace, so that
a session which was driven elsewhere can't be brought in.
"""

import base64
import hmac
from collections.abc import Callable

_PREFIX = b'{"_seal":"'
_LENGTH = 43  # SHA-256 in base64 without padding
_START = len(_PREFIX) + _LENGTH
_BODY = _START + 2  # after `",`


class Sealer:
    """Seals the files of one workspace.

    Args:
        key: returns the local secret; called when it is first needed.
        place: the workspace's resolved path.
    """

    def __init__(self, key: Callable[[], bytes], place: str) -> None:
        self._key = key
        self._context = b"session-state\0" + place.encode("utf-8", "surrogatepass") + b"\0"

    def close(self, content: bytes) -> bytes:
        """Return the JSON object with its seal as the first member."""
        return _PREFIX + self._seal(content) + b'",' + content[1:]

    def open(self, sealed: bytes) -> bytes | None:
        """Return the JSON object without its seal, None when the seal is missing or wrong."""
        if not sealed.startswith(_PREFIX) or sealed[_START:_BODY] != b'",':
            return None
        content = b"{" + sealed[_BODY:]
        fits = hmac.compare_digest(sealed[len(_PREFIX) : _START], self._seal(content))
        return content if fits else None

    def _seal(self, content: bytes) -> bytes:
        digest = hmac.digest(self._key(), self._context + content, "sha256")
        return base64.urlsafe_b64encode(digest).rstrip(b"=")
