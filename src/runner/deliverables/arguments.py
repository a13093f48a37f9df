"""Turn the JSON that an agent gives to a tool into values, or say precisely what is wrong."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from runner.deliverables.document import type_name
from runner.deliverables.model import Status
from runner.deliverables.phasing import PhaseDraft
from runner.deliverables.schemas import (
    DEFAULT_LIST_LIMIT,
    MAX_LIST_LIMIT,
    STATUS_VALUES,
    TOOL_EXAMPLES,
)
from runner.deliverables.transitions import DeliverableDraft
from runner.errors import DeliverableError

_SHORTEST_REASON = 10
_LONGEST_REASON = 1000
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")

_T = TypeVar("_T")
_Reader = Callable[[Any, str], _T]


@dataclass(frozen=True, slots=True)
class Plan:
    """What `create` was asked for."""

    drafts: tuple[DeliverableDraft, ...]
    phases: tuple[PhaseDraft, ...]
    remove: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ListQuery:
    """What `list` was asked for; None means any."""

    status: Status | None
    verified: bool | None
    limit: int


class ArgumentReader:
    """Reads one tool's arguments. Every method raises DeliverableError with an example."""

    def __init__(self, tool: str) -> None:
        self._tool = tool

    def plan(self, args: Any) -> Plan:
        fields = self.fields(
            args, "the input", required=("deliverables",), optional=("phases", "remove")
        )
        items = self.array(fields["deliverables"], "deliverables")
        phases = self.array(fields.get("phases", []), "phases")
        return Plan(
            tuple(self._draft(v, f"deliverables[{i}]") for i, v in enumerate(items)),
            tuple(self._phase(v, f"phases[{i}]") for i, v in enumerate(phases)),
            _given(fields, "remove", self._strings) or (),
        )

    def deliverable_id(self, args: Any) -> str:
        fields = self.fields(args, "the input", required=("deliverableId",))
        return self.string(fields["deliverableId"], "deliverableId")

    def status_change(self, args: Any) -> tuple[str, Status, str | None]:
        """Return the deliverable's id, its new status, and the reason of a block."""
        fields = self.fields(
            args, "the input", required=("deliverableId", "status"), optional=("reason",)
        )
        deliverable_id = self.string(fields["deliverableId"], "deliverableId")
        status = self._status(fields["status"], "status")
        reason = self.string(fields.get("reason", ""), "reason")
        return deliverable_id, status, self._reason(reason) if status is Status.BLOCKED else None

    def _reason(self, text: str) -> str:
        reason = " ".join(_UNPRINTABLE.sub("\ufffd", text).split())
        if len(reason) < _SHORTEST_REASON:
            self.refuse(
                'blocked needs a "reason": what outside the project prevents it, how you found that '
                "out, and what a person has to provide. A reviewer examines it"
            )
        if len(reason) > _LONGEST_REASON:
            self.refuse(f"reason has {len(reason)} characters; say it in {_LONGEST_REASON}")
        return reason

    def query(self, args: Any) -> ListQuery:
        fields = self.fields(args, "the input", optional=("filter", "limit"))
        wanted = self.fields(fields.get("filter", {}), "filter", optional=("status", "verified"))
        return ListQuery(
            status=_given(wanted, "status", self._status, "filter."),
            verified=_given(wanted, "verified", self._boolean, "filter."),
            limit=_given(fields, "limit", self._limit) or DEFAULT_LIST_LIMIT,
        )

    def _draft(self, value: Any, at: str) -> DeliverableDraft:
        fields = self.fields(
            value,
            at,
            required=("id", "description", "acceptanceCriteria"),
            optional=("phase", "dependsOn", "verification"),
        )
        prefix = f"{at}."
        return DeliverableDraft(
            id=self.string(fields["id"], f"{at}.id"),
            description=self.string(fields["description"], f"{at}.description"),
            acceptance_criteria=self._strings(
                fields["acceptanceCriteria"], f"{at}.acceptanceCriteria"
            ),
            phase=_given(fields, "phase", self.string, prefix),
            depends_on=_given(fields, "dependsOn", self._strings, prefix) or (),
            verification=_given(fields, "verification", self._strings, prefix) or (),
        )

    def _phase(self, value: Any, at: str) -> PhaseDraft:
        fields = self.fields(value, at, required=("id", "title"), optional=("verification",))
        return PhaseDraft(
            id=self.string(fields["id"], f"{at}.id"),
            title=self.string(fields["title"], f"{at}.title"),
            verification=_given(fields, "verification", self._strings, f"{at}.") or (),
        )

    def fields(
        self, value: Any, at: str, *, required: tuple[str, ...] = (), optional: tuple[str, ...] = ()
    ) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            self._expected(at, "an object", value)
        for key in value:
            if key not in required + optional:
                self.refuse(f"{at} has the unknown field {str(key)[:80]!r}")
        for key in required:
            if key not in value:
                self.refuse(f"{at} has no {key!r}")
        return value

    def _status(self, value: Any, at: str) -> Status:
        if value not in STATUS_VALUES:
            shown = repr(value[:40]) if isinstance(value, str) else type_name(value)
            self.refuse(f"{at} must be one of {', '.join(STATUS_VALUES)}, not {shown}")
        return Status(value)

    def _limit(self, value: Any, at: str) -> int:
        is_number = isinstance(value, int) and not isinstance(value, bool)
        if not is_number or not 1 <= value <= MAX_LIST_LIMIT:
            self.refuse(f"{at} must be a whole number from 1 to {MAX_LIST_LIMIT}")
        return int(value)

    def array(self, value: Any, at: str) -> list[Any]:
        if not isinstance(value, list):
            self._expected(at, "an array", value)
        return value

    def _strings(self, value: Any, at: str) -> tuple[str, ...]:
        return tuple(self.string(v, f"{at}[{i}]") for i, v in enumerate(self.array(value, at)))

    def string(self, value: Any, at: str) -> str:
        if not isinstance(value, str):
            self._expected(at, "a string", value)
        return value

    def _boolean(self, value: Any, at: str) -> bool:
        if not isinstance(value, bool):
            self._expected(at, "true or false", value)
        return value

    def _expected(self, at: str, what: str, value: Any) -> NoReturn:
        self.refuse(f"{at} must be {what}, not {type_name(value)}")

    def refuse(self, what: str) -> NoReturn:
        raise DeliverableError(
            f"{self._tool}: {what}. Nothing was changed.",
            hint=f"Call it like this: {TOOL_EXAMPLES[self._tool]}",
        )


def _given(fields: Mapping[str, Any], key: str, read: _Reader[_T], prefix: str = "") -> _T | None:
    return read(fields[key], f"{prefix}{key}") if key in fields else None
