"""What GitHub Actions gets from a run: summary, outputs and annotations (CONTRACT §3)."""

import json
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path

from runner.app.result import ResultObject, result_object
from runner.events import RunEnded, RunEvent, StatusChanged
from runner.records.phases import proof_of
from runner.report.phase_lines import effort_text, progress_text, standing
from runner.text.durations import format_duration
from runner.text.messages import format_cost
from runner.text.safe import code, inert, inert_lines, inline

_CELL_LIMIT = 200


def markdown_text(text: str, limit: int = _CELL_LIMIT) -> str:
    """Return `text` as a part of one line of Markdown, "" where there is none."""
    return inline(text, limit) if text else ""


def summary_markdown(result: ResultObject, statuses: Mapping[str, StatusChanged]) -> str:
    """Return the step summary.

    Args:
        result: the result object.
        statuses: the last status change of each deliverable that changed in this run.
    """
    counts = result["deliverables"]
    facts = (
        ("Exit", f"`{result['exit_reason']}` ({result['exit_code']})"),
        ("Deliverables", f"{counts['passed']}/{counts['total']} passed{_remark(result)}"),
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
    lines += _phases(result)
    for text in inert_lines(result["hint"] or ""):
        # An indented line is a command to copy; as a paragraph of its own it can be.
        lines += ["", code(text.strip()) if text.startswith(" ") else markdown_text(text, 1000)]
    return "\n".join(lines) + "\n\n"


def _remark(result: ResultObject) -> str:
    rows = result["phases"]
    return proof_of(result["deliverables"]["claimed"], rows).remark if rows else ""


def _phases(result: ResultObject) -> list[str]:
    if not result["phases"]:
        return []
    rows = ["", "| Phase | Done | Stands | Took |", "| --- | --- | --- | --- |"]
    for phase in result["phases"]:
        cells = (
            phase["phase_id"],
            progress_text(phase),
            ", ".join(standing(phase)),
            effort_text(phase),
        )
        rows.append(f"| {' | '.join(map(markdown_text, cells))} |")
    return rows


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


def annotations(result: ResultObject, statuses: Mapping[str, StatusChanged]) -> list[str]:
    """Return a workflow command for each blocked deliverable and each gate that is not passed."""
    found = []
    for name in result["blocked_ids"]:
        description = statuses[name].description if name in statuses else "See .runner-note.md"
        found.append(_annotation("warning", f"Blocked: {name}", description))
    for row in result["phases"]:
        verdict = f"The review says {row['verdict']}: {row['review_path']}"
        if row["gate_status"] == "failed":
            found.append(_annotation("error", f"Gate failed: {row['phase_id']}", verdict))
        elif row["awaits_acknowledgement"]:
            title = f"Gate waits for a person: {row['phase_id']}"
            found.append(_annotation("warning", title, verdict))
    return found


def _annotation(level: str, title: str, message: str) -> str:
    return f"::{level} title={_command_text(title, ',:')}::{_command_text(message)}"


def _command_text(text: str, special: str = "") -> str:
    """One line for a workflow command, with `special` characters escaped as it wants them."""
    text = inert(text, _CELL_LIMIT).replace("%", "%25")
    for character in special:
        text = text.replace(character, f"%{ord(character):02X}")
    return text


class GithubReporter:
    """Follows a run; at its end writes the files that GitHub Actions names in the environment.

    Args:
        environ: GITHUB_STEP_SUMMARY, GITHUB_OUTPUT and GITHUB_ACTIONS are read.
        write: gets the annotations, which GitHub reads from stdout and stderr alike.
    """

    def __init__(self, environ: Mapping[str, str], write: Callable[[str], None]) -> None:
        self._write_text = write
        self._annotates = environ.get("GITHUB_ACTIONS") == "true"
        self._summary = environ.get("GITHUB_STEP_SUMMARY")
        self._output = environ.get("GITHUB_OUTPUT")
        self._statuses: dict[str, StatusChanged] = {}

    @property
    def wanted(self) -> bool:
        """Whether the environment asks for anything."""
        return bool(self._summary or self._output or self._annotates)

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
        if self._annotates:
            self._write_text("".join(f"{text}\n" for text in annotations(result, self._statuses)))
        if self._output:
            _append(self._output, output_lines(result))
        if self._summary:
            _append(self._summary, summary_markdown(result, self._statuses))


def _append(path: str, text: str) -> None:
    with Path(path).open("a", encoding="utf-8", errors="replace") as file:
        file.write(text)
