"""session list, session events and the journal: what can be read page by page."""

import contextlib
import os
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.core import Answer, Core, failure_reason
from runner.autonomy.engine.lifecycle import finish
from runner.autonomy.engine.turn import Draft, Turn
from runner.autonomy.enums import EntryType, SessionStatus
from runner.autonomy.migrations import MigrationError
from runner.autonomy.models import SessionState
from runner.autonomy.paging import decode_cursor, encode_cursor, pagination
from runner.autonomy.params import EventsParams, JournalAddParams, ListParams
from runner.autonomy.spec.source import CLOCK_TICK_NS
from runner.autonomy.views import failed_view, session_view, summary_view
from runner.errors import StateError

_MAX_OFFSET = 2**62
_BROKEN = (
    "Entries on this page of the journal of {session_id} were changed, lost or added from outside."
)


class _Row(NamedTuple):
    """A session as the list sorts and filters it; a damaged one has no state."""

    updated_at: str
    session_id: str
    state: SessionState | None
    data: dict[str, Any]


class Listing:
    """The commands that read many things. Session files are parsed again only when they change."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._known: dict[str, tuple[tuple[int, ...], _Row]] = {}

    def sessions(self, params: ListParams) -> Answer:
        """List sessions, the last changed first."""
        rows = sorted((r for r in self._rows() if _matches(r, params)), reverse=True, key=_order)
        total = len(rows)
        if params.cursor is not None:
            updated_at, session_id = decode_cursor("sessions", params.cursor, (str, str))
            rows = [row for row in rows if _order(row) < (updated_at, session_id)]
        page = rows[: params.limit]
        cursor = None
        if len(rows) > len(page) and page:
            cursor = encode_cursor("sessions", list(_order(page[-1])))
        now = self._core.clock()
        sessions = [self._summary(row, now) for row in page]
        return Answer({"sessions": sessions}, pagination=pagination(cursor, params.limit, total))

    def latest(self, spec_id: str) -> dict[str, Any] | None:
        """Return the view of the spec's live session, or else of the one that changed last.

        Reads alone, so that it can be asked at any time. A damaged session counts as live.
        Raises OSError.
        """
        rows = [row for row in self._rows() if _spec_of(row) in (None, spec_id)]
        if not rows:
            return None
        chosen = max(rows, key=lambda row: (_is_live(row), _order(row)))
        if chosen.state is None:
            return chosen.data
        state = self._core.store.files.read(chosen.session_id) or chosen.state
        spec, _ = self._core.read_spec(state.spec_id)
        return session_view(self._core.policy.adapted(state), spec, self._core.clock())

    def events(self, params: EventsParams) -> Answer:
        """List a session's journal, newest first (seed 003 WS4)."""
        session_id = params.session_id or self._core.resolve(params)
        self._core.store.heal(session_id)
        end = None
        if params.cursor is not None:
            owner, end = decode_cursor("journal", params.cursor, (str, int))
            if owner != session_id or not 0 <= end < _MAX_OFFSET:
                raise RefusedError(ErrorCode.INVALID_CURSOR, "The cursor is of another journal.")
        try:
            page = self._core.store.journal(session_id).page(params.limit, end)
        except OSError as error:
            raise RefusedError(
                ErrorCode.STATE_UNWRITABLE,
                f"The journal can't be read: {error.strerror}.",
                hint="Check the owner and permissions of .runner/autonomy/journal.",
            ) from error
        if not page.entries and not self._core.store.files.exists(session_id):
            raise RefusedError(ErrorCode.SESSION_NOT_FOUND, "There is no such session.")
        cursor = None
        if page.next_end is not None:
            cursor = encode_cursor("journal", [session_id, page.next_end])
        events = [_event(entry) for entry in page.entries]
        data = {"session_id": session_id, "events": events}
        warnings = () if page.is_chained else (_BROKEN.format(session_id=session_id),)
        return Answer(data, warnings, pagination=pagination(cursor, params.limit))

    def add(self, params: JournalAddParams) -> Answer:
        """Add a note to a session's journal."""
        with self._core.hold(params) as held:
            draft = Draft(EntryType.NOTE, params.title, params.content)
            turn = Turn(state=held.state, spec=None, env=self._core.env(), drafts=(draft,))
            self._core.commit(held, finish(turn, {}))
            data = {
                "session_id": held.state.id,
                "seq": held.state.journal_seq,
                "state_version": held.state.state_version,
            }
            return Answer(data, tuple(held.warnings))

    def _rows(self) -> Iterator[_Row]:
        known: dict[str, tuple[tuple[int, ...], _Row]] = {}
        folder, seen = self._core.store.layout.sessions, set()
        if not folder.is_dir():
            return
        read_at = time.time_ns()
        with os.scandir(folder) as entries:
            for entry in entries:
                name, dot, suffix = entry.name.partition(".")
                if (dot, suffix) != (".", "json") or not name.startswith("auto_"):
                    continue
                found = _stat(entry)
                if found is None:
                    continue
                seen.add(name)
                signature = (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)
                cached = self._known.get(name)
                row = cached[1] if cached and cached[0] == signature else self._read(name)
                if row is None:
                    continue
                if read_at - found.st_mtime_ns > CLOCK_TICK_NS:
                    known[name] = (signature, row)
                yield row
        self._known = known
        for name, _ in self._core.store.anchors.live(besides=seen):  # their files were deleted
            row = self._read(name)
            if row is not None:
                yield row

    def _summary(self, row: _Row, now: datetime) -> dict[str, Any]:
        if row.state is None:
            return row.data
        return summary_view(self._core.policy.adapted(row.state), now)

    def _read(self, session_id: str) -> _Row | None:
        try:
            state = self._core.store.files.read(session_id)
        except RefusedError:
            return None  # a name that is no session id
        except (StateError, MigrationError) as error:
            spec_id = self._core.spec_of(session_id)
            data = failed_view(session_id, spec_id, failure_reason(error), error.message)
            return _Row("", session_id, None, data)
        if state is None:
            return None
        # The list needs a few fields; thousands of whole states would be a burden.
        slim = state.evolve(completed_task_ids=(), last_response=None, last_report=None)
        return _Row(state.updated_at.isoformat(), session_id, slim, {})


