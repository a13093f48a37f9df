"""A workspace with a control plane, and the report of it."""

from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from tests.autonomy.plane import START, Client, write_status

from runner.autonomy.commands.listing import Listing
from runner.autonomy.store.port import Page, SessionStore
from runner.credentials import Redactor
from runner.events import (
    RunEvent,
    SessionActivity,
    SessionEnded,
    SessionOutcome,
    SessionResult,
    SessionStarted,
    StreamToolDenied,
    TokenUse,
)
from runner.marker import Instruction
from runner.records.agent_sessions import HistoryKeeper
from runner.records.spending import SpendBook, Spending
from runner.report.facts import Report
from runner.report.gather import Sources, gather

CANARY = "sk-ant-" + "A1" * 20


class Bench:
    """A project of two phases with a deliverable each, and who drives it."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.project = folder / "project"
        self.project.mkdir(parents=True)
        write_status(self.project, {"p1": ["A-001"], "p2": ["B-001"]}, **options)
        self.client = Client(self.project, tree_of=lambda: "the same")
        self._number = 0

    def finished(self, **params: Any) -> "Bench":
        """Go through the spec to its end, in a session of these parameters."""
        self.client.start(**params)
        data = self.client.next()
        while (step := data["next_step"]) is not None and step["type"] != "complete_spec":
            if step["type"] == "pause":
                self.client.ok("session", "resume", session_id=self.client.session_id)
                data = self.client.next()
                continue
            data = self.client.next(self.client.report(step))
        return self

    def session(
        self,
        *,
        instruction: Instruction = Instruction.CODING,
        phase: str | None = "p1",
        task: str | None = "A-001",
        result: SessionResult | None = None,
        denied: tuple[StreamToolDenied, ...] = (),
        at: datetime = START,
        killed: bool = False,
        kept: bool = True,
    ) -> None:
        """Let an agent session be told to history and account, as a run does it.

        Args:
            kept: whether the history is told, which runners of old did not.
        """
        self._number += 1
        started = SessionStarted(
            self._number, instruction, 1, "sonnet", task_id=task, phase_id=phase
        )
        events: list[RunEvent] = [started, *map(SessionActivity, denied)]
        if not killed:
            done = result or paid(0.5)
            events.append(SessionEnded(self._number, instruction, done))
        self.tell(events, at=at, kept=kept)

    def tell(self, events: list[RunEvent], *, at: datetime = START, kept: bool = True) -> None:
        """Tell events to history and account."""
        times = iter(at + timedelta(seconds=10 * n) for n in range(10_000))
        keeper = HistoryKeeper(
            self.project, "run", _nobody, clean=lambda value: value, now=lambda: next(times)
        )
        spending = Spending(SpendBook(self.project), _nobody, budgeted=False)
        for event in events:
            spending(event)
            if kept:
                keeper(event)

    def sources(self, session_id: str | None = None) -> Sources:
        """Return what a report is made from."""
        core = self.client.plane.core
        listing = Listing(core)
        view = listing.view(session_id or self.client.session_id)
        assert view is not None
        return Sources(
            project_dir=self.project,
            view=view,
            siblings=listing.summaries("demo"),
            page_of=partial(_page, core.store, view["session_id"]),
            read_review=core.store.read_review,
            run_command="runner run",
            sync_command="runner sync",
            redact=Redactor({}).text,
            version="0.0",
            now=datetime(2026, 3, 2, tzinfo=UTC),
        )

    def report(self, session_id: str | None = None) -> Report:
        """Return the report."""
        return gather(self.sources(session_id))


def paid(cost: float, *, seconds: float = 60.0, tokens: int = 100) -> SessionResult:
    """Return the result of a session that cost something."""
    used = TokenUse("claude-sonnet-9", input_tokens=tokens, cost_usd=cost)
    return SessionResult(
        SessionOutcome.COMPLETED,
        text="Done.",
        cost_usd=cost,
        duration_seconds=seconds,
        tokens=(used,),
    )


def _nobody(_event: RunEvent) -> None:
    pass


def _page(store: SessionStore, session_id: str, limit: int, end: int | None) -> Page:
    page = store.page(session_id, limit, end)
    assert page is not None
    return page
