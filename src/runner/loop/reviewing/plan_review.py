"""Have a plan reviewed against SPEC.md before work on it begins (ADR-0072)."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import anyio

from runner.autonomy.engine.gates import policy_passes
from runner.autonomy.enums import GatePolicy, GateVerdict
from runner.deliverables.model import Status, StatusFile
from runner.deliverables.review import Finding, ReviewVerdict
from runner.deliverables.review import Verdict as ReviewedAs
from runner.events import ExitReason, Notice
from runner.loop.baseline import Baseline
from runner.loop.claims import ClaimedDeliverables
from runner.loop.plan_decision import ACCEPT_PLAN, PlanDecision, has_begun
from runner.loop.planning import planned
from runner.loop.prompts import Assignment
from runner.loop.reviewing.plan_brief import plan_briefing, revision_briefing
from runner.loop.sessions import Sessions
from runner.loop.termination import REVIEW_RULES, SESSION_RULES, Ending
from runner.marker import PLAN_SCOPE, Instruction
from runner.ports import RunSink
from runner.records.baseline import BaselineBook, BaselineRecord
from runner.records.plan_reviews import MAX_ROUNDS, PlanBook, PlanRecord, PlanStage, plan_digest
from runner.text.messages import plural

_TRIES = 2
"""How often a review that submits nothing is tried."""

_NAMED = 50
"""Of so many deliverables that nothing checks a review has to say why it accepts them."""

_TITLE_CHARACTERS = 200
_GO_ON = f"{ACCEPT_PLAN['description']}:\n  {ACCEPT_PLAN['command']}"


@dataclass(frozen=True, slots=True)
class PlanReviewSettings:
    """How plans are reviewed.

    Attributes:
        wanted: whether they are at all.
        policy: which verdict accepts a plan, as with gates.
    """

    wanted: bool = True
    policy: GatePolicy = GatePolicy.STRICT


class PlanReview:
    """Reviews the plan of one project, and has it corrected.

    Args:
        settings: how.
        project_dir: the project.
        common: commands that close every phase.
        claims: the deliverables.
        take_verdict: returns what the last review session submitted, None when it did not.
        sink: is told what came of it.
        baseline: runs the verification commands of a plan before any work; None for none of that.
    """

    def __init__(
        self,
        settings: PlanReviewSettings,
        project_dir: Path,
        *,
        common: tuple[str, ...],
        claims: ClaimedDeliverables,
        take_verdict: Callable[[], ReviewVerdict | None],
        sink: RunSink,
        baseline: Baseline | None = None,
    ) -> None:
        self._settings = settings
        self._project = project_dir
        self._common = common
        self._claims = claims
        self._take_verdict = take_verdict
        self._sink = sink
        self._baseline = baseline
        self._book = PlanBook(project_dir)
        self._unproved: tuple[str, ...] = ()

    @property
    def is_wanted(self) -> bool:
        """Whether plans are reviewed, as long as none was accepted."""
        return self._settings.wanted

    def problem(self, review: ReviewVerdict) -> str | None:
        """Return what a review that does not fail the plan leaves unsaid, None for nothing.

        Whoever accepts a deliverable that no command checks has to do so by its name.
        """
        if review.verdict is ReviewedAs.FAIL:
            return None
        found = (f"{f.title} {f.detail} {f.deliverable_id or ''}" for f in review.findings)
        said = " ".join((review.summary, *found))
        silent = [name for name in self._unproved if not _names(said, name)]
        if not silent:
            return None
        return (
            f"Every verification command of {', '.join(silent)} passes without the work. For each of "
            "these ids, give the reason in `summary` for which you accept it, or a finding."
        )

    def planning(self) -> None:
        """Note, before a planning session, that the plan to come is its work."""
        self._book.planning()

    async def settle(self, sessions: Sessions, *, known: bool) -> Ending | None:
        """Review and correct the plan until it may be worked on, or a person is needed.

        Args:
            sessions: runs the agent sessions.
            known: whether an autonomous session works by the plan; one that has ended does not.

        Returns:
            None when work may begin.

        Raises:
            RunEndedError: there is a reason to end before.
        """
        while (file := self._claims.accepted()) is not None and file.active:
            stand = self._book.stand(file, begun=has_begun(file, known=known))
            if stand.stage is PlanStage.ACCEPTED:
                return None
            if not self._settings.wanted:
                await self._tried(sessions, file, stand)
                self._book.write(replace(stand, stage=PlanStage.ACCEPTED, verdict=None))
                return None
            if stand.stage is PlanStage.REFUSED:
                if not self._passes(stand.verdict):
                    return _needs_person(stand)
                # A person has chosen another policy since.
                self._book.write(replace(stand, stage=PlanStage.ACCEPTED))
                return None
            if stand.stage is PlanStage.REVISE:
                await self._revise(sessions, file, stand)
                continue
            review = await self._review(sessions, file, stand)
            if review is None:
                return _not_reviewed()
            self._note(stand, review)
        return None

    async def _tried(
        self, sessions: Sessions, file: StatusFile, stand: PlanRecord
    ) -> BaselineRecord:
        """Return what the verification commands of the plan give without the work."""
        if self._baseline is None:
            return BaselineRecord()
        record = await self._baseline.take(file, changed=stand.changed)
        sessions.forget_tree()
        return record

    async def _review(
        self, sessions: Sessions, file: StatusFile, stand: PlanRecord
    ) -> ReviewVerdict | None:
        """Return the verdict, None where session after session submitted none."""
        tried = await self._tried(sessions, file, stand)
        briefing = await anyio.to_thread.run_sync(
            plan_briefing, self._project, file, self._common, stand.findings, tried
        )
        unproved = [d.id for d in tried.unproved(file) if d.status is Status.PENDING]
        self._unproved = tuple(unproved[:_NAMED])
        try:
            return await self._verdict(sessions, briefing)
        finally:
            self._unproved = ()

    async def _verdict(self, sessions: Sessions, briefing: str) -> ReviewVerdict | None:
        tries = 0
        while tries < _TRIES:
            self._take_verdict()  # an older one must not count for this review
            await sessions.ready(REVIEW_RULES)
            turn = await sessions.run(
                Assignment(Instruction.REVIEW, briefing=briefing, scope=PLAN_SCOPE)
            )
            review = self._take_verdict()
            if review is not None:
                return review
            tries += turn.worked
        return None

    def _note(self, stand: PlanRecord, review: ReviewVerdict) -> None:
        """Record what follows from a verdict, and tell people."""
        policy, rounds = self._settings.policy, stand.rounds + 1
        manual = policy is GatePolicy.MANUAL
        accepted = self._passes(review.verdict.value)
        corrects = stand.planned and not stand.begun and not manual
        if accepted:
            stage = PlanStage.ACCEPTED
        else:
            stage = PlanStage.REVISE if corrects and rounds < MAX_ROUNDS else PlanStage.REFUSED
        made_up = () if accepted or manual else (_finding_of(review),)
        self._book.write(
            replace(
                stand,
                stage=stage,
                rounds=rounds,
                verdict=review.verdict.value,
                summary=review.summary,
                manual=manual,
                findings=tuple(each.as_tool_input() for each in review.findings or made_up),
            )
        )
        self._sink(_told(review, accepted=accepted, policy=policy))

    async def _revise(self, sessions: Sessions, plan: StatusFile, stand: PlanRecord) -> None:
        """Have the planner deal with the findings; the next review says whether it did."""
        await sessions.ready(SESSION_RULES)
        tried = await anyio.to_thread.run_sync(BaselineBook(self._project).read)
        self._claims.revising = True
        try:
            turn = await sessions.run(
                Assignment(
                    Instruction.INITIALIZER,
                    briefing=revision_briefing(plan, stand.summary, stand.findings, tried),
                ),
                judge=planned,
            )
        finally:
            self._claims.revising = False
        file = self._claims.accepted()
        if turn.worked and file is not None:
            self._book.write(replace(stand, stage=PlanStage.DUE, plan=plan_digest(file)))

    def _passes(self, verdict: str | None) -> bool:
        """Whether a verdict accepts a plan under the policy at hand."""
        return verdict is not None and policy_passes(self._settings.policy, GateVerdict(verdict))


def _needs_person(stand: PlanRecord) -> Ending:
    decision = PlanDecision(stand)
    return Ending(
        ExitReason.PAUSED, f"{decision.headline}.", decision.hint, actions=decision.actions
    )


def _names(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None


def _finding_of(review: ReviewVerdict) -> Finding:
    title = review.summary.partition("\n")[0][:_TITLE_CHARACTERS]
    return Finding("major", title, review.summary)


def _not_reviewed() -> Ending:
    return Ending(
        ExitReason.PAUSED,
        "The plan could not be reviewed: the review sessions submitted no verdict",
        f"`runner run` tries again.\n{_GO_ON}",
        actions=(ACCEPT_PLAN,),
    )


def _told(review: ReviewVerdict, *, accepted: bool, policy: GatePolicy) -> Notice:
    effect = f"under the {policy} policy it is {'accepted' if accepted else 'not accepted'}"
    if policy is GatePolicy.MANUAL:
        effect = "under the manual policy a person decides"
    found = plural(len(review.findings), "finding")
    said = f"Review of the plan: {review.verdict} ({found}); {effect}. {review.summary}"
    return Notice("info" if accepted else "warning", said)
