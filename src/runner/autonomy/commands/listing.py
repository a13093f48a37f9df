"""session list, session events and the journal: what can be read page by page."""

import base64
import json
from collections.abc import Hashable, Iterator
from datetime import datetime
from heapq import nlargest
from typing import Any, NamedTuple

from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.core import CommandAnswer, Core, failure_reason
from runner.autonomy.engine.lifecycle import finish
from runner.autonomy.engine.pausing import Deadline, deadlines
from runner.autonomy.engine.turn import EngineTurn, JournalDraft
from runner.autonomy.enums import EntryType
from runner.autonomy.integrity import AuditError
from runner.autonomy.migrations import MigrationError
from runner.autonomy.params import EventsParams, JournalAddParams, ListParams
from runner.autonomy.store.layout import check_session_id
from runner.autonomy.views import failed_view, session_view, staleness, summary_view
from runner.errors import StateError

_VERSION = 1


def encode_cursor(kind: str, position: list[Any]) -> str:
    """Return a cursor for a position in a list of some kind."""
    content = json.dumps({"v": _VERSION, "k": kind, "p": position}).encode()
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def invalid_cursor() -> RefusedError:
    """Return the refusal of a cursor that no page of this list gave."""
    return RefusedError(
        ErrorCode.INVALID_CURSOR,
        "The cursor is not one of this list.",
        hint="Ask without a cursor, and with the same filters for each further page.",
    )


def decode_cursor(kind: str, cursor: str, types: tuple[type, ...]) -> list[Any]:
    """Return the position that a cursor of that kind holds, its parts of the given types.

    Raises:
        RefusedError: INVALID_CURSOR.
    """
    try:
        content = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        if (content["v"], content["k"]) == (_VERSION, kind):
            position = content["p"]
            fits = [type(part) is wanted for part, wanted in zip(position, types, strict=True)]
            if all(fits):
                return list(position)
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    raise invalid_cursor()


def pagination(cursor: str | None, size: int, total: int | None = None) -> dict[str, Any]:
    """Return `meta.pagination`."""
    page: dict[str, Any] = {"cursor": cursor, "has_more": cursor is not None, "page_size": size}
    return page if total is None else page | {"total_count": total}


_BROKEN = (
    "Entries on this page of the journal of {session_id} were changed, lost or added from outside. "
    "Do not rely on them: find out who writes to .runner/autonomy, and compare with a backup."
)


class _Row(NamedTuple):
    """A session as the list sorts, filters and shows it.

    Thousands of them are kept, and no states: those are some thirty objects each, which the
    garbage collector walks through again and again.

    Attributes:
        view: what is shown of it, but for its staleness.
        deadlines: when it will count as paused, and why; none of a damaged one.
    """

    updated_at: str
    session_id: str
    view: dict[str, Any]
    deadlines: tuple[Deadline, ...] = ()
    is_damaged: bool = False

    @property
    def spec_id(self) -> str | None:
        """Its spec, None when nobody knows that any more."""
        found: str | None = self.view["spec_id"]
        return found


