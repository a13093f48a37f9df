"""The keys that sign gate evidence: named, rotated, kept beside the local secret (ADR-0025).

The newest key that is not retired signs, for a month; then its successor does. A retired key
still verifies what it signed before, as long as any evidence can live, and is then forgotten.
"""

import json
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError
from ulid import ULID

from runner.errors import StateCorruptError, StateError
from runner.files import locked, read_regular, write_atomic, write_error

_NAME = "evidence-keys.json"
LIFETIME = timedelta(days=30)
"""How long a key signs unless it is rotated earlier."""

_LONGEST_TTL = timedelta(minutes=100_000)  # what gate_nonce_ttl_minutes can be at most
_LOCK_SECONDS = 5.0
_MAX_BYTES = 16 * 1024 * 1024


class EvidenceKey(BaseModel):
    """A key; `secret` is 32 bytes in hex and goes nowhere but into HMACs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, Field(pattern=r"^key_[0-9A-HJKMNP-TV-Z]{26}$")]
    created_at: AwareDatetime
    retired_at: AwareDatetime | None = None
    secret: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", repr=False)]

    def signs_at(self, moment: datetime) -> bool:
        """Whether evidence of that moment can come from this key."""
        return self.retired_at is None or moment <= self.retired_at


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    schema_version: Annotated[int, Field(alias="_schema_version", ge=1, le=1)] = 1
    keys: tuple[EvidenceKey, ...]


class KeyRing:
    """The keys of one user.

    Args:
        directory: the user's state folder.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / _NAME

    def current(self, now: datetime) -> EvidenceKey:
        """Return the signing key; a new one is made when there is none or it is too old.

        Raises StateError.
        """
        key = _signing(self.keys())
        return key if key is not None and _is_young(key, now) else self._add(now, keep=True)

    def find(self, key_id: str) -> EvidenceKey | None:
        """Return a key by its id, None when it is unknown. Raises StateError."""
        return next((key for key in self.keys() if key.id == key_id), None)

    def rotate(self, now: datetime) -> EvidenceKey:
        """Retire the signing key and return its successor. Raises StateError."""
        return self._add(now, keep=False)

    def keys(self) -> tuple[EvidenceKey, ...]:
        """Return all keys, the oldest first.

        Raises:
            StateCorruptError: the file is damaged. It is not replaced in silence.
            StateError: it can't be read.
        """
        try:
            return _Document.model_validate_json(read_regular(self._path, limit=_MAX_BYTES)).keys
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise StateError(
                f"{self._path} can't be read: {error.strerror}.",
                hint="It must be a file that only you can read: check its owner, permissions and kind.",
            ) from error
        except ValidationError as error:
            raise StateCorruptError(
                f"{self._path} is damaged.",
                hint="Remove it; new keys are made, and outstanding reviews must be run again.",
            ) from error

    def _add(self, now: datetime, *, keep: bool) -> EvidenceKey:
        """Add a signing key, unless, with `keep`, another process has just done so."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise write_error(self._path, error) from error
        with locked(self._path.with_suffix(".lock"), _LOCK_SECONDS):
            known = self.keys()
            signing = _signing(known)
            if keep and signing is not None and _is_young(signing, now):
                return signing
            new = EvidenceKey(id=f"key_{ULID()}", created_at=now, secret=secrets.token_hex(32))
            self._write((*_retired(known, now), new))
        return new

    def _write(self, keys: tuple[EvidenceKey, ...]) -> None:
        document = _Document(keys=keys).model_dump(mode="json", by_alias=True)
        write_atomic(self._path, json.dumps(document, indent=2) + "\n", mode=0o600)


def _signing(keys: Iterable[EvidenceKey]) -> EvidenceKey | None:
    return next((key for key in reversed(tuple(keys)) if key.retired_at is None), None)


def _is_young(key: EvidenceKey, now: datetime) -> bool:
    return now - key.created_at < LIFETIME


def _retired(keys: Iterable[EvidenceKey], now: datetime) -> Iterable[EvidenceKey]:
    """Retire what still signs, and leave out what can verify nothing any more."""
    for key in keys:
        if key.retired_at is None:
            yield key.model_copy(update={"retired_at": now})
        elif now - key.retired_at <= _LONGEST_TTL:
            yield key
