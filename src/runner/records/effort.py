"""What agent sessions took, by what they were for: money, time, and how many there were."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

from runner.events import SessionStarted


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a session was for; phase and deliverable are None where it was not for one."""

    instruction: str
    phase_id: str | None = None
    task_id: str | None = None

    @classmethod
    def of(cls, session: SessionStarted) -> "Purpose":
        return cls(session.instruction.value, session.phase_id, session.task_id)

    def as_object(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Effort:
    """What sessions took: US dollars, seconds at work, and their number."""

    cost_usd: float = 0.0
    seconds: float = 0.0
    sessions: int = 0

    def __add__(self, other: "Effort") -> "Effort":
        return Effort(
            self.cost_usd + other.cost_usd,
            self.seconds + other.seconds,
            self.sessions + other.sessions,
        )

    def as_object(self) -> dict[str, Any]:
        """Return it for JSON: `cost_usd`, `agent_seconds`, `agent_sessions`."""
        return {
            "cost_usd": round(self.cost_usd, 6),
            "agent_seconds": round(self.seconds, 3),
            "agent_sessions": self.sessions,
        }


Efforts = Mapping[Purpose, Effort]


def total(efforts: Iterable[Effort]) -> Effort:
    """Return all of them together."""
    return sum(efforts, Effort())


def of_phase(efforts: Efforts, phase_id: str) -> Effort:
    """Return what a phase took, its reviews and mending sessions included."""
    return total(effort for purpose, effort in efforts.items() if purpose.phase_id == phase_id)


def of_deliverables(efforts: Efforts) -> dict[str, Effort]:
    """Return what each deliverable took that a session was bound to."""
    found: dict[str, Effort] = {}
    for purpose, effort in efforts.items():
        if purpose.task_id is not None:
            found[purpose.task_id] = found.get(purpose.task_id, Effort()) + effort
    return found


def efforts_object(efforts: Efforts) -> list[dict[str, Any]]:
    """Return efforts for JSON; `efforts_from` reads them again."""
    return [{**asdict(purpose), **asdict(effort)} for purpose, effort in efforts.items()]


def efforts_from(value: object) -> dict[Purpose, Effort]:
    """Return the efforts that JSON holds; an entry that says nothing sensible is left out."""
    found: dict[Purpose, Effort] = {}
    for entry in value if isinstance(value, list) else ():
        purpose, effort = purpose_from(entry), _effort(entry)
        if purpose is not None and effort is not None:
            found[purpose] = found.get(purpose, Effort()) + effort
    return found


def purpose_from(value: object) -> Purpose | None:
    """Return the purpose that a JSON object names, None when it names none."""
    if not isinstance(value, dict) or not isinstance(value.get("instruction"), str):
        return None
    phase_id, task_id = value.get("phase_id"), value.get("task_id")
    if not all(name is None or isinstance(name, str) for name in (phase_id, task_id)):
        return None
    return Purpose(value["instruction"], phase_id, task_id)


def _effort(entry: Any) -> Effort | None:
    cost, seconds = _amount(entry, "cost_usd"), _amount(entry, "seconds")
    sessions = _amount(entry, "sessions")
    if cost is None or seconds is None or sessions is None:
        return None
    return Effort(cost, seconds, int(sessions))


def _amount(entry: Any, name: str) -> float | None:
    value = entry.get(name) if isinstance(entry, dict) else None
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        amount = float(value)
    except OverflowError:  # a whole number beyond all measure
        return None
    return amount if isfinite(amount) and amount >= 0 else None
