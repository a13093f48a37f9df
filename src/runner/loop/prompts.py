"""The prompt of an agent session: marker line, instruction, and what it needs to know.

CLAUDE.md is read here because the agent is started without the project's settings, which
could run the project's own hooks.
"""

from pathlib import Path

from runner.deliverables.model import Deliverable, StatusFile
from runner.files import read_regular
from runner.loop.worktree import NOTE_NAME
from runner.marker import PromptMarker

_GUIDES = ("CLAUDE.md", ".claude/CLAUDE.md")
_GUIDE_LIMIT_BYTES = 100_000


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
    parts = [marker.render(), instruction, _where(project_dir)]
    if deliverable is not None and file is not None:
        parts.append(_task(deliverable, file))
    if briefing:
        parts.append(f"## Your part\n\n{briefing}")
    if previous_failure:
        parts.append(
            "## The session before this one\n\n"
            f"It ended early: {previous_failure}\n"
            "Look at the work tree and the note before you go on; do not start over."
        )
    parts += _guides(project_dir)
    return "\n\n".join(parts) + "\n"


def _where(project_dir: Path) -> str:
    note = project_dir / NOTE_NAME
    handoff = (
        f"`{NOTE_NAME}` exists; read it." if note.is_file() else f"`{NOTE_NAME}` is not there yet."
    )
    return (
        "## Where you are\n\n"
        f"- Project directory: `{project_dir}` (your working directory)\n"
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


def _guides(project_dir: Path) -> list[str]:
    found = []
    for name in _GUIDES:
        try:
            content = read_regular(project_dir / name, limit=_GUIDE_LIMIT_BYTES, within=project_dir)
        except OSError:
            continue
        text = content.decode("utf-8", errors="replace").strip()
        if text:
            found.append(f"## The project's conventions ({name})\n\n{text}")
    return found
