"""Notice that SPEC.md is not the text any more that the deliverables were planned from."""

import hashlib
import json
from contextlib import suppress
from pathlib import Path

from runner.errors import PrerequisiteError, StateError
from runner.files import read_regular, write_atomic

_SPEC_NAME = "SPEC.md"
_LIMIT_BYTES = 16 * 1024 * 1024


class SpecText:
    """The text of SPEC.md, and a note of the one that was planned from.

    Args:
        project_dir: the project.
    """

    def __init__(self, project_dir: Path) -> None:
        self._path = project_dir / _SPEC_NAME
        self._note = project_dir / ".runner" / "autonomy" / "spec-text.json"

    @property
    def is_noted(self) -> bool:
        """Whether a run or a sync has worked here."""
        return self._note.is_file()

    @property
    def noted(self) -> str | None:
        """What identifies the text that was planned from; None where that is not known."""
        with suppress(OSError, ValueError, TypeError, KeyError):
            digest = json.loads(read_regular(self._note, limit=4096))["sha256"]
            return digest if isinstance(digest, str) else None
        return None

    def seems_edited(self) -> bool:
        """Whether the text differs from a noted one. Writes nothing; False where it can't be told."""
        with suppress(PrerequisiteError):
            return self.noted not in (None, self.digest())
        return False

    def digest(self) -> str:
        """Return what identifies the text as it is now.

        Raises:
            PrerequisiteError: it can't be read.
        """
        try:
            return hashlib.sha256(read_regular(self._path, limit=_LIMIT_BYTES)).hexdigest()
        except OSError as error:
            raise PrerequisiteError(
                f"{self._path} can't be read: {error.strerror or error}.",
                hint="Bring it back, then run again.",
            ) from error

    def note(self, digest: str) -> None:
        """Note the text that the deliverables are planned from.

        Raises:
            StateWriteError: it can't be written.
        """
        self._note.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(self._note, json.dumps({"sha256": digest}) + "\n")

    def changed(self) -> bool:
        """Whether the text differs from the noted one; without a note, it is noted now.

        Raises:
            StateError: the note can't be used.
        """
        digest = self.digest()
        try:
            noted = json.loads(read_regular(self._note, limit=4096))["sha256"]
        except FileNotFoundError:
            self.note(digest)
            return False
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise StateError(
                f"{self._note} can't be used.",
                hint="Remove it; `runner sync` then compares plan and SPEC.md.",
            ) from error
        return bool(noted != digest)
