"""What a start clears away, and what it leaves alone (seed 000 «Garbage Collection»)."""

import os
from pathlib import Path
from typing import Any

import pytest
from tests.autonomy.plane import Client

from runner.autonomy.store.layout import Layout
from runner.files import locked


def _many(workspace: Path, count: int) -> Client:
    client = Client(workspace)
    for _ in range(count):
        client.clock.wait(seconds=1)
        client.start(force=True)
    return client


def test_expired_sessions_go_with_the_next_start_and_live_ones_stay(workspace: Path) -> None:
    client = _many(workspace, 2)
    old, live = (
        r["session_id"]
        for r in sorted(
            client.ok("session", "list")["sessions"], key=lambda r: r["status"] == "running"
        )
    )
    client.clock.wait(days=8)
    client.start(force=True)
    kept = {r["session_id"] for r in client.ok("session", "list")["sessions"]}
    assert old not in kept
    assert live in kept
    locks = {p.name for p in (workspace / ".runner/autonomy/locks").iterdir()}
    assert f"session_{old}.lock" not in locks
    assert not (workspace / f".runner/autonomy/journal/{old}.jsonl").exists()


def test_garbage_collection_leaves_a_held_lock_alone(workspace: Path) -> None:
    client = Client(workspace)
    layout = Layout.of(workspace)
    orphan = layout.session_lock("auto_01ARZ3NDEKTSV4RRFFQ69G5FAV")
    with locked(orphan):
        client.start()
        assert orphan.exists()
    client.start(force=True)
    assert not orphan.exists()


def test_expired_sessions_are_removed_when_the_spec_is_free_again(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = _many(workspace, 2)
    client.clock.wait(days=8)
    lock = Layout.of(workspace).spec_lock("demo")
    removed: list[str] = []
    unlink = os.unlink

    def watched(path: Any, **options: Any) -> None:
        if Path(path).suffix == ".jsonl":
            with locked(lock, 0.0):  # raises when the start still holds it
                removed.append(Path(path).stem)
        unlink(path, **options)

    monkeypatch.setattr(os, "unlink", watched)
    client.start(force=True)
    assert len(removed) == 1


def test_garbage_collection_waits_for_no_lock(workspace: Path) -> None:
    old = _many(workspace, 2)
    expired, _ = sorted(
        (r for r in old.ok("session", "list")["sessions"]), key=lambda r: r["status"] == "running"
    )
    old.clock.wait(days=8)
    client = Client(workspace, old.clock, lock_seconds=3600)
    with locked(Layout.of(workspace).session_lock(expired["session_id"])):
        client.start(force=True)  # within its budget of 10 s
        kept = {r["session_id"] for r in client.ok("session", "list")["sessions"]}
    assert expired["session_id"] in kept


def test_leftovers_of_killed_writers_go_with_the_next_start(client: Client) -> None:
    client.start()
    leftover = client.session_file().with_name(f".{client.session_id}.json.{'0' * 16}.tmp")
    other = client.workspace / f".runner/.status.json.{'0' * 16}.tmp"
    for path in (leftover, other):
        path.write_text("half", encoding="utf-8")
    client.start(force=True)
    assert not leftover.exists()
    assert not other.exists()


@pytest.mark.parametrize("age_days", [29, 31])
def test_records_of_a_session_that_was_reset_go_when_it_would_have_expired(
    client: Client, age_days: int
) -> None:
    step = client.at_gate()
    client.review(step)
    root = client.workspace / ".runner/autonomy"
    records = [*root.glob("reviews/*.md"), *root.glob("journal/*.jsonl")]
    assert len(records) == 2
    client.session_file().write_text("{}", encoding="utf-8")
    client.ok("session", "reset", session_id=client.session_id)
    for path in records:
        written = client.clock().timestamp()
        os.utime(path, (written, written))
    client.clock.wait(days=age_days)
    client.start()
    assert [path.exists() for path in records] == [age_days < 30] * 2
