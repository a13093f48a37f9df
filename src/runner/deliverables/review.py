"""What an independent review says of a phase (CONTRACT §5 `submit_review`)."""

from dataclasses import dataclass
from enum import StrEnum


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
