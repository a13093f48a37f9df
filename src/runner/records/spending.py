"""What a spec has cost over all its runs, and for what, kept in `.runner/autonomy/spend.json`.

The file is written before a session, while it runs, and after it. So a run that was killed in the
middle of one has lost nothing that was known of its cost: the next run counts the last estimate.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import Any

from runner.deliverables.workspace import STATE_DIRECTORY
from runner.errors import StateCorruptError, StateWriteError
from runner.events import (
    Notice,
    RunEvent,
    SessionActivity,
    SessionEnded,
    SessionStarted,
    StreamUsage,
)
from runner.files import read_regular, write_atomic, write_error
from runner.ports import RunSink
from runner.records.effort import Effort, Purpose, efforts_from, efforts_object, purpose_from


@dataclass(frozen=True, slots=True)
class SpecBudget:
    """`[budget] total` of runner.toml, which holds over all runs of a spec.

    Attributes:
        total_usd: US dollars for the spec.
        spent_before_usd: what earlier runs have spent of it.
    """

    total_usd: float
    spent_before_usd: float = 0.0

    def spent_usd(self, run_usd: float) -> float:
        """Return what was spent over all runs, given what this one has cost so far."""
        return self.spent_before_usd + run_usd

    def left_usd(self, run_usd: float) -> float:
        """Return what is left; negative when more was spent than there was."""
        return self.total_usd - self.spent_usd(run_usd)


def session_budget(
    run_usd: float,
    *,
    session_limit: float | None,
    run_limit: float | None,
    spec: SpecBudget | None,
) -> float | None:
    """Return what the next agent session may cost at most, None for no limit.

    Args:
        run_usd: what the run has cost so far.
        session_limit: `--max-session-cost`.
        run_limit: `--max-cost`.
        spec: the budget over all runs.
    """
    left = (
        session_limit,
        None if run_limit is None else run_limit - run_usd,
        None if spec is None else spec.left_usd(run_usd),
    )
    known = [amount for amount in left if amount is not None]
    return min(known) if known else None


ESTIMATE_STEP_USD = 0.01
"""An estimate that grew by this, or by half, is worth another write."""

_SCHEMA_VERSION = 1
_MAX_BYTES = 4 * 1024 * 1024
_HINT = (
    "Set spent_usd in it to what was spent, or move it away: then counting begins again from zero."
)


@dataclass(frozen=True, slots=True)
class Spend:
    """What was spent on a spec.

    Attributes:
        settled_usd: the cost of the sessions that ended.
        sessions: how many agent sessions were started.
        open_usd: what is known of the session at work, or of one that was killed; None when
            every session ended.
        efforts: what the sessions were for, as far as that was noted; it decides nothing.
        open_purpose: what the session of `open_usd` is for.
    """

    settled_usd: float = 0.0
    sessions: int = 0
    open_usd: float | None = None
    efforts: Mapping[Purpose, Effort] = field(default_factory=dict)
    open_purpose: Purpose | None = None

    @property
    def total_usd(self) -> float:
        """Everything that is known to have been spent."""
        return self.settled_usd + (self.open_usd or 0.0)

    def begun(self, purpose: Purpose) -> "Spend":
        """Return the account with a new session at work."""
        settled = self.ended(self.open_usd or 0.0)
        efforts = settled.efforts_with(purpose, Effort(sessions=1))
        return Spend(settled.settled_usd, self.sessions + 1, 0.0, efforts, purpose)

    def ended(self, cost_usd: float, seconds: float = 0.0) -> "Spend":
        """Return the account when the session at work ended at this cost, after this time."""
        efforts = self.efforts_with(self.open_purpose, Effort(cost_usd, seconds))
        return Spend(self.settled_usd + cost_usd, self.sessions, efforts=efforts)

    def efforts_with(self, purpose: Purpose | None, more: Effort) -> Mapping[Purpose, Effort]:
        """Return the efforts with one that grew; they stay as they are without a purpose."""
        if purpose is None:
            return self.efforts
        return {**self.efforts, purpose: self.efforts.get(purpose, Effort()) + more}


class SpendBook:
    """The file of one project. Whoever writes it holds the run lock."""

    def __init__(self, project_dir: Path) -> None:
        self.path = project_dir / STATE_DIRECTORY / "autonomy" / "spend.json"
        self._project_dir = project_dir

    def load(self) -> Spend:
        """Return what was spent; nothing where there is no file.

        Raises:
            StateCorruptError: the file can't be read or does not say what was spent. It is
                never taken for zero: a limit would start anew without a word.
        """
        try:
            content = read_regular(self.path, limit=_MAX_BYTES, within=self._project_dir)
        except FileNotFoundError:
            return Spend()
        except OSError as error:
            raise self._corrupt(f"can't be read: {error.strerror or error}") from error
        try:
            document = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise self._corrupt("is not JSON") from error
        return self._parsed(document)

    def save(self, spend: Spend) -> None:
        """Replace the file.

        Raises:
            StateWriteError: the old file still stands.
        """
        document = {
            "_schema_version": _SCHEMA_VERSION,
            "spent_usd": spend.settled_usd,
            "sessions": spend.sessions,
            "open_session_usd": spend.open_usd,
            "open_session": spend.open_purpose.as_object() if spend.open_purpose else None,
            "efforts": efforts_object(spend.efforts),
            "updated_at": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise write_error(self.path, error) from error
        write_atomic(self.path, json.dumps(document, indent=2) + "\n")

    def _parsed(self, document: Any) -> Spend:
        if not isinstance(document, dict):
            raise self._corrupt("holds no JSON object")
        if document.get("_schema_version") != _SCHEMA_VERSION:
            raise self._corrupt(f"is not of version {_SCHEMA_VERSION}, which this runner knows")
        still_open = document.get("open_session_usd")
        return Spend(
            self._amount("spent_usd", document.get("spent_usd")),
            self._count("sessions", document.get("sessions")),
            None if still_open is None else self._amount("open_session_usd", still_open),
            efforts_from(document.get("efforts")),
            None if still_open is None else purpose_from(document.get("open_session")),
        )

    def _amount(self, name: str, value: object) -> float:
        if isinstance(value, int | float) and not isinstance(value, bool):
            with suppress(OverflowError):
                amount = float(value)
                if isfinite(amount) and amount >= 0:
                    return amount
        raise self._corrupt(f"has no valid {name} (an amount in US dollars)")

    def _count(self, name: str, value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self._corrupt(f"has no valid {name} (a whole number)")
        return value

    def _corrupt(self, problem: str) -> StateCorruptError:
        return StateCorruptError(f"{self.path} {problem}.", hint=_HINT)


def spec_budget(project_dir: Path, total_usd: float | None) -> SpecBudget | None:
    """Return the budget of a project's spec, None where `total_usd` sets none.

    Raises:
        StateCorruptError: what was spent so far can't be told.
    """
    spent = SpendBook(project_dir).load()
    return None if total_usd is None else SpecBudget(total_usd, spent.total_usd)


class Spending:
    """A subscriber that records what a run costs.

    Where the file can't be written, a run with a budget for the spec starts no further session;
    without one it says so once and goes on.

    Args:
        book: must be loadable.
        publish: gets a notice where the file can't be written.
        budgeted: whether the spec has a budget.
    """

    def __init__(self, book: SpendBook, publish: RunSink, *, budgeted: bool) -> None:
        self._book = book
        self._publish = publish
        self._budgeted = budgeted
        self._spend = book.load()
        self._warned = False

    def __call__(self, event: RunEvent) -> None:
        """Take in one event.

        Raises:
            StateWriteError: a session was about to start, and what it costs could not be held
                against the budget.
        """
        match event:
            case SessionStarted():
                self._begin(Purpose.of(event))
            case SessionActivity(event=StreamUsage(estimated_usd=amount)):
                self._estimate(amount)
            case SessionEnded():
                result = event.result
                self._try(self._spend.ended(result.cost_usd, result.duration_seconds))
            case _:
                pass

    def _begin(self, purpose: Purpose) -> None:
        spend = self._spend.begun(purpose)
        if self._budgeted:
            self._book.save(spend)
            self._spend = spend
        else:
            self._try(spend)

    def _estimate(self, amount: float) -> None:
        known = self._spend.open_usd or 0.0
        if amount > known and amount - known >= min(ESTIMATE_STEP_USD, known / 2):
            self._try(replace(self._spend, open_usd=amount))

    def _try(self, spend: Spend) -> None:
        """Note and write; what could not be written goes along with the next write."""
        self._spend = spend
        try:
            self._book.save(spend)
        except StateWriteError as error:
            if not self._warned:
                self._warned = True
                message = f"What the spec has cost could not be saved: {error.message}"
                self._publish(Notice("warning", message, error.hint))
