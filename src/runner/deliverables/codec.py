"""Between the JSON of `status.json` and the model (seed 001 §4.2, CONTRACT §4).

Reading accepts everything Autonoe or a careful person writes: unknown fields, any id, no
dates, `blocked` left out. What is wrong or ambiguous is refused, never guessed. Writing
changes only what a transition changed in the JSON that was read, so unknown fields, the order
of fields and spellings such as `"phase": null` survive.
"""

import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, TypeVar

from runner.deliverables.document import InvalidValueError, Pointer, type_name
from runner.deliverables.model import Deliverable, Phase, Status, StatusFile
from runner.text.safe import has_controls

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
# The spec id becomes part of file names.
_SPEC_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_MAX_ID_LENGTH = 200

_T = TypeVar("_T")
_Json = Mapping[str, Any]


def decode(raw: _Json, *, derived_spec_id: str) -> StatusFile:
    """Return what the document says.

    Args:
        raw: the whole document.
        derived_spec_id: stands in for a `specId` that is missing.

    Raises:
        InvalidValueError: something is missing, of the wrong type, or contradicts itself.
    """
    return StatusFile(
        spec_id=_optional(raw, "specId", (), _spec_id) or derived_spec_id,
        created_at=_optional(raw, "createdAt", (), _date),
        updated_at=_optional(raw, "updatedAt", (), _date),
        phases=_optional(raw, "phases", (), _phases) or (),
        deliverables=_required(raw, "deliverables", (), _deliverables),
    )


def encode(new: StatusFile, *, old: StatusFile | None, raw: _Json) -> dict[str, Any]:
    """Return the document for `new`, as a changed copy of `raw`.

    Args:
        new: what the document shall say.
        old: what `raw` says, None when there is no document yet.
        raw: the document that was read, empty when there is none.
    """
    document = _merge(raw, _file_fields(new), _file_fields(old) if old else {})
    if new.phases or raw.get("phases"):
        raw_phases = {p["id"]: p for p in raw.get("phases") or ()}
        old_phases = {p.id: p for p in old.phases} if old else {}
        document["phases"] = [
            _merge_entry(p, _phase_fields, raw_phases, old_phases) for p in new.phases
        ]
    raw_items = {d["id"]: d for d in raw.get("deliverables", ())}
    old_items = {d.id: d for d in old.deliverables} if old else {}
    document["deliverables"] = [
        _merge_entry(d, _deliverable_fields, raw_items, old_items) for d in new.deliverables
    ]
    return document


def _merge_entry(
    new: _T, fields: Callable[[_T], _Json], raws: Mapping[str, _Json], olds: Mapping[str, _T]
) -> dict[str, Any]:
    new_fields = fields(new)
    old = olds.get(new_fields["id"])
    if old is None:
        return _merge({}, new_fields, {})
    return _merge(raws[new_fields["id"]], new_fields, fields(old))


def _merge(raw: _Json, new: _Json, old: _Json) -> dict[str, Any]:
    """Copy `raw` with the fields that differ between `old` and `new`; None means left out."""
    result = dict(raw)
    for key, value in new.items():
        if key in old and old[key] == value:
            continue
        if value is None:
            result.pop(key, None)
        else:
            result[key] = value
    return result


def _file_fields(file: StatusFile) -> _Json:
    return {
        "createdAt": _iso(file.created_at),
        "updatedAt": _iso(file.updated_at),
        "specId": file.spec_id,
    }


def _phase_fields(phase: Phase) -> _Json:
    return {"id": phase.id, "title": phase.title, "verification": list(phase.verification) or None}


def _deliverable_fields(deliverable: Deliverable) -> _Json:
    return {
        "id": deliverable.id,
        "description": deliverable.description,
        "acceptanceCriteria": list(deliverable.acceptance_criteria),
        "passed": deliverable.status is Status.PASSED,
        "blocked": deliverable.status is Status.BLOCKED,
        "blockedReason": deliverable.blocked_reason,
        "deprecatedAt": _iso(deliverable.deprecated_at),
        "phase": deliverable.phase,
        "dependsOn": list(deliverable.depends_on) or None,
        "verification": list(deliverable.verification) or None,
    }


def _iso(day: date | None) -> str | None:
    return None if day is None else day.isoformat()


def _deliverables(value: Any, at: Pointer) -> tuple[Deliverable, ...]:
    return _unique_entries(value, at, _deliverable, lambda d: d.id)


def _phases(value: Any, at: Pointer) -> tuple[Phase, ...]:
    return _unique_entries(value, at, _phase, lambda p: p.id)


