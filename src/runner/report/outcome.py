"""How a session stands in one look, and what a person can do about it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from runner.autonomy.enums import TERMINAL_STATUSES
from runner.autonomy.placing import placed_command, placed_text
from runner.deliverables.model import StatusFile
from runner.loop.plan_decision import PlanDecision
from runner.records.phases import claimed_only, closed_unverified, phase_rows
from runner.report.facts import Need, RunFact, RunOutcome
from runner.report.words import Words, name, rows, table

_MANY = 10
_REASONS: Mapping[str, str] = {
    "user": "a person paused it",
    "context_limit": "the agent's context is full",
    "error_threshold": "too many failures in a row",
    "blocked": "what is left is blocked or waits for what is",
    "gate_failed": "a review did not pass",
    "gate_review_required": "a review waits for a person's decision",
    "task_limit": "the limit of deliverables was reached",
    "heartbeat_stale": "the caller stopped giving signs of life",
    "step_stale": "a step was not reported in time",
    "phase_complete": "a phase is complete",
    "fidelity_cycle_limit": "the findings of reviews keep coming back",
    "verification_unsettled": "phases keep failing, or changing, when all are verified at the end",
    "spec_not_found": "the deliverables can't be found",
    "spec_structure_changed": "the deliverables were changed from outside",
    "state_corrupt": "its file is damaged, was changed, or is a copy from elsewhere",
    "migration_failed": "its file is of another version",
}
_NOT_TRUSTED = "state_corrupt"
NO_SESSION = "none"
"""The status in a view where no autonomous session has begun: agents plan, or planned and failed."""


def outcome_of(
    view: Mapping[str, Any],
    file: StatusFile | None,
    last: RunFact | None,
    *,
    driven: bool,
    rolled_back: bool,
    plan: PlanDecision | None = None,
) -> RunOutcome:
    """Return how it stands.

    Args:
        view: of the autonomous session.
        last: the end of the last run, None where none is known.
        driven: whether a run is at work.
        rolled_back: whether the tree was rolled back since the last step.
        plan: what is to be decided about the plan, None where nothing is.
    """
    status = name(view.get("effective_status")) or name(view.get("status")) or "?"
    reason = name(view.get("pause_reason")) or name(view.get("failure_reason"))
    reason = name(view.get("stale_reason")) or reason
    why = _REASONS.get(reason or "", reason or "")
    said = last.message if last is not None else ""
    if plan is not None and not driven:
        return RunOutcome("attention", plan.headline)
    if status == "completed" and file is not None and not _is_done(file):
        return RunOutcome("stopped", "Completed, but not everything in the plan passes now", said)
    if status == "completed" and rolled_back:
        return RunOutcome("stopped", "Rolled back since everything passed", said)
    if status == "completed":
        if claimed_only(phase_rows(view)):
            return RunOutcome("attention", "Claimed to be done; nothing was proved", said)
        if file is not None and file.blocked:
            waiting = f"; {len(file.unreachable)} wait for that" if file.unreachable else ""
            told = f"Partly passed: {len(file.blocked)} blocked{waiting}"
            return RunOutcome("attention", told, said)
        reviewed = closed_unverified(phase_rows(view))
        return RunOutcome("passed", "All achievable deliverables passed", reviewed or said)
    if driven:
        return RunOutcome("running", "A run is at work", why)
    if reason == _NOT_TRUSTED:
        told = f"The last run said: {said}" if said else ""
        return RunOutcome("attention", f"The session can't be judged here: {why}", told)
    if status == NO_SESSION and file is not None and file.active:
        return RunOutcome("stopped", "Planned; no step of the work has begun", said)
    if status == NO_SESSION:
        return RunOutcome("stopped", "Stopped before the first step", said)
    if status == "failed":
        return RunOutcome("failed", f"Failed: {why or 'nobody knows why'}", said)
    if status == "paused" and reason != "phase_complete":
        return RunOutcome("attention", f"Paused: {why or 'nobody says why'}", said)
    if status == "ended":
        return RunOutcome("ended", "Ended before everything passed", said)
    return RunOutcome("stopped", "Stopped before everything passed", said or why)


def needs_of(
    view: Mapping[str, Any],
    file: StatusFile | None,
    words: Words,
    *,
    driven: bool,
    spec_edited: bool,
    rolled_back: bool,
    looped: bool,
    run_command: str,
    sync_command: str,
    plan: PlanDecision | None = None,
    place: str = "",
) -> Iterator[Need]:
    """Yield what a person can do, the most fitting first; nothing while a run is at work.

    Args:
        spec_edited: whether SPEC.md is another text than the plan was made from.
        rolled_back: whether the tree was rolled back since the last step.
        looped: whether `runner run` has worked here.
        run_command: `runner run` for this project.
        sync_command: `runner sync` for it.
        plan: what is to be decided about the plan, None where nothing is.
        place: what commands need to mean this project (`runner.autonomy.placing`).
    """
    if driven:
        return
    if spec_edited:
        yield Need("SPEC.md has changed since the plan: take the changes over.", sync_command)
    if plan is not None:
        for action in plan.actions:
            command = placed_command(action["command"], place)
            yield Need(words.text(placed_text(action["description"], place), 500) + ".", command)
        return
    status = view.get("effective_status") or view.get("status")
    at_phase = status == "paused" and view.get("pause_reason") == "phase_complete"
    # What a run does by itself is said once, below, and not with the control plane's commands.
    by_run = looped and (at_phase or status in TERMINAL_STATUSES)
    in_doubt = view.get("failure_reason") == _NOT_TRUSTED
    for row in rows(view.get("recommended_actions"))[: 0 if by_run else _MANY]:
        command = words.text(row.get("command"), 1_000)
        said = words.text(row.get("description"), 500)
        yield Need(f"If this is no copy of the project: {said}" if in_doubt else said, command)
    goes_on = status in ("running", NO_SESSION) or at_phase
    yield from _by_running(str(status), file, words, run_command, goes_on=goes_on)
    if status == "completed" and _is_done(file) and rolled_back:
        yield Need("Have every phase verified and reviewed again.", run_command)


def _by_running(
    status: str, file: StatusFile | None, words: Words, run_command: str, *, goes_on: bool
) -> Iterator[Need]:
    """Yield what another run does, what is blocked included."""
    first = goes_on and file is not None and file.next_runnable is not None
    if first:
        yield Need("Go on where the work stopped.", run_command)
    if file is not None and file.blocked:
        ids = ", ".join(item.id for item in file.blocked[:_MANY])
        yield Need(
            words.text(
                f"Blocked: {ids}. Agents note what is missing in .runner-note.md; then set "
                '"blocked": false in .runner/status.json and run again.',
                1_000,
            ),
            run_command,
        )
    if goes_on and not first:
        yield Need("Go on where the work stopped.", run_command)
    elif status == "ended" or (status == "completed" and not _is_done(file)):
        yield Need("Start a new session for what is left.", run_command)


def is_over(view: Mapping[str, Any]) -> bool:
    """Whether nothing takes the session up again."""
    return view.get("status") in TERMINAL_STATUSES


def problems_of_view(view: Mapping[str, Any], words: Words) -> Sequence[str]:
    """Return what is wrong with a session: its file, what it lost, how it is verified."""
    if "progress" in view:
        return tuple(words.text(said, 1_000) for said in _marks_of(view))
    said = words.text(table(view.get("details")).get("message"), 1_000)
    return (said or "The autonomous session's file can't be used.",)


def _marks_of(view: Mapping[str, Any]) -> Iterator[str]:
    for lost in rows(view.get("lost_sessions")):
        yield (
            f"The session {lost.get('session_id')} was live when it vanished with all its files; it "
            f"was last seen {lost.get('last_seen_at')}. Its counters, gates and journal are gone."
        )
    for change in rows(view.get("changed_commands")):
        yield (
            f"The verification commands of {change.get('phase_id')} were changed in status.json "
            "since the session's start or last rebase."
        )


def _is_done(file: StatusFile | None) -> bool:
    return file is not None and file.all_achievable_passed
