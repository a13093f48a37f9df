"""The report of one review, as Markdown for people."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from runner.deliverables.review import Finding, ReviewVerdict
from runner.loop.ports import CommandResult
from runner.loop.quoting import fenced, inline
from runner.wording import format_cost


@dataclass(frozen=True, slots=True)
class ReviewAttempt:
    """One review of a phase, over or failed.

    Attributes:
        attempt_id: the gate attempt, or the step where no evidence was made.
        review: None when the review could not run.
        failure: why it could not run.
        results: of the phase's last verification.
        started_at: with its zone; so is `ended_at`.
        cost_usd: None when it is not known.
    """

    session_id: str
    phase_id: str
    phase_title: str
    attempt_id: str
    step_id: str
    model: str
    started_at: datetime
    ended_at: datetime
    review: ReviewVerdict | None = None
    failure: str | None = None
    results: Sequence[CommandResult] = ()
    cost_usd: float | None = None


def render_review(attempt: ReviewAttempt) -> str:
    """Return the report. What the reviewer and programs wrote can't change its structure."""
    verdict = attempt.review.verdict.upper() if attempt.review else "COULD NOT RUN"
    parts = [
        f"# Review of {inline(attempt.phase_id)}: {verdict}",
        _facts(attempt),
        "## Summary",
        _summary(attempt),
        "## Findings",
        *_findings(attempt.review.findings if attempt.review else ()),
        "## Verification",
        *_verification(attempt.results),
    ]
    return "\n\n".join(parts) + "\n"


def _facts(attempt: ReviewAttempt) -> str:
    seconds = max((attempt.ended_at - attempt.started_at).total_seconds(), 0)
    rows = [
        ("Phase", f"{inline(attempt.phase_id)} ({inline(attempt.phase_title)})"),
        ("Session", inline(attempt.session_id)),
        ("Step", inline(attempt.step_id)),
        ("Attempt", inline(attempt.attempt_id)),
        ("Model", inline(attempt.model)),
        ("Began", attempt.started_at.isoformat(timespec="seconds")),
        ("Ended", f"{attempt.ended_at.isoformat(timespec='seconds')} ({seconds:.0f} s)"),
    ]
    if attempt.cost_usd is not None:
        rows.append(("Cost", format_cost(attempt.cost_usd)))
    return "\n".join(("| | |", "| --- | --- |", *(f"| {name} | {text} |" for name, text in rows)))


def _summary(attempt: ReviewAttempt) -> str:
    if attempt.review is not None:
        return fenced(attempt.review.summary, "text")
    why = f"\n\n{fenced(attempt.failure, 'text')}" if attempt.failure else ""
    return f"The review could not run. That is no verdict; the gate stays closed.{why}"


def _findings(findings: Sequence[Finding]) -> list[str]:
    if not findings:
        return ["None."]
    return [_finding(number, finding) for number, finding in enumerate(findings, 1)]


def _finding(number: int, finding: Finding) -> str:
    lines = [f"### {number}. {inline(finding.title)}", f"- Severity: {inline(finding.severity)}"]
    if finding.deliverable_id is not None:
        lines.append(f"- Deliverable: {inline(finding.deliverable_id)}")
    if finding.file is not None:
        lines.append(f"- File: {inline(finding.file)}")
    head = "\n".join((lines[0], "", *lines[1:]))
    return f"{head}\n\n{fenced(finding.detail, 'text')}" if finding.detail else head


def _verification(results: Sequence[CommandResult]) -> list[str]:
    if not results:
        return ["No verification commands were run for this phase."]
    rows = [
        f"| {inline(r.command, 200)} | {r.exit_code}{' (timed out)' if r.timed_out else ''} "
        f"| {r.duration_seconds:.1f} s | {r.output_digest[:12]} |"
        for r in results
    ]
    head = ("| command | exit code | time | output (SHA-256) |", "| --- | --- | --- | --- |")
    return ["\n".join((*head, *rows))]
