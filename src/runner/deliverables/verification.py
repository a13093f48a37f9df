"""Which deliverables a sync has checked already (seed 001 §3.4, §8.8)."""

from collections.abc import Iterable


class VerificationTracker:
    """Lives in memory for one `runner sync`.

    It starts empty-handed: until `start` names the deliverables, after the first session,
    nothing can be verified and nothing counts as complete.
    """

    def __init__(self) -> None:
        self._verified: dict[str, bool] = {}
        self._started = False

    @property
    def is_started(self) -> bool:
        return self._started

    def start(self, deliverable_ids: Iterable[str]) -> None:
        """Track these, all unverified; what was tracked before is forgotten."""
        self._verified = dict.fromkeys(deliverable_ids, False)
        self._started = True

    def mark(self, deliverable_id: str) -> bool:
        """Record that a deliverable was checked; return False when it is not tracked."""
        if deliverable_id not in self._verified:
            return False
        self._verified[deliverable_id] = True
        return True

    def is_verified(self, deliverable_id: str) -> bool:
        return self._verified.get(deliverable_id, False)

    @property
    def total(self) -> int:
        return len(self._verified)

    @property
    def verified_count(self) -> int:
        return sum(self._verified.values())

    @property
    def unverified(self) -> tuple[str, ...]:
        """Ids still to be checked, in the order they were given."""
        return tuple(i for i, done in self._verified.items() if not done)

    @property
    def all_verified(self) -> bool:
        """The goal of a sync; a spec without deliverables has reached it at once."""
        return self._started and not self.unverified