class Listing:
    """The commands that read many things. Session files are parsed again only when they change."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._known: dict[str, tuple[Hashable, _Row]] = {}

    def sessions(self, params: ListParams) -> CommandAnswer:
        """List sessions, the last changed first."""
        rows = [row for row in self._rows() if _matches(row, params)]
        total = len(rows)
        if params.cursor is not None:
            position = _session_position(params)
            rows = [row for row in rows if _order(row) < position]
        page = nlargest(params.limit, rows, key=_order)
        cursor = None
        if len(rows) > len(page):
            cursor = encode_cursor("sessions", [*_order(page[-1]), *_filters(params)])
        now = self._core.clock()
        sessions = [_shown(row, now) for row in page]
        return CommandAnswer(
            {"sessions": sessions}, pagination=pagination(cursor, params.limit, total)
        )

    def latest(self, spec_id: str | None) -> dict[str, Any] | None:
        """Return the view of the spec's live session, or else of the one that changed last.

        Reads alone, so that it can be asked at any time. A damaged session counts as live.
        Raises OSError.

        Args:
            spec_id: None for any spec.
        """
        rows = [row for row in self._rows() if spec_id is None or row.spec_id in (None, spec_id)]
        if not rows:
            return None
        return self._view(max(rows, key=lambda row: (_is_live(row), _order(row))))

    def view(self, session_id: str) -> dict[str, Any] | None:
        """Return the view of a session, None when there is none; like `latest`, it only reads.

        Raises:
            RefusedError: that is no session id.
        """
        row = self._read(check_session_id(session_id))
        return None if row is None else self._view(row)

    def summaries(self, spec_id: str) -> list[dict[str, Any]]:
        """Return the sessions of a spec in short, the oldest first. Raises OSError."""
        now = self._core.clock()
        rows = sorted((row for row in self._rows() if row.spec_id == spec_id), key=_age)
        return [_shown(row, now) for row in rows]

    def events(self, params: EventsParams) -> CommandAnswer:
        """List a session's journal, newest first (seed 003 WS4)."""
        session_id = params.session_id or self._core.resolve(params)
        self._core.store.heal(session_id)
        end = None
        if params.cursor is not None:
            owner, end = decode_cursor("journal", params.cursor, (str, int))
            if owner != session_id:
                raise invalid_cursor()
        try:
            page = self._core.store.page(session_id, params.limit, end)
        except OSError as error:
            raise RefusedError(
                ErrorCode.STATE_UNWRITABLE,
                f"The journal can't be read: {error.strerror}.",
                hint="Check the owner and permissions of .runner/autonomy/journal.",
            ) from error
        if page is None:
            raise invalid_cursor()
        if not page.entries and not self._core.store.exists(session_id):
            raise RefusedError(ErrorCode.SESSION_NOT_FOUND, "There is no such session.")
        cursor = None
        if page.next_end is not None:
            cursor = encode_cursor("journal", [session_id, page.next_end])
        events = [_event(entry) for entry in page.entries]
        data = {"session_id": session_id, "events": events}
        warnings = () if page.is_chained else (_BROKEN.format(session_id=session_id),)
        return CommandAnswer(data, warnings, pagination=pagination(cursor, params.limit))

    def add(self, params: JournalAddParams) -> CommandAnswer:
        """Add a note to a session's journal."""
        with self._core.hold(params) as held:
            draft = JournalDraft(EntryType.NOTE, params.title, params.content)
            turn = EngineTurn(
                state=held.state, spec=None, env=self._core.env(held.state), drafts=(draft,)
            )
            self._core.commit(held, finish(turn, {}))
            data = {
                "session_id": held.state.id,
                "seq": held.state.journal_seq,
                "state_version": held.state.state_version,
            }
            return CommandAnswer(data, tuple(held.warnings))

    def _rows(self) -> Iterator[_Row]:
        known: dict[str, tuple[Hashable, _Row]] = {}
        for session_id, stamp in self._core.store.stamps():
            cached = None if stamp is None else self._known.get(session_id)
            if cached is None or cached[0] != stamp:
                row = self._read(session_id)
                if row is None:
                    continue
                cached = (stamp, row)
            if stamp is not None:
                known[session_id] = cached
            yield cached[1]
        self._known = known

    def _view(self, row: _Row) -> dict[str, Any] | None:
        if row.is_damaged:
            return dict(row.view)
        try:
            state = self._core.store.read(row.session_id, refuse_older=True)
        except AuditError as error:
            reason = failure_reason(error)
            return failed_view(row.session_id, row.spec_id, reason, error.message)
        if state is None:
            return None  # it was over, and has just been removed
        spec, _ = self._core.read_spec(state.spec_id)
        return session_view(self._core.policy.adapted(state), spec, self._core.env(state).now)

    def _read(self, session_id: str) -> _Row | None:
        try:
            state = self._core.store.read(session_id)
        except RefusedError:
            return None  # a name that is no session id
        except (StateError, MigrationError) as error:
            spec_id = self._core.store.owner_of(session_id)
            view = failed_view(session_id, spec_id, failure_reason(error), error.message)
            return _Row("", session_id, view, is_damaged=True)
        if state is None:
            return None
        view = summary_view(state)
        return _Row(
            view["updated_at"], session_id, view, deadlines(self._core.policy.adapted(state))
        )


def _order(row: _Row) -> tuple[str, str]:
    return (row.updated_at, row.session_id)


def _shown(row: _Row, now: datetime) -> dict[str, Any]:
    return {**row.view, **staleness(row.deadlines, now)}


def _age(row: _Row) -> str:
    return row.session_id  # which begins with the time


def _session_position(params: ListParams) -> tuple[str, str]:
    """Return where the next page of sessions begins.

    Raises:
        RefusedError: INVALID_CURSOR, also for one of a list with other filters.
    """
    cursor = params.cursor or ""
    updated_at, session_id, *filters = decode_cursor("sessions", cursor, (str, str, str, str))
    try:
        has_zone = updated_at == "" or datetime.fromisoformat(updated_at).tzinfo is not None
        check_session_id(session_id)
    except (ValueError, RefusedError) as error:
        raise invalid_cursor() from error
    if not has_zone or filters != _filters(params):
        raise invalid_cursor()
    return updated_at, session_id


def _filters(params: ListParams) -> list[str]:
    return [params.status_filter or "", params.spec_id or ""]


def _is_live(row: _Row) -> bool:
    return row.is_damaged or not row.view["status"].is_terminal


def _matches(row: _Row, params: ListParams) -> bool:
    fits = params.status_filter is None or params.status_filter is row.view["status"]
    return fits and params.spec_id in (None, row.spec_id)


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
