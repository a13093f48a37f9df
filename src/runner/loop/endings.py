"""From what the control plane says to how a run ends (CONTRACT §2, §3)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from runner.autonomy.client import RecommendedAction, SessionAnswer, SessionView
from runner.autonomy.codes import ErrorCode
from runner.autonomy.enums import FailureReason, LoopSignal, PauseReason, SessionStatus
from runner.deliverables.model import StatusFile
from runner.events import ExitReason
from runner.loop.plane import PlaneRefusedError
from runner.loop.termination import (
    PLAN_RULES,
    Ending,
    RunLimits,
    Situation,
    evaluate,
    passed_ending,
)
from runner.records.baseline import PROVES_NOTHING
from runner.records.phases import claimed_only, closed_unverified, phase_rows
from runner.text.messages import plural

CHANGED_SPEC = Ending(
    ExitReason.BLOCKED_RUNTIME,
    "SPEC.md has changed since the deliverables were planned from it",
    "`runner sync` takes the changes over and keeps what is done; `runner run` then goes on.",
)

SYNC = {
    "action": "sync",
    "description": "Take the changes of SPEC.md over; what is done is kept.",
    "command": "runner sync",
}
"""What is recommended after `CHANGED_SPEC`, as CONTRACT §6 has it."""

_PROOF = (
    "What their agents claim is all there is. Give the phases verification commands ([verification] "
    "in .runner/runner.toml), or run with gates."
)

_LISTED = 20
_PHASE_COMPLETE = "`runner run` goes on with the next phase."
_GOES_ON = "`runner run` goes on from here."


def plan_ending(file: StatusFile | None) -> Ending | None:
    """Return the ending that the deliverables alone decide, None when there is work."""
    return evaluate(Situation(RunLimits(), file=file), PLAN_RULES)


def ending_of(answer: SessionAnswer, file: StatusFile | None, *, stalled: bool) -> Ending:
    """Return how a run ends whose session gives no further step.

    Args:
        answer: of the control plane.
        file: the deliverables.
        stalled: whether the last steps failed because agents changed nothing.
    """
    if answer.status is SessionStatus.COMPLETED:
        return passed_ending(file)
    if answer.status is SessionStatus.FAILED:
        return _failed(answer)
    if answer.status is SessionStatus.ENDED:
        return Ending(
            ExitReason.PAUSED,
            "The autonomous session was ended from outside",
            "`runner run` starts a new one; what has passed stays passed.",
        )
    return _paused(answer, file, stalled=stalled)


_DONE = (ExitReason.ALL_PASSED, ExitReason.PARTLY_PASSED, ExitReason.PHASE_COMPLETE)


def with_proof(ending: Ending, phases: Sequence[Mapping[str, Any]]) -> Ending:
    """Return the ending of a run that did what it was for, saying so where nothing was proved.

    Args:
        phases: their rows.
    """
    if ending.reason not in _DONE:
        return ending
    ending = _with_baseline(ending, phases)
    rows = [dict(row) for row in phases]
    reviewed = closed_unverified(rows)
    ending = replace(ending, hint="\n".join(filter(None, (reviewed, ending.hint))) or None)
    claimed = claimed_only(rows)
    if not claimed:
        return ending
    names = ", ".join(row["phase_id"] for row in claimed)
    count = sum(row["tasks_completed"] for row in claimed)
    why = "nobody has verified or reviewed"
    if all(row["verified_at"] for row in claimed):
        why = "commands that passed without the work, and no review, stand for"
    return replace(
        ending,
        message=f"{ending.message.rstrip('.')}, but nothing was proved: {why} "
        f"{plural(count, 'deliverable')} in {names}",
        hint="\n".join(filter(None, (ending.hint, _PROOF))),
    )


def _with_baseline(ending: Ending, phases: Sequence[Mapping[str, Any]]) -> Ending:
    """Return the ending, naming the deliverables that their verification alone does not prove."""
    names = [name for row in phases for name in row.get("passed_before_work") or ()]
    if not names:
        return ending
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    told = f"The verification of {', '.join(names[:_LISTED])}{more} {PROVES_NOTHING}."
    return replace(ending, hint="\n".join(filter(None, (ending.hint, told))))


def phase_ending(phase_id: str) -> Ending:
    """Return how a run ends that was for one phase."""
    return Ending(ExitReason.PHASE_COMPLETE, f"{phase_id} is complete.", _PHASE_COMPLETE)


def refusal_ending(refusal: PlaneRefusedError) -> Ending:
    """Return how a run ends whose request was refused."""
    blocked = refusal.data.get("loop_signal") == LoopSignal.BLOCKED_RUNTIME
    if refusal.code == ErrorCode.SPEC_REBASE_REQUIRED:
        return structure_changed(None)
    reason = ExitReason.BLOCKED_RUNTIME if blocked else ExitReason.ERROR
    return Ending(reason, f"{refusal.message} ({refusal.code})", refusal.hint)


def structure_changed(drift: Mapping[str, Any] | None) -> Ending:
    """Return the ending of a run whose plan was edited by somebody else."""
    edited = [f"{kind.replace('_', ' ')}: {_listed(names)}" for kind, names in (drift or {}).items()
              if names]  # fmt: skip
    return Ending(
        ExitReason.BLOCKED_RUNTIME,
        "The structure of .runner/status.json has changed since the session began"
        + (f" ({'; '.join(edited)})" if edited else ""),
        "`runner sync` checks it against SPEC.md and goes on from it; to take it over as it is: "
        "runner session rebase.",
    )


def signal_of(ending: Ending) -> str:
    """Return the signal of a run that ended without a session to ask."""
    done = ending.reason in (ExitReason.ALL_PASSED, ExitReason.PARTLY_PASSED)
    return LoopSignal.SPEC_COMPLETE if done else LoopSignal.PAUSED_NEEDS_ATTENTION


def result_details(view: SessionView) -> dict[str, Any]:
    """Return what a session's view says for the result object (CONTRACT §3)."""
    gates = view.data.get("phase_gates") or {}
    return {
        "session_id": view.session_id,
        "loop_signal": view.signal,
        "pause_reason": view.pause_reason,
        "failure_reason": view.failure_reason,
        "recommended_actions": view.data.get("recommended_actions") or [],
        "gates": [
            {"phase_id": phase_id, "verdict": gate["verdict"], "cycles": gate["cycles"]}
            for phase_id, gate in gates.items()
            if gate["verdict"] is not None
        ],
        "phases": phase_rows(view.data),
    }


