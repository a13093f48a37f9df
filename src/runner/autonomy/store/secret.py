"""The local secret that tokens are derived with: one per user, made once (DESIGN §6)."""

import contextlib
import os
import secrets
from pathlib import Path

from runner.errors import StateCorruptError, StateError
from runner.files import read_regular, write_error

_NAME = "autonomy.key"
_BYTES = 32
_MAX_BYTES = 1024
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def load_key(directory: Path) -> bytes:
    """Return the secret in `directory`, making it when there is none.

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
