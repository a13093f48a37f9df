"""Sessions and lists of them, for people."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from runner.autonomy.enums import TERMINAL_STATUSES
from runner.autonomy.placing import placed
from runner.cli.control.scene import Scene, span
from runner.cli.control.step_text import advice, standing
from runner.text.columns import labelled, table, wrap
from runner.text.messages import plural

_GATES = {
    "passed": "gate passed",
    "failed": "gate failed",
    "waived": "gate waived",
    "pending": "gate not run yet",
}


def progress_pairs(view: Mapping[str, Any], scene: Scene) -> Iterator[tuple[str, str]]:
    """Yield labels and values: progress, the current phase, and the timing."""
    progress = view["progress"]
    yield "Progress", _progress(view, progress)
    yield from _closed(progress)
    yield "Phase", _phase(view, progress)
    yield "Started", f"{scene.ago(view['created_at'])}, last change {scene.ago(view['updated_at'])}"
    yield "Timing", _timing(progress, view["status"])


def _closed(progress: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield a pair for each phase that is closed: how long it took, and its gate."""
    label = "Closed"
    for phase in progress["phases"]:
        if phase["completed_at"] is None:
            continue
        parts = [span(phase["duration_seconds"])] if phase["duration_seconds"] is not None else []
        parts += [_GATES.get(phase["gate_status"], "")] if phase["gate_status"] else []
        name = _name(phase["phase_id"], phase["title"])
        yield label, f"{name} ({', '.join(filter(None, parts))})"
        label = ""


def _progress(view: Mapping[str, Any], progress: Mapping[str, Any]) -> str:
    counters = view["counters"]
    number, total = progress["current_phase_number"], progress["total_phases"]
    parts = [f"phase {number} of {total}" if number else plural(total, "phase")]
    parts[0] += f" ({progress['percent_complete']}% complete)"
    done = f"{plural(counters['tasks_completed'], 'deliverable')} completed"
    if counters["tasks_remaining"] is not None and view["status"] not in TERMINAL_STATUSES:
        done += f", {counters['tasks_remaining']} to go"
    return ", ".join((*parts, done))


def _phase(view: Mapping[str, Any], progress: Mapping[str, Any]) -> str:
    phase = view["active_phase_progress"]
    if (
        phase is None
        or view["status"] in TERMINAL_STATUSES
        or phase["phase_id"] in progress["completed_phases"]
    ):
        return ""
    name = _name(phase["phase_id"], phase["title"])
    parts = [
        f"{name}: {phase['tasks_completed']} of {phase['tasks_total']} completed",
        _gate(view, phase),
    ]
    if progress["seconds_in_phase"] is not None:
        parts.append(f"for {span(progress['seconds_in_phase'])}")
    if progress["is_stalled"]:
        parts.append("more than twice the average: possibly stalled")
    return ", ".join(filter(None, parts))


def _gate(view: Mapping[str, Any], phase: Mapping[str, Any]) -> str:
    if view["pause_reason"] == "gate_review_required":
        return "gate waits for a person"
    return _GATES.get(phase["gate_status"], "")


def _timing(progress: Mapping[str, Any], status: str) -> str:
    average, remaining = progress["average_phase_seconds"], progress["estimated_remaining_seconds"]
    if average is None:
        return ""
    said = f"{span(average)} per phase on average"
    goes_on = remaining and status not in TERMINAL_STATUSES
    return said + (f", about {span(remaining)} to go" if goes_on else "")


def _name(phase_id: str, title: str | None) -> str:
    return phase_id if title in (None, "", phase_id) else f"{phase_id} {title}"


def session_lines(scene: Scene) -> Iterator[str]:
    """Yield a session as start, status, pause, resume, rebase and end show it."""
    view = scene.data
    yield from wrap(
        f"{view['session_id']}: {view['spec_id'] or '?'}, {_standing(view)}", scene.width
    )
    if view.get("created") is False:
        yield "The same request started it before; nothing was changed."
    if "progress" not in view:  # a session whose file can't be used
        yield from wrap(view["details"]["message"], scene.width)
        yield from advice(scene)
        return
    yield from scene.labelled(*progress_pairs(view, scene), *_standing_pairs(view, scene))
    yield from _findings(view, scene)
    yield from _rebased(view.get("rebase_result"), scene)
    yield from _context(view.get("resume_context"), scene)
    yield from session_outlook(scene)


def resumption_lines(scene: Scene, *, is_driven: bool, is_answered: bool = False) -> Iterator[str]:
    """Yield what `runner status` shows of a session (seed 002).

    Args:
        scene: of the session's view.
        is_driven: a run is at work, so that nobody else need do anything.
        is_answered: what comes next was already said.
    """
    view = placed(scene.data, scene.place)
    scene = replace(scene, data=view)
    is_resting = scene.is_looped and not is_driven and view["effective_status"] == "running"
    standing_now = "open, no run is at work" if is_resting else _standing(view)
    yield f"Session {view['session_id']}: {standing_now}"
    if "progress" not in view:
        yield from wrap(view["details"]["message"], scene.width, "  ")
    else:
        pairs = (*progress_pairs(view, scene), *_standing_pairs(view, scene))
        yield from (f"  {line}" for line in labelled(pairs, scene.width - 2))
    if not (is_driven or is_answered) and view["status"] not in TERMINAL_STATUSES:
        yield from session_outlook(scene)