def _listed(names: object) -> str:
    return ", ".join(map(str, names)) if isinstance(names, list | tuple) else str(names)


def _failed(answer: SessionAnswer) -> Ending:
    if answer.failure_reason is FailureReason.SPEC_STRUCTURE_CHANGED:
        return structure_changed(answer.details.spec_drift)
    said = answer.details.message or f"The autonomous session has failed: {answer.failure_reason}"
    violated = answer.signal == LoopSignal.BLOCKED_RUNTIME
    reason = ExitReason.BLOCKED_RUNTIME if violated else ExitReason.FAILED
    return Ending(reason, said, _advice(answer))


def _paused(answer: SessionAnswer, file: StatusFile | None, *, stalled: bool) -> Ending:
    reason, step = answer.pause_reason, answer.next_step
    message = None if step is None else step.message
    said = message or f"The autonomous session is paused: {reason}"
    if reason == PauseReason.PHASE_COMPLETE:
        return Ending(ExitReason.PHASE_COMPLETE, said.partition(" Resume")[0], _PHASE_COMPLETE)
    ack = answer.pending_manual_gate_ack
    if reason == PauseReason.GATE_REVIEW_REQUIRED and ack:
        said = f"The review of {ack.phase_id} says {ack.verdict}; a person must acknowledge it."
    if reason == PauseReason.BLOCKED:
        found = plan_ending(file)
        if found is not None and found.reason is ExitReason.ALL_BLOCKED:
            return found
        return Ending(ExitReason.ALL_BLOCKED, said, _advice(answer))
    if reason == PauseReason.ERROR_THRESHOLD and stalled:
        return Ending(
            ExitReason.STALLED,
            f"{said} {answer.details.last_error or ''}".strip(),
            "A clearer SPEC.md, a missing tool or a denied command is the usual cause; "
            f"`runner run --debug` shows what the agent tries. {_GOES_ON}",
        )
    if reason == PauseReason.ERROR_THRESHOLD:
        said = f"{said} {answer.details.last_error or ''}".strip()
    return Ending(ExitReason.PAUSED, said, _advice(answer))


def _advice(answer: SessionAnswer) -> str:
    """Return what can be done: what only a person may decide with its command, then to go on.

    A command stands on a line of its own, to be copied.
    """
    actions = answer.recommended_actions
    looks = [_sentence(action) for action in actions if action.action == "inspect"]
    decisive = [a for a in actions if a.action not in ("resume", "inspect") and a.command]
    told = [f"{a.description.rstrip('.')}:\n  {a.command}" for a in decisive]
    if not looks and not told:
        return _GOES_ON
    return "\n".join([*looks, *told, f"Then {_GOES_ON}"])


def _sentence(action: RecommendedAction) -> str:
    """Return an action as a sentence, with its command in quotes to be copied."""
    if not action.command:
        return action.description
    return f"{action.description.rstrip('.')}: `{action.command}`."
