"""The lines that `--debug` adds: every event of the agent with its content (seed 001 §3.5)."""

import json
from collections.abc import Iterator

from runner.cli.presenter.activity import retry_label, tool_label
from runner.cli.presenter.lines import Line, Tone, line
from runner.events import (
    RunEvent,
    SessionActivity,
    StreamApiRetry,
    StreamEnd,
    StreamText,
    StreamThinking,
    StreamToolInvocation,
    StreamToolResponse,
)
from runner.text.safe import inert, inert_lines

_THINKING_LIMIT = 200
_MARGIN = "    | "  # keeps a line of a tool's output from passing for one of ours


def debug_lines(event: RunEvent) -> list[Line]:
    """Return the extra lines for `event`; those that are always shown are not among them."""
    if not isinstance(event, SessionActivity):
        return []
    return [line(text, Tone.FAINT) for text in _texts(event)]


def _texts(activity: SessionActivity) -> Iterator[str]:
    match activity.event:
        case StreamThinking(text=text):
            yield f"  [thinking] {inert(text, _THINKING_LIMIT)}".rstrip()
        case StreamText(text=text):
            yield "  [text]"
            yield from _block(text)
        case StreamToolInvocation(name=name, input=arguments):
            yield f"  [tool] {tool_label(name)}"
            yield from _block(json.dumps(arguments, ensure_ascii=False, indent=2, default=str))
        case StreamToolResponse(content=content, is_error=is_error):
            yield "  [tool error]" if is_error else "  [tool answer]"
            yield from _block(content)
        case StreamApiRetry() as retry:
            yield f"  [retry] {retry_label(retry)}"
        case StreamEnd():
            yield "  [end]"
        case _:
            return


def _block(text: str) -> Iterator[str]:
    return (f"{_MARGIN}{content}".rstrip() for content in inert_lines(text))
