"""A step as the control plane issues it, and what is reported of it (CONTRACT §6)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runner.autonomy.client import NextStep, build_report
from runner.autonomy.inputs import StepReport

NOTE_LIMIT = 2000


@dataclass(frozen=True, slots=True)
class CurrentStep:
    """An issued step.

    Attributes:
        proof: its token; it never leaves the loop. None where the write lock is not enforced.
        commands: of `execute_verification`, each with `command` and `command_hash`.
        findings: what a review found that the step is to deal with.
        reverifies: it runs the commands of a closed phase again, on the final tree.
        scope: of `run_fidelity_gate`, what is reviewed: `phase` or `spec`.
        changed_commands: with `was` and `is`, where the phase's verification commands are not those
            that the session was started with.
    """

    step_id: str
    type: str
    phase_id: str
    task_id: str | None = None
    proof: str | None = None
    commands: tuple[Mapping[str, str], ...] = ()
    findings: tuple[Mapping[str, Any], ...] = ()
    changed_commands: Mapping[str, Any] | None = None
    reverifies: bool = False
    scope: str = "phase"

    @classmethod
    def of(cls, issued: NextStep) -> "CurrentStep":
        """Return the step that was issued."""
        return cls(
            step_id=issued.step_id,
            type=issued.type,
            phase_id=issued.phase_id or "",
            task_id=issued.task_id,
            proof=issued.step_proof_token,
            commands=issued.commands,
            findings=issued.findings,
            changed_commands=issued.commands_changed,
            reverifies=issued.reverifies,
            scope=issued.scope or "phase",
        )

    @property
    def subject(self) -> str:
        """What it is about: a deliverable or a phase."""
        return self.task_id or self.phase_id


@dataclass(frozen=True, slots=True)
class StepResult:
    """What became of a step.

    Attributes:
        outcome: `success`, `failure` or `skipped`.
        note: one or two sentences for the journal and the next session.
        evidence: further fields of the report.
        stalled: whether it failed because an agent changed nothing.
    """

    outcome: str
    note: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    stalled: bool = False

    @property
    def succeeded(self) -> bool:
        return self.outcome == "success"

    @property
    def failed(self) -> bool:
        return self.outcome == "failure"

    def report(self, step: CurrentStep, touched: Sequence[str] = ()) -> StepReport:
        """Return the report on `step`. Raises RefusedError where a part of it is not allowed.

        Args:
            touched: files that were changed in it.
        """
        subject = {"task_id": step.task_id} if step.task_id else {"phase_id": step.phase_id}
        report: dict[str, Any] = {
            "step_id": step.step_id,
            "step_type": step.type,
            **subject,
            "outcome": self.outcome,
            **self.evidence,
        }
        if self.note:
            report["note"] = self.note[:NOTE_LIMIT]
        if touched:
            report["files_touched"] = list(touched)
        if step.proof is not None:
            report["step_proof"] = step.proof
        return build_report(report)


def success(note: str = "", **evidence: Any) -> StepResult:
    return StepResult("success", note, evidence)


def failure(note: str, *, stalled: bool = False, **evidence: Any) -> StepResult:
    return StepResult("failure", note, evidence, stalled)


def skipped(note: str) -> StepResult:
    return StepResult("skipped", note)
