"""What the control plane keeps outside the workspace, where an agent's sandbox can't write."""

import base64
import contextlib
import hmac
import os
import secrets
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from runner.autonomy.store.anchors import Anchors
from runner.autonomy.store.keyring import KeyRing
from runner.autonomy.store.layout import STATE_DIR_VARIABLE
from runner.errors import PrerequisiteError, StateCorruptError, StateError, StateWriteError
from runner.files import read_regular, write_error

# The key lies outside the project. The seal is also bound to the place of the workspace, so that
# a session which was driven elsewhere can't be brought in.
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


_NAME = "autonomy.key"
_BYTES = 32
_MAX_BYTES = 1024
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def load_key(directory: Path) -> bytes:
    """Return the secret in `directory`, creating it if necessary.

    When many processes make it at once, one wins and all return the same.

    Raises:
        StateCorruptError: the file there is no secret of ours.
        StateError: it can't be read, or not be made.
    """
    path = directory / _NAME
    try:
        return _read(path)
    except FileNotFoundError:
        _create(path)
        return _read(path)


def _read(path: Path) -> bytes:
    try:
        text = read_regular(path, limit=_MAX_BYTES).decode("ascii", "replace").strip()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StateError(
            f"{path} can't be read: {error.strerror}.",
            hint="It must be a file that only you can read: check its owner, permissions and kind.",
        ) from error
    with contextlib.suppress(ValueError):
        key = bytes.fromhex(text)
        if len(key) == _BYTES:
            return key
    raise StateCorruptError(
        f"{path} is damaged.",
        hint="Restore it. If you can't, remove it: a new one is made, and live sessions must be "
        "reset, since nobody can tell any more who wrote them.",
    )


def _create(path: Path) -> None:
    temporary = path.with_name(f".{_NAME}.{os.urandom(8).hex()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with open(os.open(temporary, _FLAGS, 0o600), "w", encoding="ascii") as file:  # noqa: PTH123
            file.write(secrets.token_hex(_BYTES) + "\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            with contextlib.suppress(FileExistsError):
                path.hardlink_to(temporary)
        finally:
            temporary.unlink()
    except OSError as error:
        raise write_error(path, error) from error


STATE_DIR_HINT = (
    f"Set {STATE_DIR_VARIABLE} to a folder outside the project that you can write, and that is "
    "kept from run to run."
)


class Trust:
    """The local secret, and what is made with it or kept beside it.

    Args:
        directory: the user's state folder.

    Attributes:
        keys: what signs gate evidence; `keys.rotate(now)` replaces the signing key.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.keys = KeyRing(directory)

    @cached_property
    def key(self) -> bytes:
        """The local secret, created on first use. Raises StateError."""
        return load_key(self.directory)

    def require_usable(self, workspace: Path) -> None:
        """Check that the secret is there or can be made, and that the project does not hold it.

        Raises:
            PrerequisiteError: it can't be made, or agents of the project could reach it.
            StateError: it can't be read.
        """
        inside = workspace.resolve()
        if self.directory.resolve().is_relative_to(inside):
            raise PrerequisiteError(
                f"The state folder {self.directory} is inside the project, where agents can write.",
                hint=STATE_DIR_HINT,
            )
        try:
            _ = self.key
        except StateWriteError as error:
            raise PrerequisiteError(error.message, hint=STATE_DIR_HINT) from error

    def sealer(self, workspace: Path) -> Sealer:
        return Sealer(lambda: self.key, str(workspace.resolve()))

    def anchors(self, workspace: Path) -> Anchors:
        return Anchors(self.directory, str(workspace.resolve()))
