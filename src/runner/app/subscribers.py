"""The events of a run, and those who get them."""

from collections.abc import Callable
from dataclasses import replace

from runner.app.job import Job
from runner.credentials import Redactor
from runner.events import RunEnded, RunEvent
from runner.ports import RunSink
from runner.records.phases import phases_in_full
from runner.report.workspace_flag import place_to_name, placed, placed_text


class Subscribers:
    """A sink that hands every event to a list of subscribers, without credentials.

    A notice that a subscriber publishes while it handles an event follows that event; it goes
    before the end of a run, after which nothing follows.

    Args:
        redactor: takes credentials out of events; a file may have one as its name.
        complete: adds to the end of a run what only its job knows.
        subscribers: get every event, in this order.
    """

    def __init__(
        self, redactor: Redactor, complete: Callable[[RunEnded], RunEnded], *subscribers: RunSink
    ) -> None:
        self._redactor = redactor
        self._complete = complete
        self._subscribers = list(subscribers)
        self._handled: RunEvent | None = None
        self._waiting: list[RunEvent] = []

    def put_first(self, *subscribers: RunSink) -> None:
        """Add subscribers that get each event before the present ones."""
        self._subscribers[:0] = subscribers

    def __call__(self, event: RunEvent) -> None:
        """Publish one event."""
        if self._handled is None:
            self._deliver_waiting()  # of an event that a subscriber failed to handle
            self._deliver(event)
            self._deliver_waiting()
        elif isinstance(event, RunEnded) or isinstance(self._handled, RunEnded):
            self._deliver(event)
        else:
            self._waiting.append(event)

    def _deliver_waiting(self) -> None:
        while self._waiting:
            self._deliver(self._waiting.pop(0))

    def _deliver(self, event: RunEvent) -> None:
        if isinstance(event, RunEnded):
            event = self._complete(event)
        event = self._redactor.record(event)
        outer, self._handled = self._handled, event
        try:
            for subscriber in tuple(self._subscribers):
                subscriber(event)
        finally:
            self._handled = outer


def subscribers_of(job: Job, redactor: Redactor, *subscribers: RunSink) -> Subscribers:
    """Return the sink for the events of a job."""
    return Subscribers(redactor, lambda ended: complete_end(job, ended), *subscribers)


def complete_end(job: Job, ended: RunEnded) -> RunEnded:
    """Return the end of a run as everybody gets it.

    It has the phases with what they took, where the conversation left a script, and advice whose
    commands name the project wherever they are pasted.
    """
    directory = job.project.directory
    phases = phases_in_full(directory, ended.details.get("phases") or ())
    details = {**ended.details, "phases": phases, "divergences": list(job.divergences())}
    place = place_to_name(directory)
    if not place:
        return RunEnded(ended.result, details)
    hint = placed_text(ended.result.hint or "", place) or None
    return RunEnded(replace(ended.result, hint=hint), placed(details, place))
