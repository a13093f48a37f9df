"""What the control plane needs of a store of sessions, whatever it is kept in.

Only `runner.autonomy.store` knows of files. A second implementation, in memory, serves the tests:
both pass the same contract tests (tests/autonomy/test_store_contract.py).
"""

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from runner.autonomy.models import (
    GateEvidence,
    JournalEntry,
    JournalHead,
    LostSession,
    SessionState,
)
from runner.errors import StateCorruptError

GENESIS = "sha256:" + "0" * 64
"""The hash that the first journal entry refers to."""


class SessionVanishedError(StateCorruptError):
    """A live session is gone with everything that was stored of it, as after `git clean`."""


@dataclass(frozen=True, slots=True)
class Tail:
    """The end of a journal: number and hash of its last entry, and where that ends."""

    seq: int
    line_hash: str
    end: int


@dataclass(frozen=True, slots=True)
class Page:
    """Entries, newest first; `next_end` is where the page before this one ends, None if none.

    `is_chained` says whether each entry fits the one before it, as far as the page shows.
    """

    entries: tuple[dict[str, Any], ...]
    next_end: int | None
    is_chained: bool = True


@dataclass(frozen=True, slots=True)
class Loaded:
    """A session as read under its lock.

    Attributes:
        warnings: what could not be repaired, and the problem.
        problem: what is wrong with its journal or receipts, None when nothing is.
        tail: where its journal ends while the lock is held, None when that must be read again.
    """

    state: SessionState
    warnings: tuple[str, ...] = ()
    problem: str | None = None
    tail: Tail | None = None


@dataclass(frozen=True, slots=True)
class Remains:
    """What is known of a session that can't be read.

    Attributes:
        head: the last entry of its journal.
        version: the last version known to have been written, 0 when unknown.
    """

    head: JournalHead
    version: int


class SessionRecords(Protocol):
    """What a session leaves beside its state: journal, reviews, receipts."""

    def page(self, session_id: str, limit: int, end: int | None = None) -> Page | None:
        """Return up to `limit` journal entries that end at `end`, newest first.

        None when no page can begin at `end`. Reading needs no lock. Raises OSError.
        """
        ...

    def add_entry(self, entry: JournalEntry) -> None:
        """Append an entry to the journal of a session that can't be loaded, with the next number.

        Needs the session's lock. Raises StateError, OSError.
        """
        ...

    def review_path(self, session_id: str, phase_id: str, gate_attempt_id: str) -> str:
        """Return where `write_review` puts a review, relative to the workspace if inside it."""
        ...

    def write_review(self, evidence: GateEvidence, source: str | None = None) -> None:
        """Write a review for people. Raises StateWriteError.

        Args:
            evidence: the review.
            source: where the reviewer's own account is, as the reviewer said.
        """
        ...

    def read_review(self, path: str) -> bytes:
        """Return the content of a review that is stored at `path`.

        Raises OSError or ValueError, also for any path that is not a review's.
        """
        ...

    def write_receipt(self, session_id: str, step_id: str, content: str) -> None:
        """Keep an accepted receipt, byte for byte as it was hashed. Raises StateWriteError."""
        ...


class SessionStore(SessionRecords, Protocol):
    """Sessions of one workspace.

    Locks are taken in one order: spec, session, then whatever the store locks itself. Whoever
    changes a session holds its lock from `load` to `commit`.
    """

    def spec_lock(self, spec_id: str) -> AbstractContextManager[None]:
        """Hold the lock of a spec, and make what a new session needs.

        Raises LockTimeoutError, StateWriteError.
        """
        ...

    def session_lock(self, session_id: str) -> AbstractContextManager[None]:
        """Hold the lock of a session. Raises LockTimeoutError."""
        ...

    def active(self) -> Mapping[str, str]:
        """Return spec id → the session that was started last, whether it is live or not.

        Raises StateError: it can't be read; StateCorruptError when it is damaged.
        """
        ...

    def exists(self, session_id: str) -> bool:
        """Say whether there is a session, even a damaged one or one that has vanished."""
        ...

    def ids(self) -> Iterator[str]:
        """Yield the ids of all sessions that `exists` knows, in no particular order."""
        ...

    def stamps(self) -> Iterator[tuple[str, Hashable | None]]:
        """Yield the sessions with a value that changes whenever the session is written.

        None where it can't be relied on. A store that was never written yields none, whatever
        vanished from it. Raises OSError.
        """
        ...

    def read(self, session_id: str, *, refuse_older: bool = False) -> SessionState | None:
        """Return the session as it was written last, None when there is none. Repairs nothing.

        Args:
            session_id: the session.
            refuse_older: raise AuditError where it is an older copy of itself.

        Raises:
            StateCorruptError: it is damaged; SessionVanishedError when nothing is left of it;
                SealBrokenError when it was changed from outside.
            MigrationError: it has a schema that this program can't bring to its own.
            StateError: it can't be read now.
        """
        ...

    def load(self, session_id: str, *, audited: bool = False) -> Loaded | None:
        """Return the session, and finish what its last transition left undone.

        Needs the session's lock.

        Args:
            session_id: the session.
            audited: read its whole journal and all receipts, too.

        Raises:
            StateCorruptError: as `read`; AuditError when it is not the latest that was written,
                or its gates can't be as it says.
        """
        ...

    def inspect(self, session_id: str) -> Loaded | None:
        """Return the session for readers, checked like one that is loaded. Raises as `load`."""
        ...

    def heal(self, session_id: str) -> None:
        """Finish a transition that a crash cut short, for readers. Never raises.

        Cheap when there is nothing to do; does nothing while somebody holds the session.
        """
        ...

    def commit(self, state: SessionState, tail: Tail | None = None) -> Loaded:
        """Write the session, then apply what follows; return it as written.

        A new session becomes the active one of its spec. Needs the session's lock; `tail` is
        what `load` found under the same hold of it, if nothing was committed since.

        Raises StateWriteError: nothing has changed then.
        """
        ...

    def vanished(self) -> tuple[LostSession, ...]:
        """Return the live sessions that have vanished; the commit of a new one forgets them."""
        ...

    def owner_of(self, session_id: str) -> str | None:
        """Return the spec of a session that can't be read, as far as it is known. Never raises."""
        ...

    def remains_of(self, session_id: str) -> Remains:
        """Return what a session that is made again must follow. Raises OSError."""
        ...

    def remove(self, session_id: str, spec_id: str | None) -> None:
        """Remove a session; its journal stays until it expires. Needs the session's lock.

        Raises StateWriteError, OSError.
        """
        ...

    def collect_garbage(self, now: datetime) -> int:
        """Remove expired sessions and leftovers; return how many sessions that were."""
        ...


StoreFactory = Callable[..., SessionStore]
"""Makes the store of (workspace, SpecSource, Trust, seconds to wait for a lock)."""
