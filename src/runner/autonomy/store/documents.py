"""What a session leaves beside its state: reviews for people, receipts for audits (CONTRACT §4).

State holds what decides. These files are for reading, and for comparing with the hashes that the
state and the journal hold.
"""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from runner.autonomy.models import GateEvidence, GateFinding
from runner.autonomy.store.layout import Layout, check_session_id
from runner.autonomy.store.regular import read_regular
from runner.errors import StateWriteError
from runner.files import write_atomic, write_error
from runner.text.safe import inline, quoted


# The reviewer is an agent, and quotes what other agents wrote. None of it can add, hide or close a
# part of the file: it is a part of a line, or a quoted block.
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


_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
_MAX_NAME = 60


class Documents:
    """The reviews and receipts of one workspace.

    Args:
        layout: the workspace's files.
        workspace: paths inside it are given relative to it.
    """

    def __init__(self, layout: Layout, workspace: Path) -> None:
        self._reviews = layout.root / "reviews"
        self._receipts = layout.root / "receipts"
        self._workspace = workspace

    def review_path(self, session_id: str, phase_id: str, gate_attempt_id: str) -> str:
        """Return a review's path, relative to the workspace if it is inside."""
        path = self._review(session_id, phase_id, gate_attempt_id)
        inside = path.is_relative_to(self._workspace)
        return (path.relative_to(self._workspace) if inside else path).as_posix()

    def write_review(self, evidence: GateEvidence, source: str | None = None) -> None:
        """Write a review as Markdown. Raises StateWriteError.

        Args:
            evidence: the review.
            source: where the reviewer's own account is, as the reviewer said.
        """
        path = self._review(evidence.session_id, evidence.phase_id, evidence.gate_attempt_id)
        _write(path, render_review(evidence, source))

    def write_receipt(self, session_id: str, step_id: str, content: str) -> None:
        """Keep an accepted receipt, byte for byte as it was hashed. Raises StateWriteError."""
        name = f"{check_session_id(session_id)}-{file_part(step_id)}.json"
        _write(self._receipts / name, content)

    def receipt_hashes(self, session_id: str) -> Iterator[str]:
        """Yield the hashes of the session's receipts as they are now. Raises OSError."""
        for path in sorted(self._receipts.glob(f"{check_session_id(session_id)}-*.json")):
            yield "sha256:" + hashlib.sha256(read_regular(path)).hexdigest()

    def forget(self, session_id: str) -> None:
        """Remove what a session left. Raises OSError."""
        for folder in (self._reviews, self._receipts):
            for path in list(folder.glob(f"{check_session_id(session_id)}-*")):
                path.unlink(missing_ok=True)

    def _review(self, session_id: str, phase_id: str, gate_attempt_id: str) -> Path:
        name = f"{check_session_id(session_id)}-{file_part(phase_id)}-{file_part(gate_attempt_id)}"
        return self._reviews / f"{name}.md"


def file_part(text: str) -> str:
    """Return a text that is safe in a file's name; different texts stay different."""
    safe = _UNSAFE.sub("_", text)
    if safe == text and 0 < len(text) <= _MAX_NAME:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{safe[:_MAX_NAME]}-{digest}"


def _write(path: Path, content: str) -> None:
    if path.parent.is_symlink():
        raise StateWriteError(
            f"{path.parent} is a symbolic link, and runner does not write through it.",
            hint="Replace it by a folder.",
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(path, error) from error
    write_atomic(path, content.encode("utf-8", "replace"))
