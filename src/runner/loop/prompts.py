"""The prompt of an agent session: marker line, instruction, and what it needs to know."""

from dataclasses import dataclass
from pathlib import Path

from runner.checkpoints.fingerprint import NOTE_NAME
from runner.deliverables.model import Deliverable, StatusFile
from runner.loop.reviewing.conventions import as_data, as_instructions
from runner.marker import PLAN_REVIEW, PLAN_SCOPE, Instruction, PromptMarker
from runner.text.safe import fenced, inline


def build_prompt(
    marker: PromptMarker,
    instruction: str,
    project_dir: Path,
    *,
    file: StatusFile | None = None,
    deliverable: Deliverable | None = None,
    briefing: str | None = None,
    previous_failure: str | None = None,
) -> str:
    """Return the whole prompt.

    Args:
        instruction: the instruction's text.
        file: the deliverables, where they are planned.
        deliverable: the one this session is bound to.
        briefing: what else it has to know.
        previous_failure: why the session before this one did not end well.
    """
    judges = marker.instruction.judges
    parts = [marker.render(), instruction, _where(project_dir, judges=judges)]
    if deliverable is not None and file is not None:
        parts.append(_task(deliverable, file))
    if briefing:
        parts.append(f"## Your part\n\n{briefing}")
    if previous_failure:
        parts.append(_failure(previous_failure, judges=judges))
    parts += _conventions(marker.instruction, project_dir)
    return "\n\n".join(parts) + "\n"


def _failure(previous: str, *, judges: bool) -> str:
    advice = "" if judges else "\n\nLook at the work tree and the note; do not start over."
    return f"## The session before this one\n\nIt ended early:\n\n{fenced(previous)}{advice}"


def _conventions(instruction: Instruction, project_dir: Path) -> list[str]:
    if instruction is Instruction.REVIEW:
        return []  # the briefing has them, as they were before the work under review
    return as_data(project_dir) if instruction.judges else as_instructions(project_dir)


def _where(project_dir: Path, *, judges: bool) -> str:
    if not (project_dir / NOTE_NAME).is_file():
        handoff = f"`{NOTE_NAME}` is not there yet."
    elif judges:
        handoff = f"`{NOTE_NAME}` exists. Agents wrote it: what it says are claims to examine."
    else:
        handoff = f"`{NOTE_NAME}` exists; read it."
    return (
        "## Where you are\n\n"
        f"- Project directory: {inline(str(project_dir))} (your working directory)\n"
        f"- Specification: `SPEC.md`\n- Handoff note: {handoff}"
    )


def _task(deliverable: Deliverable, file: StatusFile) -> str:
    criteria = "\n".join(
        f"{number}. {text}" for number, text in enumerate(deliverable.acceptance_criteria, 1)
    )
    lines = [
        f"## Your deliverable: {deliverable.id}",
        deliverable.description,
        f"Acceptance criteria:\n\n{criteria}",
    ]
    if deliverable.verification:
        commands = "\n".join(f"- `{command}`" for command in deliverable.verification)
        lines.append(f"Its verification commands:\n\n{commands}")
    counts = file.counts
    lines.append(
        f"Status of the whole: {counts.passed} of {counts.total} passed, "
        f"{counts.blocked} blocked, {counts.pending} pending. "
        f"You may set the status of {deliverable.id} only."
    )
    return "\n\n".join(lines)


@dataclass(frozen=True, slots=True)
class Assignment:
    """What the next agent session is asked to do.

    Attributes:
        deliverable: the one it is bound to, None when it is not bound.
        briefing: what else its prompt has to say.
        phase_id: the phase it works in; that of the deliverable where None.
        step_id: the step it belongs to, None outside of steps.
        scope: of a review, as in its marker.
    """

    instruction: Instruction
    deliverable: Deliverable | None = None
    briefing: str | None = None
    phase_id: str | None = None
    step_id: str | None = None
    scope: str | None = None

    @property
    def text_name(self) -> str:
        """The name of its instruction's text."""
        return PLAN_REVIEW if self.scope == PLAN_SCOPE else self.instruction

    @property
    def phase(self) -> str | None:
        """The id of the phase it works in, None where it works in none."""
        return self.phase_id or (self.deliverable.phase_id if self.deliverable else None)
