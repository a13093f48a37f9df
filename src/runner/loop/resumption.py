"""What an agent is told when its run takes up work that another one left (seed 000)."""

from collections.abc import Mapping, Sequence
from typing import Any

_NAMED_FILES = 12
_BEGUN = (
    "An earlier run was at work here and ended before this step was done. Whatever it left is "
    "in the work tree: look at `git status`, `git log` and `.runner-note.md` first, keep what "
    "is good, and do not do again what is done."
)


def resumption_text(context: Mapping[str, Any] | None) -> str:
    """Return the text for the first prompt after work was taken up again.

    Args:
        context: the control plane's `resume_context`; None when the run before ended without
            a word and the session goes on where it stood.
    """
    parts = [_BEGUN]
    if context is not None:
        if context.get("last_pause_reason"):
            parts.append(f"It ended because of: {context['last_pause_reason']}.")
        done = _completed(context.get("recent_completed_tasks") or ())
        if done:
            parts.append(f"Done before, and accepted:\n\n{done}")
    return "\n\n".join(parts)


def _completed(tasks: Sequence[Mapping[str, Any]]) -> str:
    return "\n".join(_line(task) for task in tasks)


def _line(task: Mapping[str, Any]) -> str:
    line = f"- {task['task_id']}: {task.get('title') or 'no longer in the spec'}"
    files = task.get("files_touched") or []
    if files:
        more = f" and {len(files) - _NAMED_FILES} more" if len(files) > _NAMED_FILES else ""
        line += f" (in {', '.join(files[:_NAMED_FILES])}{more})"
    return line
