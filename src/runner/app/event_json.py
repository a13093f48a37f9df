"""Events as JSON objects. Their fields are those of the event classes, so code and schema agree."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from runner import events
from runner.app.result import result_object

VERSION = 1
"""Raised when a field is taken away or changes its meaning; additions don't raise it."""

EVENT_TYPES: Mapping[type, str] = MappingProxyType(
    {
        events.RunStarted: "run_started",
        events.SessionStarted: "session_started",
        events.StreamThinking: "agent_thinking",
        events.StreamText: "agent_text",
        events.StreamToolInvocation: "tool_invoked",
        events.StreamToolResponse: "tool_answered",
        events.StreamToolDenied: "tool_denied",
        events.StreamApiRetry: "api_retry",
        events.StreamUsage: "usage",
        events.StreamError: "session_error",
        events.StreamEnd: "stream_ended",
        events.SessionEnded: "session_ended",
        events.StatusChanged: "status_changed",
        events.DeliverablesPlanned: "deliverables_planned",
        events.Waiting: "waiting",
        events.Checking: "checking",
        events.Notice: "notice",
        events.RunEnded: "result",
    }
)

_RENAMED: Mapping[tuple[type, str], str] = MappingProxyType(
    {(events.RunStarted, "version"): "runner_version"}
)


def field_name(kind: type, name: str) -> str:
    """Return the JSON name of a field; one would hide a field that every object has."""
    return _RENAMED.get((kind, name), name)


def event_object(event: events.RunEvent, now: datetime) -> dict[str, Any]:
    """Return the JSON object of an event.

    A SessionActivity is its stream event; a RunEnded is the result object of CONTRACT §3.

    Args:
        event: the event.
        now: when it happened, with a time zone.
    """
    happened: Any = event.event if isinstance(event, events.SessionActivity) else event
    if isinstance(happened, events.RunEnded):
        content: dict[str, Any] = {**result_object(happened)}
    else:
        content = _plain(happened)
    return {
        "type": EVENT_TYPES[type(happened)],
        "version": VERSION,
        "time": timestamp(now),
        **content,
    }


def timestamp(moment: datetime) -> str:
    """Return `2026-01-31T12:00:00.123Z`."""
    text = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        names = ((field.name, field_name(type(value), field.name)) for field in fields(value))
        return {shown: _plain(getattr(value, name)) for name, shown in names}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value
