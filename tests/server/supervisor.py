"""A supervisor as small as seed 003 promises it: it knows one field, `loop_signal`."""

from collections.abc import Callable
from typing import Any

Task = Callable[..., dict[str, Any]]
Work = Callable[[dict[str, Any]], dict[str, Any]]


def supervise(task: Task, work: Work, **start: Any) -> tuple[str, int]:
    """Go on over `phase_complete` alone; return the signal that ended it, and the rounds.

    Args:
        task: calls the tool `task` and returns the envelope.
        work: carries out a step and returns the report on it.
        start: how the session is started.
    """
    opened = task(action="session", command="start", **start)
    for round_number in range(1, 100):
        signal = "refused" if not opened["success"] else run_one_phase(task, work)
        if signal != "phase_complete":
            return signal, round_number
        opened = task(action="session", command="resume")
    return "too_many_rounds", round_number


def run_one_phase(task: Task, work: Work) -> str:
    """Ask, work and report until there is a signal."""
    answer = task(action="session-step", command="next")
    while answer["success"] and answer["data"]["loop_signal"] is None:
        report = work(answer["data"]["next_step"])
        answer = task(action="session-step", command="next", last_step_result=report)
    return answer["data"]["loop_signal"] or "refused"
