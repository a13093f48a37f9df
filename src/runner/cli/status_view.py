"""Where a project stands, as lines of at most 80 columns and as one object."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from runner.app.result import counts_object
from runner.cli.control.scene import pasteable
from runner.deliverables.model import Deliverable, Phase, Status, StatusFile
from runner.loop.plan_decision import PlanDecision, review_object
from runner.records.agent_sessions import Work
from runner.records.effort import Effort, of_deliverables, of_phase, total
from runner.records.phases import Row, claimed_only, is_closed, is_proved, proof_of
from runner.records.plan_reviews import PlanRecord
from runner.records.run_lock import Holder
from runner.records.spending import Spend
from runner.report.facts import Need, RunOutcome
from runner.report.phase_lines import effort_text, standing
from runner.text.columns import columns, fit, labelled, wrap
from runner.text.durations import format_duration, format_remaining
from runner.text.messages import format_cost, plural
from runner.text.safe import inert

WIDTH = 80

_MARKS = {Status.PASSED: "[DONE]", Status.BLOCKED: "[BLOCKED]", Status.PENDING: "[PENDING]"}
_MARK_WIDTH = max(map(len, _MARKS.values()))
_MAX_ID_WIDTH = 24
_UNPROVED = "its verification passed before the work: no proof"
_STANDING = (
    "gate_status", "verdict", "cycles", "findings", "acknowledged", "waiver_reason", "awaits_acknowledgement",
    "review_path", "verified_at", "receipt_path", "duration_seconds",
)  # fmt: skip
"""What `--json` tells of a phase from the autonomous session; null where there is none."""


@dataclass(frozen=True, slots=True)
class StatusView:
    """What is known of a project.

    Attributes:
        spec_id: where status.json says none.
        file: the deliverables, None before they are planned.
        holder: the run at work, None when there is none.
        spend: what all runs have cost.
        rows: how the phases stand in the autonomous session, by id (`loop.phases`).
        is_open: whether there is an autonomous session that is not over.
        spec_edited: whether SPEC.md is another text than the plan was made from.
        rolled_back: whether the tree was rolled back since the last step.
        unproved: deliverables whose verification passed before any work on them.
        plan_review: what is known of the review of the plan.
        decision: what is to be decided about the plan, None where nothing is.
        outcome: how it stands in one look; None where no agent was at work yet.
        needs: what a person can do, the most fitting first.
        work: what the run at work does, None where nobody knows.
    """

    project_dir: Path
    spec_id: str
    has_spec: bool
    file: StatusFile | None
    holder: Holder | None
    spend: Spend
    rows: Mapping[str, Row] = field(default_factory=dict)
    is_open: bool = False
    spec_edited: bool = False
    rolled_back: bool = False
    unproved: frozenset[str] = frozenset()
    plan_review: PlanRecord | None = None
    decision: PlanDecision | None = None
    outcome: RunOutcome | None = None
    needs: tuple[Need, ...] = ()
    work: Work | None = None


def status_lines(view: StatusView) -> Iterator[str]:
    """Yield the lines for people; they hold nothing that a terminal would act on."""
    if view.file is None:
        if view.holder is None:
            yield from _nothing_planned(view)
        else:
            yield fit(f"{view.spec_id}: nothing is planned yet.", WIDTH)
            yield from _answer(view)
    else:
        yield from wrap(_summary(view, view.file), WIDTH)
        yield from _answer(view)
        yield from _dates(view.file)
        for phase in _phases(view.file):
            yield ""
            yield from _phase(view, view.file, phase)
        yield ""
        yield from _drift(view)
        yield from _outlook(view, view.file)
    yield from _spent(view.spend)


def status_object(view: StatusView) -> dict[str, Any]:
    """Return the answer of `--json`; dates are ISO 8601 or null."""
    file = view.file or StatusFile(spec_id=view.spec_id)
    following = file.next_runnable
    return {
        "type": "status",
        "spec_id": file.spec_id,
        "project_dir": str(view.project_dir),
        "planned": view.file is not None,
        "complete": _is_complete(view, file),
        "state": None if view.outcome is None else view.outcome.state,
        "headline": None if view.outcome is None else view.outcome.headline,
        "needs": [{"text": need.text, "command": need.command or None} for need in view.needs],
        "waiting": _waiting_object(view.work),
        "plan_review": review_object(view.plan_review),
        "spec_changed": view.spec_edited,
        "created_at": _iso(file.created_at),
        "updated_at": _iso(file.updated_at),
        "deliverables": dict(counts_object(file.counts, view.rows.values())),
        "phases": [_phase_object(view, file, phase) for phase in _phases(file)],
        "deprecated": [d.id for d in file.deliverables if not d.is_active],
        "next": following.id if following else None,
        "run": _holder_object(view.holder),
        "spent_usd": round(view.spend.total_usd, 6),
    }


def _is_complete(view: StatusView, file: StatusFile) -> bool:
    """Whether all that can be done is done, and nothing waits to be verified or reviewed."""
    over = not (view.is_open or view.rolled_back or view.decision)
    closed = all(map(is_closed, view.rows.values()))
    return over and closed and file.all_achievable_passed and not file.unreachable


def _nothing_planned(view: StatusView) -> Iterator[str]:
    yield fit(f"{view.spec_id}: nothing is planned yet.", WIDTH)
    if view.has_spec:
        yield "Next: `runner run` plans the deliverables from SPEC.md, then implements them."
    else:
        yield "Next: `runner init` writes an example SPEC.md; replace it, then `runner run`."


def _summary(view: StatusView, file: StatusFile) -> str:
    counts = file.counts
    proof = proof_of(counts.passed, view.rows.values())
    gone = len(file.deliverables) - counts.total
    parts = [f"{proof.passed} of {counts.total} passed{proof.remark}"]
    parts += [f"{counts.blocked} blocked"] if counts.blocked else []
    parts += [f"{counts.pending} pending"] if counts.pending else []
    parts += [f"{gone} deprecated"] if gone else []
    return f"{fit(file.spec_id, WIDTH // 2)}: {', '.join(parts)}"


def _answer(view: StatusView) -> Iterator[str]:
    """Yield where it stands, what it waits for, and what to do next."""
    if view.holder is not None:
        yield fit(f"A run is at work{_described(view.holder)}.", WIDTH)
        if view.work is not None:
            yield from wrap(_work_text(view.work), WIDTH)
        return
    if view.outcome is not None:
        yield from wrap(f"{view.outcome.headline}. No run is at work.", WIDTH)
        yield from wrap(view.outcome.detail, WIDTH) if view.outcome.detail else ()
    if view.decision is not None:
        for line in view.decision.findings:
            yield from wrap(line, WIDTH, "    ", "  - ")
    label = "Next: "
    for need in view.needs:
        start = label
        if need.command:
            yield from pasteable(inert(need.command), label, WIDTH)
            start = " " * len(label)
        yield from wrap(need.text, WIDTH, " " * len(label), start)
        label = "Or:   "


def _work_text(work: Work) -> str:
    if work.until is None:
        return f"{work.said}, for {format_duration(max(work.seconds, 0))}"
    left = format_remaining(max(work.seconds, 0))
    return f"It waits until {work.until:%Y-%m-%d %H:%M:%SZ} ({left}): {work.said}"


def _dates(file: StatusFile) -> Iterator[str]:
    dates = [
        f"{label} {day.isoformat()}"
        for label, day in (("planned", file.created_at), ("last change", file.updated_at))
        if day is not None
    ]
    if dates:
        yield ", ".join(dates)


def _phases(file: StatusFile) -> list[Phase]:
    return [phase for phase in file.ordered_phases if file.of_phase(phase.id)]


def _phase(view: StatusView, file: StatusFile, phase: Phase) -> Iterator[str]:
    items = file.of_phase(phase.id)
    passed = sum(d.status is Status.PASSED for d in items)
    row = view.rows.get(phase.id)
    is_over = row is not None and is_closed(row)
    ending = f"  ({passed} of {len(items)} {'passed' if is_over else 'claimed'})"
    name = phase.id if phase.title == phase.id else f"{phase.id}: {phase.title}"
    yield fit(name, WIDTH - len(ending)) + ending
    width = max(len(fit(d.id, _MAX_ID_WIDTH)) for d in items)
    for item in items:
        mark = "[PASS]" if is_over and is_proved(row or {}) else _MARKS[Status.PASSED]
        marks = {**_MARKS, Status.PASSED: mark}
        yield from _deliverable(view, file, item, width, marks)
    pairs = _phase_pairs(view, phase)
    yield from (f"  {line}" for line in labelled(pairs, WIDTH - 2))


def _phase_pairs(view: StatusView, phase: Phase) -> Iterator[tuple[str, str]]:
    row = view.rows.get(phase.id)
    if row is not None:
        yield "Stands", ", ".join(standing(row))
        yield "Receipt", row["receipt_path"] or ""
        yield "Review", row["review_path"] or ""
    yield "Took", effort_text(of_phase(view.spend.efforts, phase.id).as_object())


def _deliverable(
    view: StatusView, file: StatusFile, item: Deliverable, width: int, marks: Mapping[Status, str]
) -> Iterator[str]:
    effort = of_deliverables(view.spend.efforts).get(item.id, Effort())
    start = f"  {marks[item.status]:<{_MARK_WIDTH}} {fit(item.id, _MAX_ID_WIDTH):<{width}}  "
    yield (start + fit(item.description, WIDTH - columns(start))).rstrip()
    margin = " " * columns(start)
    waits_for = file.unmet_dependencies(item)
    if waits_for and item.status is not Status.PASSED:
        yield margin + fit(f"waits for {', '.join(waits_for)}", WIDTH - len(margin))
    if item.blocked_reason:
        yield margin + fit(f"because: {item.blocked_reason}", WIDTH - len(margin))
    if item.id in view.unproved:
        yield margin + fit(_UNPROVED, WIDTH - len(margin))
    if took := effort_text(effort.as_object()):
        yield margin + took


def _spent(spend: Spend) -> Iterator[str]:
    if not spend.sessions:
        return
    sessions = plural(spend.sessions, "agent session")
    yield f"Spent: {format_cost(spend.total_usd)} in {sessions}, over all runs."
    outside = {p: e for p, e in spend.efforts.items() if p.phase_id is None}
    if took := effort_text(total(outside.values()).as_object()):
        names = ", ".join(sorted({purpose.instruction for purpose in outside}))
        yield fit(f"Outside of phases ({names}): {took}.", WIDTH)


def _outlook(view: StatusView, file: StatusFile) -> Iterator[str]:
    following = file.next_runnable
    if following is not None and view.decision is None:
        yield fit(f"Next deliverable: {following.id} {following.description}", WIDTH)
    elif view.decision is not None:
        return
    elif not file.active:
        yield "No deliverable is active: there is nothing to do."
    elif file.all_achievable_passed and view.rolled_back:
        yield "All achievable deliverables had passed; the files were rolled back since."
        yield "`runner run` verifies and reviews every phase again."
    elif file.all_achievable_passed and view.is_open:
        yield "All achievable deliverables passed; a phase is still to be verified or reviewed."
    elif file.all_achievable_passed and file.blocked:
        yield "Partly passed: what is not blocked has passed; a person is needed for the rest."
    elif file.all_achievable_passed and claimed_only(view.rows.values()):
        yield "All achievable deliverables are claimed to pass; nothing was proved."
    elif file.all_achievable_passed:
        yield "All achievable deliverables passed; nothing is left to do."
    elif file.all_blocked:
        yield "Everything is blocked: a person is needed."
    else:
        yield "Nothing can be worked on: what is pending waits for what has not passed."
    if file.blocked:
        yield "What is blocked needs what its reason or .runner-note.md names; after that set"
        yield '"blocked": false in .runner/status.json, and `runner run` tries it again.'


def _drift(view: StatusView) -> Iterator[str]:
    if view.spec_edited:
        yield "SPEC.md has changed since the deliverables were planned from it. First of all:"
        yield "`runner sync` takes the changes over and keeps what is done."


def _described(holder: Holder) -> str:
    if holder.pid is None:
        return ""
    host = f" on {holder.host}" if holder.host else ""
    since = f", since {holder.since}" if holder.since else ""
    return f": process {holder.pid}{host}{since}"


def _phase_object(view: StatusView, file: StatusFile, phase: Phase) -> dict[str, Any]:
    items = file.of_phase(phase.id)
    efforts = of_deliverables(view.spend.efforts)
    row = view.rows.get(phase.id) or {}
    return {
        "id": phase.id,
        "title": phase.title,
        "total": len(items),
        "passed": sum(d.status is Status.PASSED for d in items),
        "deliverables": [
            {
                "id": item.id,
                "description": item.description,
                "status": item.status.value,
                "blocked_reason": item.blocked_reason,
                "waits_for": list(file.unmet_dependencies(item)),
                "passed_before_work": item.id in view.unproved,
                **efforts.get(item.id, Effort()).as_object(),
            }
            for item in items
        ],
        **{name: row.get(name) for name in _STANDING},
        **of_phase(view.spend.efforts, phase.id).as_object(),
    }


def _waiting_object(work: Work | None) -> dict[str, Any] | None:
    if work is None or work.until is None:
        return None
    return {"reason": work.said, "until": work.until.isoformat(timespec="seconds")}


def _holder_object(holder: Holder | None) -> dict[str, Any] | None:
    if holder is None:
        return None
    return {"pid": holder.pid, "host": holder.host, "since": holder.since}


def _iso(day: date | None) -> str | None:
    return None if day is None else day.isoformat()
