"""What the agent's deliverable tools do (CONTRACT §5), without the SDK around them.

Each method takes the JSON object that the agent sent and returns the text it gets back. A
refusal is a `RunnerError` whose text says why and what to do; nothing was changed then.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runner.deliverables import transitions
from runner.deliverables.arguments import ArgumentReader, ListQuery, Plan
from runner.deliverables.model import Deliverable, Status, StatusFile
from runner.deliverables.repository import StatusRepository
from runner.deliverables.review import ReviewReader
from runner.deliverables.transitions import revise
from runner.deliverables.verification import VerificationTracker
from runner.errors import DeliverableError
from runner.text.messages import plural

if TYPE_CHECKING:
    from runner.deliverables.phasing import PhaseDraft
    from runner.deliverables.review import ReviewVerdict
    from runner.deliverables.transitions import DeliverableDraft

WRITE_LOCK_CODE = "AUTONOMY_WRITE_LOCK_ACTIVE"
_NAMED_IDS = 5


@dataclass(frozen=True, slots=True)
class StatusChange:
    """A deliverable got another status than it had."""

    deliverable_id: str
    description: str
    old: Status
    new: Status


def _ignore(_: object) -> None:
    pass


class DeliverableTools:
    """The tools of one agent session.

    Args:
        repository: where the deliverables are.
        on_change: called after a status really changed and was saved.
        on_create: called with the new ids after deliverables were created and saved.
        bound_task: the only deliverable whose status this session may set; None for any. The
            attribute of that name can be set between two steps.
        tracker: what `verify` marks and the filter `verified` asks; None outside of sync.
        command_problem: says why a verification command can't be taken, None when it can.
        revises: whether the session corrects a plan on which no work has begun.
        review_problem: says what a review lacks, None when it can be taken.

    Attributes:
        review: the verdict that `submit_review` accepted; None once it is not trusted.
    """

    def __init__(
        self,
        repository: StatusRepository,
        *,
        on_change: Callable[[StatusChange], None] = _ignore,
        on_create: Callable[[tuple[str, ...]], None] = _ignore,
        bound_task: str | None = None,
        tracker: VerificationTracker | None = None,
        command_problem: Callable[[str], str | None] = lambda _: None,
        revises: Callable[[], bool] = lambda: False,
        review_problem: "Callable[[ReviewVerdict], str | None]" = lambda _: None,
    ) -> None:
        self.bound_task = bound_task
        self.review: ReviewVerdict | None = None
        self._command_problem = command_problem
        self._revises = revises
        self._review_problem = review_problem
        self._repository = repository
        self._on_change = on_change
        self._on_create = on_create
        self._tracker = tracker

    def create(self, args: Any) -> str:
        """Create all given deliverables, or none; an id that exists is refused.

        In a session that corrects a plan it replaces the deliverable.
        """
        plan = ArgumentReader("create").plan(args)
        self._check_commands(plan)
        file = self._repository.update(lambda current: self._planned(current, plan))
        ids = tuple(draft.id for draft in plan.drafts)
        self._on_create(ids)
        return f"Created {len(ids)}: {', '.join(ids)}. {_summary(file)}"

    def set_status(self, args: Any) -> str:
        """Set a deliverable's status; in a bound session only the bound one's."""
        deliverable_id, status, reason = ArgumentReader("set_status").status_change(args)
        self._check_bound(deliverable_id)
        before: list[Deliverable] = []

        def change(current: StatusFile) -> StatusFile:
            before.append(transitions.require_active(current, deliverable_id))
            return transitions.set_status(current, deliverable_id, status, reason=reason)

        file = self._repository.update(change)
        old = before[-1]
        if old.status is status:
            return f"{deliverable_id} was {status} already. {self._outlook(file)}"
        self._on_change(StatusChange(deliverable_id, old.description, old.status, status))
        return f"{deliverable_id} is now {status}. {self._outlook(file)}"

    def list(self, args: Any) -> str:
        """Show active deliverables in the order to work on them."""
        query = ArgumentReader("list").query(args)
        file = self._repository.load()
        if file is None or not file.deliverables:
            return "There are no deliverables yet."
        found = [d for d in file.in_phase_order if self._matches(d, query)]
        shown = found[: query.limit]
        more = f" Raise limit to see all {len(found)}." if len(found) > len(shown) else ""
        parts = [f"{len(shown)} of {len(found)} shown.{more} {_summary(file)}"]
        parts += [self._entry(file, d) for d in shown]
        deprecated = [d.id for d in file.deliverables if not d.is_active]
        if deprecated:
            parts.append(f"Deprecated, not listed: {', '.join(deprecated)}")
        return "\n\n".join(parts)

    def deprecate(self, args: Any) -> str:
        """Mark a deliverable as removed from the spec."""
        deliverable_id = ArgumentReader("deprecate").deliverable_id(args)
        today = self._repository.today()
        file = self._repository.update(
            lambda current: transitions.deprecate(current, deliverable_id, today)
        )
        since = transitions.require(file, deliverable_id).deprecated_at or today
        return f"{deliverable_id} is deprecated since {since.isoformat()}. {_summary(file)}"

    def verify(self, args: Any) -> str:
        """Mark a deliverable as checked in this sync; its status stays as it is."""
        deliverable_id = ArgumentReader("verify").deliverable_id(args)
        tracker = self._started_tracker()
        file = self._repository.load()
        if file is None:
            raise DeliverableError("There are no deliverables yet.")
        deliverable = transitions.require_active(file, deliverable_id)
        if not tracker.mark(deliverable_id):
            raise DeliverableError(
                f"{deliverable_id} was added after this sync began and is not part of it.",
                hint="Leave it to the next sync.",
            )
        left = tracker.unverified
        text = f"{deliverable_id} is verified as {deliverable.status}. "
        text += f"{tracker.verified_count} of {tracker.total} verified. "
        return text + (f"Still to verify: {_first(left)}." if left else "All are verified: finish.")

    def submit_review(self, args: Any) -> str:
        """Take the verdict of a review. The first one binds; a correction is a new review."""
        if self.review is not None:
            raise DeliverableError(
                f"submit_review: this review is recorded already ({self.review.verdict}), and can't "
                "be changed. Nothing was changed.",
                hint="End the session.",
            )
        file = self._repository.load()
        known = [d.id for d in file.deliverables] if file is not None else []
        review = ReviewReader(known).review(args)
        problem = self._review_problem(review)
        if problem is not None:
            raise DeliverableError(
                f"submit_review: {problem} Nothing was recorded.",
                hint="Call it again with what is missing.",
            )
        self.review = review
        return (
            f"Your review is recorded: {self.review.verdict}, "
            f"{plural(len(self.review.findings), 'finding')}. End the session."
        )

    def _planned(self, current: StatusFile, plan: Plan) -> StatusFile:
        if self._revises():
            return revise(current, plan.drafts, plan.phases, plan.remove)
        if plan.remove:
            raise DeliverableError(
                "Deliverables can be removed only from a plan that is corrected after its review. "
                "Nothing was created.",
                hint="Leave `remove` out.",
            )
        return transitions.create(current, plan.drafts, plan.phases)

    def _check_commands(self, plan: Plan) -> None:
        """Refuse commands now that would be refused at every verification."""
        owners: tuple[DeliverableDraft | PhaseDraft, ...] = (*plan.drafts, *plan.phases)
        for owner in owners:
            for command in owner.verification:
                reason = self._command_problem(command)
                if reason is not None:
                    raise DeliverableError(
                        f"create: the verification command {command[:200]!r} of {owner.id} can't "
                        f"be used: {reason} Nothing was created.",
                        hint="Use a command that may be run and that can fail, or leave it out.",
                    )

    def _check_bound(self, deliverable_id: str) -> None:
        if self.bound_task is not None and deliverable_id != self.bound_task:
            raise DeliverableError(
                f"{WRITE_LOCK_CODE}: this session is bound to {self.bound_task}, so the status of "
                f"{deliverable_id[:80]!r} can't be set here. Nothing was changed.",
                hint=f"Work on {self.bound_task} only; every other deliverable gets its own "
                "session. If you noticed something about another one, put it in your note.",
            )

    def _started_tracker(self) -> VerificationTracker:
        if self._tracker is None or not self._tracker.is_started:
            raise DeliverableError(
                "Nothing can be verified in this session.",
                hint="Verified is tracked in the verify sessions of a sync only.",
            )
        return self._tracker

    def _matches(self, deliverable: Deliverable, query: ListQuery) -> bool:
        if query.status is not None and deliverable.status is not query.status:
            return False
        if query.verified is None:
            return True
        return self._started_tracker().is_verified(deliverable.id) is query.verified

    def _entry(self, file: StatusFile, deliverable: Deliverable) -> str:
        facts = [f"[{deliverable.status}]", f"phase {deliverable.phase_id}"]
        if self._tracker is not None and self._tracker.is_started:
            done = self._tracker.is_verified(deliverable.id)
            facts.append("verified" if done else "not verified")
        waits_for = file.unmet_dependencies(deliverable)
        if waits_for:
            facts.append(f"waits for {', '.join(waits_for)}")
        lines = [f"{deliverable.id} {' · '.join(facts)}", deliverable.description]
        if deliverable.blocked_reason:
            lines.append(f"blocked because: {deliverable.blocked_reason}")
        lines += [f"- {criterion}" for criterion in deliverable.acceptance_criteria]
        lines += [f"$ {command}" for command in deliverable.verification]
        return "\n".join(lines)

    def _outlook(self, file: StatusFile) -> str:
        if self.bound_task is not None:
            return f"{_summary(file)} This session is for {self.bound_task} alone."
        runnable = [d.id for d in file.runnable]
        return f"{_summary(file)} Next: {_first(runnable)}." if runnable else _summary(file)


def _summary(file: StatusFile) -> str:
    counts = file.counts
    return (
        f"{counts.passed} of {counts.total} passed, {counts.pending} pending, "
        f"{counts.blocked} blocked."
    )


def _first(ids: Iterable[str]) -> str:
    listed = tuple(ids)
    more = f" and {len(listed) - _NAMED_IDS} more" if len(listed) > _NAMED_IDS else ""
    return ", ".join(listed[:_NAMED_IDS]) + more