def _stat(entry: os.DirEntry[str]) -> os.stat_result | None:
    """Return what is known of a file, None when it has just been removed. Raises OSError."""
    with contextlib.suppress(FileNotFoundError):
        return entry.stat(follow_symlinks=False)
    return None


def _order(row: _Row) -> tuple[str, str]:
    return (row.updated_at, row.session_id)


def _is_live(row: _Row) -> bool:
    return row.state is None or not row.state.status.is_terminal


def _spec_of(row: _Row) -> str | None:
    """Return the spec of a row, None when nobody knows."""
    found: str | None = row.data.get("spec_id") if row.state is None else row.state.spec_id
    return found


def _matches(row: _Row, params: ListParams) -> bool:
    status = SessionStatus.FAILED if row.state is None else row.state.status
    return params.status_filter in (None, status) and params.spec_id in (None, _spec_of(row))


def _event(entry: dict[str, Any]) -> dict[str, Any]:
    """Return one event in the shape that dashboards read."""
    data = _table(entry.get("data"))
    details = _table(data.get("details"))  # of a pause or a failure
    return {
        "event_id": f"{entry.get('session_id')}:{entry.get('seq')}",
        "seq": entry.get("seq"),
        "at": entry.get("at"),
        "event_type": entry.get("entry_type"),
        "title": entry.get("title"),
        "content": entry.get("content"),
        "session_id": entry.get("session_id"),
        "spec_id": entry.get("spec_id"),
        "phase_id": data.get("phase_id") or details.get("phase_id"),
        "step_id": data.get("step_id"),
        "task_id": data.get("task_id"),
        "data": data,
    }


def _table(value: Any) -> dict[str, Any]:
    """Return a table of an entry; a journal can be edited by anybody."""
    return value if isinstance(value, dict) else {}
