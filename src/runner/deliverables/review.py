"""What an independent review says of a phase (CONTRACT §5 `submit_review`)."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from runner.deliverables.arguments import ArgumentReader
from runner.deliverables.schemas import VERDICTS
from runner.text.safe import visible


class Verdict(StrEnum):
    """The reviewer's answer; the gate policy decides what follows from it."""

    PASS = "pass"  # noqa: S105 - a verdict, no password
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem that a review found.

    Attributes:
        severity: the reviewer's own word, `critical`, `major` or `minor` by custom.
        deliverable_id: whose criterion is not met, where it is one.
        file: where the problem is, as the reviewer wrote it; no path to be trusted.
    """

    severity: str
    title: str
    detail: str
    deliverable_id: str | None = None
    file: str | None = None

    def as_tool_input(self) -> dict[str, str]:
        """Return the finding as `submit_review` and `review gate` spell it."""
        fields = {
            "severity": self.severity,
            "title": self.title,
            "detail": self.detail,
            "deliverableId": self.deliverable_id,
            "file": self.file,
        }
        return {name: value for name, value in fields.items() if value is not None}


@dataclass(frozen=True, slots=True)
class ReviewVerdict:
    """An accepted `submit_review`."""

    verdict: Verdict
    summary: str
    findings: tuple[Finding, ...] = ()


# The control plane takes no more than these.
_MAX_TEXT = 20_000
_MAX_TITLE = 500
_MAX_FILE = 4096
_MAX_SEVERITY = 50
_MAX_FINDINGS = 100
_NAMED_IDS = 20


class ReviewReader(ArgumentReader):
    """Reads the arguments of `submit_review`. Raises DeliverableError with an example.

    Args:
        known_ids: the deliverables that a finding may name.
    """

    def __init__(self, known_ids: Iterable[str]) -> None:
        super().__init__("submit_review")
        self._known_ids = tuple(known_ids)

    def review(self, args: Any) -> ReviewVerdict:
        fields = self.fields(args, "the input", required=("verdict", "summary", "findings"))
        verdict = self._verdict(fields["verdict"])
        summary = self._text(fields["summary"], "summary", _MAX_TEXT)
        items = self.array(fields["findings"], "findings")
        if len(items) > _MAX_FINDINGS:
            self.refuse(f"findings has {len(items)} entries; give the {_MAX_FINDINGS} that matter")
        findings = tuple(self._finding(v, f"findings[{i}]") for i, v in enumerate(items))
        if verdict is Verdict.FAIL and not findings:
            # What is mended is told by findings alone.
            title = summary.partition("\n")[0][:_MAX_TITLE]
            findings = (Finding("major", title, summary),)
        return ReviewVerdict(verdict, summary, findings)

    def _verdict(self, value: Any) -> Verdict:
        if value not in VERDICTS:
            self.refuse(f"verdict must be one of {', '.join(VERDICTS)}")
        return Verdict(value)

    def _finding(self, value: Any, at: str) -> Finding:
        fields = self.fields(
            value,
            at,
            required=("severity", "title", "detail"),
            optional=("deliverableId", "file"),
        )
        deliverable_id = file = None
        if "deliverableId" in fields:
            deliverable_id = self._known(fields["deliverableId"], f"{at}.deliverableId")
        if "file" in fields:
            file = self._text(fields["file"], f"{at}.file", _MAX_FILE)
        return Finding(
            severity=self._text(fields["severity"], f"{at}.severity", _MAX_SEVERITY),
            title=self._text(fields["title"], f"{at}.title", _MAX_TITLE),
            detail=self._text(fields["detail"], f"{at}.detail", _MAX_TEXT, empty=True),
            deliverable_id=deliverable_id,
            file=file,
        )

    def _known(self, value: Any, at: str) -> str:
        text = self.string(value, at)
        if text not in self._known_ids:
            ids = ", ".join(self._known_ids[:_NAMED_IDS]) or "there are none"
            self.refuse(
                f"{at} is {text[:80]!r}, which is no deliverable; use one of {ids}, or leave it out"
            )
        return text

    def _text(self, value: Any, at: str, limit: int, *, empty: bool = False) -> str:
        text = visible(self.string(value, at)).strip()  # it quotes what programs print
        if not text and not empty:
            self.refuse(f"{at} is empty; write what you found")
        if len(text) > limit:
            self.refuse(f"{at} has {len(text)} characters; say it in at most {limit}")
        return text