def session_outlook(scene: Scene) -> Iterator[str]:
    """Yield what comes next for a session."""
    view = scene.data
    if view["effective_status"] == "running":
        yield ""
        if scene.is_looped:
            meaning = "Goes on with it. A caller of your own: `runner step next` or `replay`."
            yield from scene.next("run", meaning=meaning)
            return
        owes = view["report_due"]
        command = ("step", "replay") if owes else ("step", "next")
        meaning = "Shows the outstanding step, which is to be reported." if owes else ""
        yield from scene.next(*command, "--session-id", view["session_id"], meaning=meaning)
    elif scene.is_looped and view["pause_reason"] == "phase_complete":
        yield ""
        yield from scene.next("run", meaning="Goes on with the next phase.")
    elif view["status"] in TERMINAL_STATUSES:
        yield ""
        yield from scene.next(
            "journal", "list", "--session-id", view["session_id"], meaning="Shows what was done."
        )
    else:
        yield from advice(scene)


def list_lines(scene: Scene) -> Iterator[str]:
    """Yield `session list`."""
    sessions = scene.data["sessions"]
    if not sessions:
        yield "There are no sessions."
        yield from scene.next("session", "start")
        return
    rows = [_row(view, scene) for view in sessions]
    yield from table(("SESSION", "STATUS", "TASKS", "CHANGED", "SPEC"), rows, scene.width)
    cursor = scene.pagination.get("cursor")
    yield ""
    if cursor is not None:
        yield from scene.next("session", "list", "--cursor", cursor, meaning="Older sessions.")
    else:
        yield from scene.next("session", "status", "--session-id", sessions[0]["session_id"])


def reset_lines(scene: Scene) -> Iterator[str]:
    yield f"{scene.data['session_id']} is removed; the deliverables keep their status."
    yield from scene.next("session", "start")


def _standing(view: Mapping[str, Any]) -> str:
    if view["effective_status"] != view["status"]:
        return f"{view['status']}, but silent for too long ({view['stale_reason']})"
    return standing(view)


def _standing_pairs(view: Mapping[str, Any], scene: Scene) -> Iterator[tuple[str, str]]:
    lifecycle, counters = view["lifecycle"], view["counters"]
    if lifecycle["paused"]:
        context = f", at {lifecycle['paused_context']}" if lifecycle["paused_context"] else ""
        yield "Paused", scene.ago(lifecycle["paused_at"]) + context
    if lifecycle["resume_count"]:
        times = plural(lifecycle["resume_count"], "time")
        yield "Resumed", f"{times}, last {scene.ago(lifecycle['resumed_at'])}"
    if view["last_step_id"] is not None:
        subject = view["current_task_id"] or view["active_phase_id"]
        yield "Step", f"{view['last_step_type']} {subject} ({view['last_step_id']})"
    if view["last_heartbeat_at"] is not None:
        used = f"context {view['context_usage_pct']}% full"
        yield "Heartbeat", f"{scene.ago(view['last_heartbeat_at'])}, {used}"
    if counters["consecutive_errors"]:
        limit = view["limits"]["max_consecutive_errors"]
        yield "Errors", f"{counters['consecutive_errors']} in a row, {limit} are the limit"
    if lifecycle["last_error"]:
        yield "Last error", f"{lifecycle['last_error']} ({scene.ago(lifecycle['last_error_at'])})"
    for lost in view["lost_sessions"]:
        seen = f"last seen {scene.ago(lost['last_seen_at'])}"
        yield "Lost", f"{lost['session_id']}, {seen}, with its counters, gates and journal"
    for change in view["changed_commands"]:
        yield "Changed", f"the verification commands of {change['phase_id']}, in status.json"
    yield "Gates", f"{view['gate_policy']} policy" if view["gates_required"] else "none"


def _findings(view: Mapping[str, Any], scene: Scene) -> Iterator[str]:
    gate = view["phase_gates"].get(view["active_phase_id"]) or {}
    if gate.get("status") == "passed" or not gate.get("findings"):
        return
    yield ""
    yield f"Findings of the last review of {view['active_phase_id']} ({gate['verdict']})"
    for finding in gate["findings"]:
        yield from wrap(f"{finding['severity']}: {finding['title']}", scene.width, "    ", "  - ")
        yield from wrap(finding["detail"], scene.width, "    ")


def _rebased(result: Any, scene: Scene) -> Iterator[str]:
    if result is None:
        return
    yield ""
    if not isinstance(result, Mapping):
        yield "The structure is unchanged."
        return
    yield "The session works by the spec as it is now"
    pairs = [
        (f"  {key.replace('_', ' ')}", ", ".join(map(str, value)))
        for key, value in result.items()
        if isinstance(value, list)
    ]
    yield from scene.labelled(*pairs)


def _context(context: Mapping[str, Any] | None, scene: Scene) -> Iterator[str]:
    if context is None:
        return
    done = [task["task_id"] for task in context["recent_completed_tasks"]]
    pending = [task["task_id"] for task in context["pending_tasks_in_phase"]]
    if not done and not pending:
        return
    more = context["completed_task_count"] - len(done)
    yield ""
    yield from scene.labelled(
        ("Done", ", ".join(done) + (f" and {more} before" if more else "")),
        ("To do", ", ".join(pending)),
    )


def _row(view: Mapping[str, Any], scene: Scene) -> tuple[str, ...]:
    status = standing({**view, "status": view["effective_status"]})
    if view["effective_status"] != view["status"]:
        status = f"{view['effective_status']} ({view['stale_reason']})"
    tasks = view.get("tasks_completed")
    return (
        view["session_id"],
        status,
        "-" if tasks is None else str(tasks),
        scene.ago(view.get("updated_at")),
        view["spec_id"] or "-",
    )
