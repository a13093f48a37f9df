"""`runner journal` and what it shares with `runner session events`."""

from collections.abc import Iterator, Mapping
from typing import Any

from runner.cli.control.commands import ControlCommand, control_group
from runner.cli.control.scene import Lines, Scene, clock
from runner.cli.help_text import help_text
from runner.text.columns import wrap


def event_lines(*words: str) -> Lines:
    """Return what shows a page of a journal; `words` is the command that shows more of it."""

    def lines(scene: Scene) -> Iterator[str]:
        events = scene.data["events"]
        if not events:
            yield "The journal holds nothing more."
        for event in events:
            yield from _event(event, scene.width)
        cursor = scene.pagination.get("cursor")
        if cursor is not None:
            yield ""
            yield from scene.next(
                *words, "--session-id", scene.data["session_id"], "--cursor", cursor,
                meaning="Older entries.",
            )  # fmt: skip

    return lines


def _event(event: Mapping[str, Any], width: int) -> Iterator[str]:
    start = f"#{event['seq']}  {_when(event['at'])}  {event['event_type']}: "
    yield from wrap(str(event["title"]), width, "    ", start)
    yield from wrap(str(event["content"] or ""), width, "    ")


def _when(moment: Any) -> str:
    try:
        return clock(moment)
    except (TypeError, ValueError):
        return "at an unknown time"  # an edited line


def _added(scene: Scene) -> Iterator[str]:
    data = scene.data
    yield f"Entry #{data['seq']} is in the journal of {data['session_id']}."
    yield from scene.next("journal", "list", "--session-id", data["session_id"])


_LIST = ControlCommand(
    "journal",
    "list",
    help_text(
        "Show a session's journal, newest first.",
        ("runner journal list", "of the live session"),
        ("runner journal list --limit 5", "the last five entries"),
        ("runner journal list --session-id auto_…", "of any session, also an ended one"),
        details="Every change of the session, every report and every review has an entry.",
    ),
    event_lines("journal", "list"),
)

_ADD = ControlCommand(
    "journal",
    "add",
    help_text(
        "Add a note to a session's journal.",
        ("runner journal add --title 'Key rotated'", "to the live session's"),
        ("runner journal add --title Note --content 'What happened, and why.'", ""),
    ),
    _added,
)

journal = control_group("The journal of a session: what happened, entry by entry.", _LIST, _ADD)
