"""What GitHub Actions gets from a run: a step summary and step outputs (CONTRACT §3)."""

import json
import re
import secrets
from collections.abc import Mapping
from pathlib import Path

from runner.cli.durations import format_cost, format_duration
from runner.cli.inert import inert, inert_lines
from runner.cli.result import ResultObject, result_object
from runner.loop.events import RunEnded, RunEvent, StatusChanged

_MARKUP = re.compile(r"([!-/:-@\[-`{-~])")  # Markdown lets any ASCII punctuation be escaped
_CELL_LIMIT = 200


def markdown_text(text: str, limit: int = _CELL_LIMIT) -> str:
    """Return `text` as one line of Markdown that shows its characters and does nothing."""
    return _MARKUP.sub(r"\\\1", inert(text, limit))


def summary_markdown(result: ResultObject, statuses: Mapping[str, StatusChanged]) -> str:
    """Return the step summary.

    Args:
        result: the result object.
        statuses: the last status change of each deliverable that changed in this run.
    """
    counts = result["deliverables"]
    facts = (
        ("Exit", f"`{result['exit_reason']}` ({result['exit_code']})"),
        ("Deliverables", f"{counts['passed']}/{counts['total']} passed"),
        ("Blocked", ", ".join(map(markdown_text, result["blocked_ids"])) or "none"),
        ("Agent sessions", str(result["agent_sessions"])),
        ("Cost", markdown_text(format_cost(result["total_cost_usd"]))),
        ("Duration", format_duration(result["duration_seconds"])),
    )
    lines = [f"### runner {markdown_text(result['command'])}: {markdown_text(result['message'])}"]
    lines += ["", "| | |", "| --- | --- |", *(f"| {name} | {value} |" for name, value in facts)]
    if statuses:
        lines += ["", "| Deliverable | Status | |", "| --- | --- | --- |"]
        lines += [_row(change) for change in statuses.values()]
    if result["hint"]:
        lines += ["", markdown_text(result["hint"], 1000)]
    return "\n".join(lines) + "\n\n"


def _row(change: StatusChanged) -> str:
    cells = (change.deliverable_id, change.status, change.description)
    return f"| {' | '.join(map(markdown_text, cells))} |"


def output_lines(result: ResultObject) -> str:
    """Return the result fields as step outputs; counts become `deliverables_total` and so on."""
    fields: dict[str, object] = {**result}
    del fields["type"], fields["deliverables"]
    fields |= {f"deliverables_{name}": count for name, count in result["deliverables"].items()}
    return "".join(_assignment(name, _output_text(value)) for name, value in fields.items())


def _output_text(value: object) -> str:
    if value is None:
        return ""
    return "\n".join(inert_lines(value)) if isinstance(value, str) else json.dumps(value)


def _assignment(name: str, value: str) -> str:
    if value.isprintable():
        return f"{name}={value}\n"
    # The delimiter can't be guessed, so no text can end its value early and set another output.
    delimiter = f"runner_{secrets.token_hex(16)}"
    return f"{name}<<{delimiter}\n{value}\n{delimiter}\n"


class GithubReporter:
    """Follows a run and writes the files that GitHub Actions names in the environment."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._summary = environ.get("GITHUB_STEP_SUMMARY")
        self._output = environ.get("GITHUB_OUTPUT")
        self._statuses: dict[str, StatusChanged] = {}

    @property
    def wanted(self) -> bool:
        """Whether the environment names a file to write."""
        return bool(self._summary or self._output)

    def __call__(self, event: RunEvent) -> None:
        """Take in one event.

        Raises:
            OSError: at the end of the run, when a file could not be written.
        """
        if isinstance(event, StatusChanged):
            self._statuses[event.deliverable_id] = event
        elif isinstance(event, RunEnded):
            self._write(result_object(event))

    def _write(self, result: ResultObject) -> None:
        if self._output:
            _append(self._output, output_lines(result))
        if self._summary:
            _append(self._summary, summary_markdown(result, self._statuses))


def _append(path: str, text: str) -> None:
    with Path(path).open("a", encoding="utf-8", errors="replace") as file:
        file.write(text)
