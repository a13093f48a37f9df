"""The facts of a report as one JSON object."""

from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any

from runner.report.facts import Report
from runner.report.formats import iso

VERSION = 1
"""Raised when a field is taken away or changes its meaning; additions don't raise it."""


def report_object(report: Report) -> dict[str, Any]:
    """Return the object of `--json`; times are ISO 8601 in UTC, or null."""
    return {"type": "report", "version": VERSION, **_plain(report)}


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, datetime):
        return iso(value)
    return round(value, 6) if isinstance(value, float) else value
