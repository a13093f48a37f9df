"""How the review of a plan stands, in `.runner/autonomy/plan-review.json`, where no agent can write.

It survives the end of a run at any moment: a review that was not recorded is made again, one
that was is not. What it says holds for the very plan that it was made about.
"""

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from runner.deliverables.model import Status, StatusFile
from runner.deliverables.workspace import STATE_DIRECTORY, ensure_state_directory
from runner.files import read_regular, write_atomic

MAX_ROUNDS = 2
"""How often one plan is reviewed, the planner's corrections included."""

_LIMIT_BYTES = 4 * 1024 * 1024


class PlanStage(StrEnum):
    """What is to be done about a plan."""

    DUE = "due"
    REVISE = "revise"
    ACCEPTED = "accepted"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class PlanRecord:
    """What is known of the review of a plan.

    Attributes:
        stage: what is to be done.
        plan: the digest of the plan that it is about; "" for whichever a planning session makes.
        planned: a planning session of ours made the plan, so one may correct it.
        changed: a sync made or changed it, so it is due also where something has passed.
        begun: whether work had begun when it was recorded.
        rounds: reviews so far.
        manual: whether a person decides, whatever the last review says.
        findings: of the last review, as `submit_review` spells them.
    """

    stage: PlanStage = PlanStage.DUE
    plan: str = ""
    planned: bool = False
    changed: bool = False
    begun: bool = False
    rounds: int = 0
    manual: bool = False
    verdict: str | None = None
    summary: str = ""
    findings: tuple[Mapping[str, str], ...] = field(default_factory=tuple)


class PlanBook:
    """The record of one project. Whoever writes it holds the run lock."""

    def __init__(self, project_dir: Path) -> None:
        self.path = project_dir / STATE_DIRECTORY / "autonomy" / "plan-review.json"
        self._project = project_dir

    def read(self) -> PlanRecord | None:
        """Return the record, None where there is none. One that is damaged says: it is due."""
        try:
            content = read_regular(self.path, limit=_LIMIT_BYTES, within=self._project)
        except FileNotFoundError:
            return None
        except OSError:
            return PlanRecord()
        with suppress(ValueError, TypeError, KeyError, RecursionError):
            return _record(json.loads(content))
        return PlanRecord()

    def write(self, record: PlanRecord) -> None:
        """Replace the record. Raises StateWriteError."""
        ensure_state_directory(self._project)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(self.path, json.dumps(asdict(record), indent=2) + "\n")

    def planning(self) -> None:
        """Note, before a planning session, that the plan to come is its work."""
        self.write(PlanRecord(planned=True))

    def synced(self, before: StatusFile | None, after: StatusFile) -> None:
        """Note that a sync has changed the plan, or left one as it is that was not accepted."""
        digest, record = plan_digest(after), self.read()
        refused = record is not None and record.stage is PlanStage.REFUSED
        if before is None or not before.deliverables:
            self.write(PlanRecord(plan=digest, planned=True, changed=True))
        elif refused or plan_digest(before) != digest:
            self.write(PlanRecord(plan=digest, changed=True))

    def stand(self, file: StatusFile, *, begun: bool) -> PlanRecord:
        """Return what is to be done about the plan as it is now.

        Args:
            file: the plan.
            begun: whether work on it has begun. A session says so only of a plan that was accepted:
                nobody works on a new one of a planning session before that.
        """
        digest, record = plan_digest(file), self.read()
        if record is not None and record.planned and record.stage is PlanStage.DUE:
            begun = any(item.status is not Status.PENDING for item in file.active)
        if record is None:
            stage = PlanStage.ACCEPTED if begun else PlanStage.DUE
            return PlanRecord(stage=stage, plan=digest, begun=begun)
        refused = record.stage in (PlanStage.REFUSED, PlanStage.REVISE)
        if begun and not (record.begun or record.changed or refused):
            return replace(record, stage=PlanStage.ACCEPTED)
        if record.stage is PlanStage.REVISE or record.plan in ("", digest):
            return replace(record, plan=digest, begun=begun)
        if begun and record.stage is PlanStage.ACCEPTED:
            return record  # edited by hand while work is under way
        return PlanRecord(plan=digest, changed=record.changed, begun=begun)


def plan_digest(file: StatusFile) -> str:
    """Return what identifies a plan: what is to be built and how it is verified, no status."""
    content = [
        [[p.id, p.title, p.verification] for p in file.phases],
        [
            [
                *(d.id, d.description, d.acceptance_criteria, d.phase, d.depends_on),
                *(d.verification, str(d.deprecated_at)),
            ]
            for d in file.deliverables
        ],
    ]
    text = json.dumps(content, ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _record(document: Any) -> PlanRecord:
    """Return what the JSON says. Raises ValueError, TypeError or KeyError."""
    rounds, findings = document["rounds"], document["findings"]
    if not isinstance(rounds, int) or not isinstance(findings, list):
        raise TypeError("no record")
    return PlanRecord(
        stage=PlanStage(document["stage"]),
        plan=str(document["plan"]),
        planned=document["planned"] is True,
        changed=document["changed"] is True,
        begun=document["begun"] is True,
        manual=document.get("manual") is True,
        rounds=rounds,
        verdict=document["verdict"],
        summary=str(document["summary"]),
        findings=tuple({str(k): str(v) for k, v in dict(one).items()} for one in findings),
    )
