"""`runner task`: what callers see and change of deliverables."""

from collections.abc import Iterator

from runner.cli.control.commands import ControlCommand, control_group
from runner.cli.control.scene import Scene
from runner.cli.help_text import help_text
from runner.text.columns import table, wrap

_MARKS = {"passed": "[PASS]", "blocked": "[BLOCKED]", "pending": "[PENDING]"}
_PROOF_HELP = (
    "While a session is live the change needs the proof of the step that is outstanding on this "
    "deliverable: `runner step replay` shows it."
)


def _listed(scene: Scene) -> Iterator[str]:
    tasks = scene.data["tasks"]
    total = scene.data.get("total_count", len(tasks))
    if not tasks:
        yield "No deliverable fits."
        return
    rows = [
        (_MARKS.get(t["status"], t["status"]), t["task_id"], t["phase_id"], t["title"] or "")
        for t in tasks
    ]
    yield from table(("STATUS", "TASK", "PHASE", "TITLE"), rows, scene.width)
    if total > len(tasks):
        yield f"{total - len(tasks)} more; --limit {total} shows all."
    pending = next((t["task_id"] for t in tasks if t["status"] == "pending"), None)
    if pending is not None:
        yield ""
        yield from scene.next("task", "prepare", pending)


def _prepared(scene: Scene) -> Iterator[str]:
    task = scene.data
    yield from wrap(f"{task['task_id']}: {task['title']}", scene.width)
    phase = task["phase_id"]
    if task["phase_title"] not in (None, phase):
        phase = f"{phase}: {task['phase_title']}"
    yield from scene.labelled(
        ("Status", task["status"]),
        ("Phase", phase),
        ("Depends on", ", ".join(task["depends_on"])),
    )
    for title, entries in (
        ("Acceptance criteria", task["acceptance_criteria"]),
        ("Verification", task["verification"]),
    ):
        if entries:
            yield ""
            yield title
        for entry in entries:
            yield from wrap(entry, scene.width, "    ", "  - ")


def _changed(scene: Scene) -> Iterator[str]:
    data = scene.data
    yield f"{data['task_id']} is {data['status']}."
    if data["session_id"] is not None:
        yield from scene.next(
            "session", "status", "--session-id", data["session_id"],
            meaning="The step is still to be reported.",
        )  # fmt: skip


def _waived(scene: Scene) -> Iterator[str]:
    data = scene.data
    yield f"The gate of {data['phase_id']} is waived."
    rests = data["status"] == "paused"
    yield from scene.next(
        "session", "resume" if rests else "status", "--session-id", data["session_id"],
        meaning="Goes on where the session rests." if rests else "Shows what comes next.",
    )  # fmt: skip


def _mutation(name: str, summary: str) -> ControlCommand:
    example = f"runner task {name} UI-001 --autonomy-step-proof stp_…"
    return ControlCommand(
        "task",
        name,
        help_text(summary, (example, ""), details=_PROOF_HELP),
        _changed,
    )


task = control_group(
    "The deliverables: look at them, and change them under the write lock.",
    ControlCommand(
        "task",
        "list",
        help_text(
            "List the deliverables in phase order.",
            ("runner task list", "all of them"),
            ("runner task list --status pending", "what is not done"),
        ),
        _listed,
    ),
    ControlCommand(
        "task",
        "prepare",
        help_text(
            "Show all that is known about one deliverable.",
            ("runner task prepare UI-001", "its acceptance criteria, above all"),
        ),
        _prepared,
    ),
    _mutation("start", "Note that work on a deliverable begins."),
    _mutation("complete", "Mark a deliverable as passed."),
    _mutation("block", "Mark a deliverable as blocked."),
    _mutation("unblock", "Set a blocked deliverable to pending."),
    ControlCommand(
        "task",
        "update-status",
        help_text(
            "Set a deliverable's status by its name.",
            ("runner task update-status UI-001 --status pending", ""),
            details=_PROOF_HELP,
        ),
        _changed,
    ),
    ControlCommand(
        "task",
        "gate-waiver",
        help_text(
            "Let a phase pass without its review; needs a role that may, and is audited.",
            ("runner task gate-waiver --phase-id phase-1 --reason-code operator_override", ""),
        ),
        _waived,
    ),
)
