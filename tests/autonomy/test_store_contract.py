"""What every session store must do. Both stores run these tests: the files, and the one in memory."""

import threading
from datetime import timedelta
from pathlib import Path

import pytest
from tests.autonomy.kit import START, Caller, make_spec, start_options
from tests.autonomy.memory_store import MemoryStore
from tests.autonomy.plane import Client, statuses, write_status

from runner.autonomy.engine.starting import start_session
from runner.autonomy.enums import GateVerdict, SessionStatus, TaskStatus
from runner.autonomy.models import GateEvidence, JournalEntry, SessionState, TaskChange
from runner.autonomy.spec.source import SpecSource
from runner.autonomy.store.file_store import FileSessionStore
from runner.autonomy.store.port import SessionStore, StoreFactory
from runner.autonomy.store.trust import Trust
from runner.errors import LockTimeoutError

ID = "auto_01ARZ3NDEKTSV4RRFFQ69G5FAV"
OTHER = "auto_01ARZ3NDEKTSV4RRFFQ69G5FAW"

FACTORIES: tuple[StoreFactory, ...] = (FileSessionStore, MemoryStore)


@pytest.fixture(params=FACTORIES, ids=["files", "memory"])
def factory(request: pytest.FixtureRequest) -> StoreFactory:
    made: StoreFactory = request.param
    return made


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "demo"
    folder.mkdir()
    write_status(folder, {"p1": ["A-001"]})
    return folder


@pytest.fixture
def store(factory: StoreFactory, place: Path) -> SessionStore:
    source = SpecSource(place, lock_timeout=0.1)
    return factory(place, source, Trust(place.parent / "key"), 0.05)


def _new(session_id: str = ID) -> SessionState:
    """Return a session as it is committed first: version 1, its entries in the outbox."""
    caller = Caller(make_spec({"p1": ["A-001"]}))
    spec = caller.spec
    assert spec is not None
    return start_session(spec, start_options(), caller.env, session_id=session_id).state


def _passing(state: SessionState) -> SessionState:
    change = TaskChange(task_id="A-001", status=TaskStatus.PASSED)
    return state.evolve(outbox=state.outbox.evolve(changes=(change,)))


def _later(state: SessionState, **changes: object) -> SessionState:
    return state.evolve(state_version=state.state_version + 1, **changes)


def _entry(title: str) -> JournalEntry:
    return JournalEntry(
        seq=1, at=START, session_id=ID, spec_id="demo", entry_type="note", title=title, content=""
    )


def test_a_session_that_was_never_written_is_none(store: SessionStore) -> None:
    assert (store.read(ID), store.load(ID), store.inspect(ID)) == (None, None, None)
    assert not store.exists(ID)
    assert (list(store.ids()), list(store.stamps()), dict(store.active())) == ([], [], {})


def test_what_was_committed_is_read(store: SessionStore) -> None:
    committed = store.commit(_new())
    assert committed.warnings == ()
    assert store.read(ID) == store.read(ID, refuse_older=True) == committed.state
    assert store.exists(ID)
    assert list(store.ids()) == [name for name, _ in store.stamps()] == [ID]


def test_a_loaded_session_has_nothing_left_to_do(store: SessionStore) -> None:
    store.commit(_new())
    loaded = store.load(ID, audited=True)
    assert loaded is not None
    assert loaded.state.outbox.entries == ()
    assert (loaded.warnings, loaded.problem) == ((), None)


def test_readers_see_what_is_loaded(store: SessionStore) -> None:
    store.commit(_new())
    inspected = store.inspect(ID)
    assert inspected is not None
    assert (inspected.state.id, inspected.warnings, inspected.problem) == (ID, (), None)


def test_a_new_session_becomes_the_active_one_of_its_spec(store: SessionStore) -> None:
    store.commit(_new())
    store.commit(_new(OTHER))
    assert store.active() == {"demo": OTHER}


def test_a_later_commit_leaves_the_active_session_alone(store: SessionStore) -> None:
    first = store.commit(_new()).state
    store.commit(_new(OTHER))
    store.commit(_later(first))
    assert store.active() == {"demo": OTHER}


def test_a_commit_writes_entries_and_statuses(store: SessionStore, place: Path) -> None:
    state = _passing(_new())
    store.commit(state)
    page = store.page(ID, 10)
    assert page is not None
    assert [e["seq"] for e in page.entries] == [e.seq for e in state.outbox.entries][::-1]
    assert statuses(place)["A-001"] == "passed"


def test_a_status_that_cannot_be_written_is_written_by_the_next_load(
    store: SessionStore, place: Path
) -> None:
    (place / ".runner" / "status.json").unlink()
    assert store.commit(_passing(_new())).warnings
    write_status(place, {"p1": ["A-001"]})
    store.load(ID)
    assert statuses(place)["A-001"] == "passed"


def test_readers_can_finish_what_was_left_undone(store: SessionStore, place: Path) -> None:
    (place / ".runner" / "status.json").unlink()
    store.commit(_passing(_new()))
    write_status(place, {"p1": ["A-001"]})
    store.heal(ID)
    assert statuses(place)["A-001"] == "passed"


def test_a_committed_outbox_is_applied_once(store: SessionStore, place: Path) -> None:
    store.commit(_passing(_new()))
    write_status(place, {"p1": ["A-001"]})
    store.load(ID)
    assert statuses(place)["A-001"] == "pending"


def test_a_stamp_changes_with_the_session(store: SessionStore) -> None:
    state = store.commit(_new()).state
    before = dict(store.stamps())[ID]
    store.commit(_later(state))
    after = dict(store.stamps())[ID]
    assert after is None or after != before


