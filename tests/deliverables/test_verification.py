"""The memory of one sync."""

from runner.deliverables.verification import VerificationTracker


def _started(*names: str) -> VerificationTracker:
    tracker = VerificationTracker()
    tracker.start(names)
    return tracker


def test_before_it_is_started_nothing_is_complete() -> None:
    tracker = VerificationTracker()
    assert (tracker.is_started, tracker.all_verified) == (False, False)


def test_a_start_without_deliverables_is_complete() -> None:
    assert _started().all_verified


def test_every_deliverable_must_be_marked() -> None:
    tracker = _started("A", "B")
    tracker.mark("B")
    assert (tracker.all_verified, tracker.unverified) == (False, ("A",))
    tracker.mark("A")
    assert tracker.all_verified


def test_marking_twice_counts_once() -> None:
    tracker = _started("A", "B")
    tracker.mark("A")
    tracker.mark("A")
    assert (tracker.verified_count, tracker.total) == (1, 2)


def test_strangers_are_not_marked() -> None:
    tracker = _started("A")
    assert not tracker.mark("B")
    assert not tracker.is_verified("B")


def test_starting_again_forgets() -> None:
    tracker = _started("A")
    tracker.mark("A")
    tracker.start(["A"])
    assert not tracker.is_verified("A")
