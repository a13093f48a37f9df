"""The file of one review, as Markdown that a person reads before acknowledging the gate.

The reviewer is an agent, and quotes what other agents wrote. None of it can add, hide or close a
part of the file: it is a part of a line, or a quoted block.
"""

from collections.abc import Iterator

from runner.autonomy.models import GateEvidence, GateFinding
from runner.text.safe import inline, quoted


def render_review(evidence: GateEvidence, source: str | None = None) -> str:
    """Return the file's content.

    Args:
        evidence: the review.
        source: where the reviewer's own account is, in the reviewer's words.
    """
    parts = [
        f"# Review of {inline(evidence.phase_id)}: {inline(evidence.verdict)}",
        "\n".join(_facts(evidence, source)),
        "## Summary",
        _block(evidence.summary),
        "## Findings",
        *(_finding(number, finding) for number, finding in enumerate(evidence.findings, 1)),
    ]
    if not evidence.findings:
        parts.append("None.")
    return "\n\n".join(parts) + "\n"


def _facts(evidence: GateEvidence, source: str | None) -> Iterator[str]:
    yield f"- session: {inline(evidence.session_id)}"
    yield f"- step: {inline(evidence.step_id)}"
    yield f"- attempt: {inline(evidence.gate_attempt_id)}"
    yield f"- made: {evidence.issued_at.isoformat()}"
    yield f"- counts until: {evidence.expires_at.isoformat()}"
    if source:
        yield f"- the reviewer's own account: {inline(source)}"


def _finding(number: int, finding: GateFinding) -> str:
    parts = [f"### {number}. {inline(finding.severity)}: {inline(finding.title)}"]
    places = (("deliverable", finding.deliverable_id), ("file", finding.file))
    facts = [f"- {label}: {inline(place)}" for label, place in places if place]
    if facts:
        parts.append("\n".join(facts))
    if finding.detail:
        parts.append(_block(finding.detail))
    return "\n\n".join(parts)


def _block(text: str | None) -> str:
    return quoted(text) if text and text.strip() else "(none)"
