"""Read what verifications left in `.runner/autonomy/receipts/`; written by `agent.verifying`."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.deliverables.verification_conditions import Conditions, load_conditions
from runner.deliverables.workspace import STATE_DIRECTORY
from runner.files import read_regular
from runner.text.safe import end_of, visible

BASELINE = "baseline"
"""Stands for the step of commands that ran before any work; such a run leaves no receipt."""

_MAX_JSON_BYTES = 4 * 1024 * 1024
_MAX_LOG_BYTES = 1024 * 1024
_STEP_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")


@dataclass(frozen=True, slots=True)
class KeptResult:
    """What one command gave; `output` is the end of what it printed, as harmless text.

    `output_digest` is SHA-256 in hex of all that it printed, empty where nobody says.
    """

    command: str
    exit_code: int
    output: str
    output_digest: str = ""


@dataclass(frozen=True, slots=True)
class KeptRun:
    """One run of a step's verification commands; `at` is ISO 8601.

    Attributes:
        conditions: where they ran; None for runs of versions that did not say.
    """

    step_id: str
    attempt: int
    at: str
    results: tuple[KeptResult, ...]
    conditions: Conditions | None = None

    @property
    def passed(self) -> bool:
        """Whether every command exited with 0."""
        return all(result.exit_code == 0 for result in self.results)


def receipts_folder(project_dir: Path) -> Path:
    """Return where verifications keep output and receipts."""
    return project_dir / STATE_DIRECTORY / "autonomy" / "receipts"


def command_hash(command: str) -> str:
    """Return the hash under which a command is issued."""
    return hashlib.sha256(command.encode("utf-8", "surrogatepass")).hexdigest()


def latest_run(
    project_dir: Path, commands: Iterable[str], *, output_characters: int
) -> KeptRun | None:
    """Return the newest run that any of the commands took part in, None when there is none.

    Damaged receipts are passed over.

    Args:
        output_characters: how much of each output is given.
    """
    wanted = {command_hash(command) for command in commands}
    runs = [(r["issued_at"], path, r) for path, r in _receipts(project_dir) if _hashes(r) & wanted]
    if not runs:
        return None
    _, path, receipt = max(runs, key=lambda run: (run[0], str(run[1])))
    return _kept(path, receipt, output_characters)


def runs_of_step(
    project_dir: Path, step_id: str, *, most: int, output_characters: int
) -> tuple[KeptRun, ...]:
    """Return the newest runs of a step's commands, oldest first; damaged ones are passed over.

    Args:
        step_id: of any origin: one that can't be a step's has no runs.
        most: how many runs are given.
        output_characters: how much of each output is given.
    """
    found = []
    for path in _receipts_of_step(project_dir, step_id)[-most:]:
        receipt = _json(path)
        # Whatever is wrong inside is damage, too.
        with suppress(KeyError, TypeError, ValueError, AttributeError, OverflowError):
            if isinstance(receipt["issued_at"], str):
                found.append(_kept(path, receipt, output_characters))
    return tuple(found)


def runs_on_disk(project_dir: Path, step_id: str) -> int:
    """Return how many runs of a step's commands left a receipt, damaged ones included."""
    return len(_receipts_of_step(project_dir, step_id))


def _receipts_of_step(project_dir: Path, step_id: str) -> list[Path]:
    if not _STEP_ID.fullmatch(step_id):
        return []
    attempts = (receipts_folder(project_dir) / step_id).glob("*/receipt.json")
    return sorted((p for p in attempts if p.parent.name.isdecimal()), key=_attempt)


def accepted_receipts(project_dir: Path) -> dict[str, str]:
    """Return where the receipts are that the control plane accepted, by their hash.

    The paths are relative to the project. A file that can't be read is passed over.
    """
    found = {}
    for path in sorted(receipts_folder(project_dir).glob("auto_*.json")):
        with suppress(OSError):
            content = read_regular(path, limit=_MAX_JSON_BYTES, within=project_dir)
            digest = hashlib.sha256(content).hexdigest()
            found[f"sha256:{digest}"] = path.relative_to(project_dir).as_posix()
    return found


def _attempt(path: Path) -> int:
    return int(path.parent.name)


def _receipts(project_dir: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    for path in receipts_folder(project_dir).glob("*/*/receipt.json"):
        receipt = _json(path)
        if isinstance(receipt, dict) and isinstance(receipt.get("issued_at"), str):
            yield path, receipt


def _hashes(receipt: dict[str, Any]) -> set[str]:
    try:
        return {str(result["command_hash"]) for result in receipt["results"]}
    except (KeyError, TypeError):
        return set()


def _kept(path: Path, receipt: dict[str, Any], characters: int) -> KeptRun:
    commands = _json(path.with_name("commands.json"))
    texts = commands if isinstance(commands, list) else []
    results = []
    for number, result in enumerate(receipt["results"]):
        text = str(texts[number]) if number < len(texts) else result["command_hash"]
        output = _output(path.with_name(f"{number + 1:02}.log"), characters)
        digest = str(result.get("output_digest") or "")
        results.append(KeptResult(text, int(result.get("exit_code", -1)), output, digest))
    attempt = int(path.parent.name) if path.parent.name.isdecimal() else 1
    return KeptRun(
        path.parent.parent.name,
        attempt,
        receipt["issued_at"],
        tuple(results),
        load_conditions(path.parent),
    )


def _output(path: Path, characters: int) -> str:
    try:
        data = read_regular(path, limit=_MAX_LOG_BYTES)
    except OSError:
        return "[runner: its output is no longer there]"
    return end_of(visible(data.decode("utf-8", errors="replace")).strip("\n"), characters)


def _json(path: Path) -> Any:
    try:
        return json.loads(read_regular(path, limit=_MAX_JSON_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
