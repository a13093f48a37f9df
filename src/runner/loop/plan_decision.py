"""What a person has to decide about a plan, for the end of a run, `runner status` and the report."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.deliverables.model import Status, StatusFile
from runner.records.plan_reviews import PlanBook, PlanRecord, PlanStage
from runner.text.messages import plural

MOST_FINDINGS = 5
_TITLE_CHARACTERS = 200

ACCEPT_PLAN = {
    "action": "accept_plan",
    "description": "Work by the plan as it is",
    "command": "runner run --no-plan-review",
}
EDIT_PLAN = {
    "action": "edit_plan",
    "description": "Correct .runner/status.json, or move it away to have SPEC.md planned again; "
    "then the plan is reviewed anew",
    "command": "runner run",
}
EDIT_SPEC = {
    "action": "edit_spec",
    "description": "Correct SPEC.md, and have the plan follow it; then `runner run` has the plan "
    "reviewed anew",
    "command": "runner sync",
}


@dataclass(frozen=True, slots=True)
class PlanDecision:
    """A plan that nobody works on before a person has decided.

    Attributes:
        record: of the review.
    """

    record: PlanRecord

    @property
    def headline(self) -> str:
        """What the review came to, without a full stop."""
        record = self.record
        found = plural(len(record.findings), "finding")
        said = f"the review says {record.verdict} ({found})"
        if record.manual:
            return f"The plan waits for a person's decision: {said}"
        how = f"after {plural(record.rounds, 'review')} " if record.rounds > 1 else ""
        return f"The plan was not accepted: {how}{said}"

    @property
    def findings(self) -> tuple[str, ...]:
        """The findings, a line each; the summary where there are none."""
        lines = tuple(map(_line, self.record.findings))
        if not lines:
            return tuple(self.record.summary.strip().splitlines()[:1])
        more = len(lines) - MOST_FINDINGS
        rest = f"and {plural(more, 'more finding')} in .runner/autonomy/plan-review.json"
        return (*lines[:MOST_FINDINGS], *([rest] if more > 0 else []))

    @property
    def actions(self) -> tuple[dict[str, str], ...]:
        """What a person can do, the most fitting first, as recommended actions."""
        if self.record.manual:
            return (ACCEPT_PLAN, EDIT_PLAN, EDIT_SPEC)
        return (EDIT_PLAN, EDIT_SPEC, ACCEPT_PLAN)

    @property
    def hint(self) -> str:
        """The findings, and each action with its command on a line of its own."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield from (f"- {line}" for line in self.findings)
        for action in self.actions:
            yield f"{action['description']}:"
            yield f"  {action['command']}"


def plan_decision(project: Path, file: StatusFile | None, *, known: bool) -> PlanDecision | None:
    """Return what is to be decided about a plan, None where nothing is. Nothing is written.

    Args:
        file: the plan.
        known: whether there is, or was, an autonomous session for it.
    """
    if file is None or not file.active:
        return None
    record = PlanBook(project).stand(file, begun=has_begun(file, known=known))
    return PlanDecision(record) if record.stage is PlanStage.REFUSED else None


def has_begun(file: StatusFile, *, known: bool) -> bool:
    """Whether work on a plan has begun."""
    return known or any(item.status is not Status.PENDING for item in file.active)


def review_object(record: PlanRecord | None) -> dict[str, Any] | None:
    """Return what programs are told of the last review of the plan, None where there was none."""
    if record is None or record.verdict is None:
        return None
    return {
        "stage": record.stage.value,
        "verdict": record.verdict,
        "reviews": record.rounds,
        "awaits_person": record.stage is PlanStage.REFUSED,
        "summary": record.summary,
        "findings": [dict(finding) for finding in record.findings],
    }


def _line(finding: Mapping[str, str]) -> str:
    named = finding.get("deliverableId") or finding.get("file")
    title = f"{finding.get('severity', 'finding')}: {finding.get('title', '')[:_TITLE_CHARACTERS]}"
    return f"{title} ({named})" if named else title