def test_pages_lead_from_the_newest_entry_to_the_first(store: SessionStore) -> None:
    store.commit(_new())
    for title in ("one", "two", "three"):
        store.add_entry(_entry(title))
    whole = store.page(ID, 100)
    first = store.page(ID, 2)
    assert whole is not None
    assert first is not None
    assert [e["title"] for e in first.entries] == ["three", "two"]
    rest = store.page(ID, 100, first.next_end)
    assert rest is not None
    assert first.entries + rest.entries == whole.entries
    assert (rest.next_end, rest.is_chained) == (None, True)


@pytest.mark.parametrize("end", [-1, 0, 1_000_000])
def test_a_place_outside_of_the_journal_begins_no_page(store: SessionStore, end: int) -> None:
    store.commit(_new())
    assert store.page(ID, 10, end) is None


def test_a_session_without_entries_has_an_empty_page(store: SessionStore) -> None:
    page = store.page(ID, 10)
    assert page is not None
    assert (page.entries, page.next_end) == ((), None)


def test_an_added_entry_gets_the_next_number(store: SessionStore) -> None:
    head = store.commit(_new()).state.journal_head
    store.add_entry(_entry("added"))
    page = store.page(ID, 1)
    assert page is not None
    assert page.entries[0]["seq"] == head.seq + 1
    assert page.entries[0]["prev"] == head.line_hash


@pytest.mark.parametrize("lock", ["spec_lock", "session_lock"])
def test_a_lock_is_held_by_one_thread_at_a_time(store: SessionStore, lock: str) -> None:
    name = "demo" if lock == "spec_lock" else ID
    refused = []

    def take() -> None:
        try:
            with getattr(store, lock)(name):
                pass
        except LockTimeoutError as error:
            refused.append(error)

    with getattr(store, lock)(name):
        thread = threading.Thread(target=take)
        thread.start()
        thread.join()
    assert len(refused) == 1
    take()
    assert len(refused) == 1


def test_a_removed_session_leaves_its_journal(store: SessionStore) -> None:
    store.commit(_new())
    store.remove(ID, "demo")
    assert not store.exists(ID)
    assert dict(store.active()) == {}
    page = store.page(ID, 10)
    assert page is not None
    assert page.entries


def test_a_session_of_an_unknown_spec_can_be_removed(store: SessionStore) -> None:
    store.commit(_new())
    store.remove(ID, None)
    assert store.read(ID) is None


@pytest.mark.parametrize(("days", "removed"), [(6, 0), (8, 1)])
def test_expired_sessions_are_collected(store: SessionStore, days: int, removed: int) -> None:
    state = store.commit(_new()).state
    store.commit(_later(state, status=SessionStatus.COMPLETED))
    assert store.collect_garbage(state.updated_at + timedelta(days=days)) == removed
    assert store.exists(ID) is not bool(removed)


def test_the_owner_of_a_session_is_known(store: SessionStore) -> None:
    store.commit(_new())
    assert store.owner_of(ID) == "demo"
    assert store.owner_of(OTHER) is None


def test_what_remains_of_a_session_is_where_it_ended(store: SessionStore) -> None:
    state = store.commit(_new()).state
    remains = store.remains_of(ID)
    assert (remains.head, remains.version) == (state.journal_head, state.state_version)


def test_nothing_vanishes_by_itself(store: SessionStore) -> None:
    store.commit(_new())
    assert store.vanished() == ()


def _evidence(path: str) -> GateEvidence:
    return GateEvidence(
        token_hash="0" * 64,
        gate_attempt_id="attempt",
        checksum="0" * 64,
        session_id=ID,
        phase_id="p1",
        step_id="step",
        verdict=GateVerdict.PASS,
        issued_at=START,
        expires_at=START,
        summary="All is well.",
        review_path=path,
    )


def test_a_review_is_read_where_it_was_written(store: SessionStore) -> None:
    path = store.review_path(ID, "p1", "attempt")
    store.write_review(_evidence(path))
    assert b"All is well." in store.read_review(path)


@pytest.mark.parametrize("path", ["", "/etc/hostname", ".runner/status.json", "nowhere.md"])
def test_nothing_but_reviews_is_read_as_one(store: SessionStore, path: str) -> None:
    store.write_review(_evidence(store.review_path(ID, "p1", "attempt")))
    with pytest.raises((OSError, ValueError)):
        store.read_review(path)


def test_a_receipt_can_be_kept(store: SessionStore) -> None:
    store.write_receipt(ID, "step", "{}")
    store.commit(_new())
    assert store.load(ID, audited=True) is not None


def test_a_session_runs_to_its_end(factory: StoreFactory, place: Path) -> None:
    write_status(place, {"p1": ["A-001", "A-002"], "p2": ["B-001"]}, commands={"p1": ["make"]})
    client = Client(place, store=factory)
    client.start()
    types = client.finish()
    assert types[-1] == "complete_spec"
    assert client.journal()[-1]["seq"] == len(client.journal())
    assert client.ok("session", "status", session_id=client.session_id)["status"] == "completed"


def test_both_stores_give_the_same_answers(place: Path) -> None:
    told = []
    for factory in FACTORIES:
        write_status(place, {"p1": ["A-001"]}, commands={"p1": ["make"]})
        client = Client(place, store=factory)
        client.start()
        step = client.next()["next_step"]
        codes = [
            client.refused("session", "start"),
            client.refused("session", "status", session_id=OTHER),
            client.refused("session", "events", session_id=client.session_id, cursor="x"),
        ]
        client.ok("session", "pause", reason="why")
        client.ok("session", "resume")
        rows = client.ok("session", "list")["sessions"]
        titles = [event["title"] for event in client.journal()]
        client.ok("session", "end")
        told.append((step["type"], codes, [row["status"] for row in rows], titles))
    assert told[0] == told[1]