def _unique_entries(
    value: Any, at: Pointer, read: Callable[[Any, Pointer], _T], id_of: Callable[[_T], str]
) -> tuple[_T, ...]:
    seen: dict[str, _T] = {}
    for index, item in enumerate(_array(value, at)):
        entry = read(item, (*at, index))
        if id_of(entry) in seen:
            raise InvalidValueError((*at, index, "id"), f'the id "{id_of(entry)}" stands twice')
        seen[id_of(entry)] = entry
    return tuple(seen.values())


def _phase(value: Any, at: Pointer) -> Phase:
    raw = _object(value, at)
    phase_id = _required(raw, "id", at, _id)
    return Phase(
        id=phase_id,
        title=_optional(raw, "title", at, _string) or phase_id,
        verification=_optional(raw, "verification", at, _strings) or (),
    )


def _deliverable(value: Any, at: Pointer) -> Deliverable:
    raw = _object(value, at)
    return Deliverable(
        id=_required(raw, "id", at, _id),
        description=_required(raw, "description", at, _string),
        acceptance_criteria=_required(raw, "acceptanceCriteria", at, _strings),
        status=_status(raw, at),
        blocked_reason=_blocked_reason(raw),
        deprecated_at=_optional(raw, "deprecatedAt", at, _date),
        phase=_optional(raw, "phase", at, _id),
        depends_on=_optional(raw, "dependsOn", at, _strings) or (),
        verification=_optional(raw, "verification", at, _strings) or (),
    )


def _status(raw: _Json, at: Pointer) -> Status:
    passed = _required(raw, "passed", at, _boolean)
    blocked = _optional(raw, "blocked", at, _boolean) or False
    if passed and blocked:
        raise InvalidValueError(
            (*at, "blocked"), f'"{raw["id"]}" is both passed and blocked; only one can be true'
        )
    if blocked:
        return Status.BLOCKED
    return Status.PASSED if passed else Status.PENDING


def _blocked_reason(raw: _Json) -> str | None:
    """Return the reason of a block. Another program may use the field: it is never refused."""
    reason = raw.get("blockedReason")
    return reason if isinstance(reason, str) and raw.get("blocked") else None


def _required(raw: _Json, key: str, at: Pointer, read: Callable[[Any, Pointer], _T]) -> _T:
    if key not in raw:
        raise InvalidValueError(at, f'"{key}" is missing')
    return read(raw[key], (*at, key))


def _optional(raw: _Json, key: str, at: Pointer, read: Callable[[Any, Pointer], _T]) -> _T | None:
    return None if raw.get(key) is None else read(raw[key], (*at, key))


def _object(value: Any, at: Pointer) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _expected("an object", value, at)
    return value


def _array(value: Any, at: Pointer) -> list[Any]:
    if not isinstance(value, list):
        raise _expected("an array", value, at)
    return value


def _string(value: Any, at: Pointer) -> str:
    if not isinstance(value, str):
        raise _expected("a string", value, at)
    return value


def _boolean(value: Any, at: Pointer) -> bool:
    if not isinstance(value, bool):
        raise _expected("true or false", value, at)
    return value


def _strings(value: Any, at: Pointer) -> tuple[str, ...]:
    return tuple(_string(v, (*at, i)) for i, v in enumerate(_array(value, at)))


def _id(value: Any, at: Pointer) -> str:
    text = _string(value, at)
    if not text.strip() or len(text) > _MAX_ID_LENGTH or has_controls(text, layout=""):
        raise InvalidValueError(
            at, f"{_name(at)} must be 1 to {_MAX_ID_LENGTH} characters, none of them invisible"
        )
    return text


def _spec_id(value: Any, at: Pointer) -> str:
    text = _string(value, at)
    if not _SPEC_ID.fullmatch(text):
        raise InvalidValueError(at, "specId must be letters, digits, dots, hyphens, underscores")
    return text


def _date(value: Any, at: Pointer) -> date:
    text = _string(value, at)
    try:
        if _DATE.fullmatch(text):
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise InvalidValueError(at, f"{_name(at)} must be a date such as 2025-01-10")


def _expected(what: str, value: Any, at: Pointer) -> InvalidValueError:
    return InvalidValueError(at, f"{_name(at)} must be {what}, found {type_name(value)}")


def _name(at: Pointer) -> str:
    """Say where a value stands in the way people do: `deliverables[3].passed`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in at)
    return text.removeprefix(".")
