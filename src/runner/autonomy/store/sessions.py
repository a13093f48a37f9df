"""Session files: read, migrated, written in one piece."""

import json
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from runner.autonomy.enums import SCHEMA_VERSION
from runner.autonomy.migrations import MigrationError, migrate
from runner.autonomy.models import SessionState
from runner.autonomy.store.layout import Layout, is_session_id
from runner.errors import StateCorruptError, StateError
from runner.files import write_atomic, write_error


class SessionFiles:
    """The session files of one workspace. Locking is the caller's business."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def read(self, session_id: str) -> SessionState | None:
        """Return the session, None when there is no such file.

        Raises:
            StateCorruptError: the file is damaged or belongs to another session.
            MigrationError: it has a schema that this program can't bring to its own.
            StateError: it can't be read.
        """
        path = self._layout.session(session_id)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StateError(f"{path} can't be read: {error.strerror}.") from error
        state = parse_state(content, path)
        if state.id != session_id:
            raise StateCorruptError(f"{path} holds another session, {state.id}.")
        return state

    def write(self, state: SessionState) -> None:
        """Replace the session's file. Raises StateWriteError; the old state stands then."""
        path = self._layout.session(state.id)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise write_error(path, error) from error
        write_atomic(path, state.model_dump_json(by_alias=True))

    def delete(self, session_id: str) -> None:
        """Remove the session's file, if it is there. Raises StateWriteError."""
        path = self._layout.session(session_id)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise write_error(path, error) from error

    def exists(self, session_id: str) -> bool:
        return self._layout.session(session_id).exists()

    def ids(self) -> Iterator[str]:
        """Yield the ids of all sessions, in no particular order."""
        if not self._layout.sessions.is_dir():
            return
        for path in self._layout.sessions.iterdir():
            if path.suffix == ".json" and is_session_id(path.stem):
                yield path.stem


def parse_state(content: bytes, path: Path) -> SessionState:
    """Return the session that a file's bytes say, migrated to the current schema."""
    try:
        state = SessionState.model_validate_json(content)
    except ValidationError:
        return _parse_slowly(content, path)
    return state if state.schema_version == SCHEMA_VERSION else _parse_slowly(content, path)


def _parse_slowly(content: bytes, path: Path) -> SessionState:
    """Find out what is wrong with a file, or bring an old one up to date."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise StateCorruptError(f"{path} is damaged: it is no JSON.") from error
    if not isinstance(document, dict):
        raise StateCorruptError(f"{path} is damaged: it is no JSON object.")
    try:
        migrated = migrate(document)
    except MigrationError as error:
        raise MigrationError(f"{path}: {error.message}", hint=error.hint) from error
    try:
        return SessionState.model_validate_json(json.dumps(migrated))
    except ValidationError as error:
        place = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise StateCorruptError(f"{path} is damaged: {place or 'a value'} is wrong.") from error
