"""Where a session stands, for somebody who takes up the work again (seed 002)."""

from collections.abc import Iterator, Mapping
from typing import Any

from runner.autonomy.enums import TERMINAL_STATUSES
from runner.cli.control.scene import Scene, span
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
