"""The HTML page of a report: one file that loads nothing and runs nothing.

What agents and programs wrote is hostile here. It gets into the page in two ways only, both of
which escape it: as one line that is `inert`, and as a `Block` of such lines.
"""

import base64
import hashlib
import os
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from runner.errors import StateWriteError, UsageError
from runner.files import read_regular, write_atomic
from runner.report import formats
from runner.report.facts import Report, Took
from runner.report.formats import iso
from runner.report.timeline import timeline_of
from runner.text.columns import fit
from runner.text.messages import plural, reason
from runner.text.safe import inert, inert_lines

GENERATOR = "runner report"
"""What the page calls its maker; a file without it is no report, and is not overwritten."""

_PACKAGE = "runner.report"
_ROWS = 400
"""Agent sessions in the table; the timeline has them all."""


class Block(str):
    """Text of several lines, each of them inert; still to be escaped like any other."""

    __slots__ = ()


def html_page(report: Report) -> str:
    """Return the page."""
    environment = _environment()
    css = _source(environment, "report.css")
    return environment.get_template("report.html.j2").render(
        report=report,
        timeline=timeline_of(report),
        generator=GENERATOR,
        css=Markup(css),  # noqa: S704 - ours, and no part of a report
        policy=_policy(css),
        dearest_phase=max((phase.took.cost_usd for phase in report.phases), default=0.0),
        longest_phase=max((phase.took.seconds for phase in report.phases), default=0.0),
        outside=_outside(report),
        rows=_ROWS,
        has_tokens=sum(1 for session in report.sessions if session.tokens is not None),
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(_PACKAGE, "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalized,
    )
    environment.filters |= {
        "block": _block,
        "clock": formats.clock,
        "cost": formats.cost,
        "duration": formats.duration,
        "instruction": formats.instruction,
        "iso": formats.iso,
        "lane": _lane,
        "outcome": formats.outcome,
        "plural": plural,
        "share": _share,
        "short": formats.short,
        "slug": _slug,
        "step": formats.step,
        "tokens": formats.tokens,
    }
    return environment


def _finalized(value: Any) -> Any:
    """Make every text that the template puts out inert, but for blocks and our own markup."""
    if isinstance(value, str) and not isinstance(value, Block | Markup):
        return inert(value)
    return value


def _block(text: str) -> Block:
    return Block("\n".join(inert_lines(text)))


def _lane(text: str) -> str:
    """Return what fits beside a lane of the timeline."""
    return fit(text, 24)


def _share(part: float, whole: float) -> str:
    """Return a part in percent, as a number of a drawing."""
    return f"{100 * part / whole:.1f}" if whole > 0 else "0"


def _slug(text: str) -> str:
    """Return a word that is safe as a class: what is not known is `other`."""
    known = (*formats.INSTRUCTIONS, "passed", "failed", "pending", "waived", "blocked")
    more = ("pass", "warn", "fail", "deprecated", "attention", "running", "stopped", "ended")
    return text if text in (*known, *more) else "other"


def _outside(report: Report) -> Took:
    """Return what sessions took that worked in no phase, as planning does."""
    inside = sum((phase.took for phase in report.phases), Took())
    everything = sum((work.took for work in report.work), Took())
    return Took(
        max(everything.cost_usd - inside.cost_usd, 0.0),
        max(everything.seconds - inside.seconds, 0.0),
        max(everything.sessions - inside.sessions, 0),
    )


def _source(environment: Environment, name: str) -> str:
    if environment.loader is None:
        return ""
    return environment.loader.get_source(environment, name)[0]


def _policy(css: str) -> str:
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


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


_HEAD_BYTES = 4096
_OTHER_NAME = "Name another file, e.g. report.html; `-` writes to stdout."


def check_target(path: Path) -> None:
    """Find out whether a report may be written to `path`, before anything is gathered.

    Raises:
        UsageError: it is a folder, something that is no report, or its folder is missing.
    """
    try:
        _check(path)
    except OSError as error:  # a name that is too long, say
        raise UsageError(
            f"{path} can't be written: {reason(error, named=True)}.", hint=_OTHER_NAME
        ) from error


def _check(path: Path) -> None:
    if path.is_symlink():
        raise UsageError(
            f"{path} is a symbolic link, and runner does not write through it.", hint=_OTHER_NAME
        )
    if path.is_dir():
        raise UsageError(f"{path} is a folder.", hint=_OTHER_NAME)
    if os.path.lexists(path):
        _require_report(path)
    elif not path.parent.is_dir():
        raise UsageError(
            f"{path} can't be written: there is no folder {path.parent}.",
            hint="Create the folder first, or name another file.",
        )


def write_page(path: Path, page: str) -> int:
    """Write a page, in one step that survives a crash; return its size in bytes.

    Raises:
        UsageError: see `check_target`; or it can't be written, and what was there still stands.
    """
    check_target(path)
    content = page.encode("utf-8", "replace")
    try:
        write_atomic(path, content)
    except StateWriteError as error:
        raise UsageError(error.message, hint=error.hint) from error
    return len(content)


def _require_report(path: Path) -> None:
    try:
        head = read_regular(path, limit=_HEAD_BYTES)
    except OSError as error:
        raise UsageError(
            f"{path} is there and can't be replaced: {error.strerror}.", hint=_OTHER_NAME
        ) from error
    if head and f'<meta name="generator" content="{GENERATOR}">'.encode() not in head:
        raise UsageError(
            f"{path} is there and is no report of runner; it is not overwritten.", hint=_OTHER_NAME
        )
