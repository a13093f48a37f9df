"""What a phase was judged by: runs of its verification commands, and reviews."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from runner.files import read_regular
from runner.records.receipts import (
    KeptRun,
    accepted_receipts,
    command_hash,
    runs_of_step,
    runs_on_disk,
)
from runner.report.facts import CommandFact, FindingFact, Review, VerificationFact
from runner.report.words import Words, moment, name, rows, table
from runner.text.safe import visible

_ATTEMPTS, _COMMANDS = 4, 25
MOST_FINDINGS = 50
_COMMAND, _OUTPUT, _TITLE, _DETAIL, _DOCUMENT = 1_000, 2_500, 300, 1_500, 6_000
_MAX_BYTES = 1024 * 1024


@dataclass(frozen=True)
class Receipts:
    """Finds what runs of verification commands left.

    Attributes:
        accepted: the paths of accepted receipts by their hash.
        commands: the commands that the spec knows, by their hash.
        damaged: how many receipts can't be read, by the step whose commands were run.
    """

    project_dir: Path
    words: Words
    accepted: Mapping[str, str]
    commands: Mapping[str, str]
    damaged: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, project_dir: Path, words: Words, commands: Iterable[str]) -> "Receipts":
        known = {command_hash(command): command for command in commands}
        return cls(project_dir, words, accepted_receipts(project_dir), known)

    def of_step(self, step_id: str, receipt_hash: str) -> list[VerificationFact]:
        """Return the runs of a step, oldest first.

        Args:
            receipt_hash: of the receipt that was accepted; empty where none was handed in.
        """
        kept = runs_of_step(
            self.project_dir, step_id, most=_ATTEMPTS, output_characters=_OUTPUT * 2
        )
        if lost := min(runs_on_disk(self.project_dir, step_id), _ATTEMPTS) - len(kept):
            self.damaged[step_id] = lost
        path = self.accepted.get(receipt_hash, "")
        if not kept:
            return [self._handed_in(step_id, path, receipt_hash)] if path else []
        # The last run is the one that was reported.
        runs = [self._run(run) for run in kept]
        last = replace(runs[-1], accepted=bool(path), receipt_path=path, receipt_hash=receipt_hash)
        return [*runs[:-1], last]

    def _run(self, run: KeptRun) -> VerificationFact:
        results = self.words.first(run.results, _COMMANDS, "commands of verifications")
        return VerificationFact(
            step_id=run.step_id,
            at=moment(run.at),
            attempt=run.attempt,
            passed=run.passed,
            accepted=False,
            commands=tuple(
                CommandFact(
                    self.words.text(result.command, _COMMAND),
                    result.exit_code,
                    result.output_digest[:64],
                    self.words.end(result.output, _OUTPUT),
                )
                for result in results
            ),
        )

    def _handed_in(self, step_id: str, path: str, receipt_hash: str) -> VerificationFact:
        """Return what a receipt says that another caller than `runner run` handed in."""
        receipt = table(_json(self.project_dir / path, self.project_dir))
        results = self.words.first(rows(receipt.get("results")), _COMMANDS, "commands")
        commands = tuple(self._command(result) for result in results)
        return VerificationFact(
            step_id=step_id,
            at=moment(receipt.get("issued_at")),
            attempt=1,
            passed=all(command.exit_code == 0 for command in commands),
            accepted=True,
            commands=commands,
            receipt_path=path,
            receipt_hash=receipt_hash,
        )

    def _command(self, result: Mapping[str, Any]) -> CommandFact:
        digest = name(result.get("command_hash")) or "?"
        text = self.commands.get(digest, f"command with the hash {digest}")
        code = result.get("exit_code")
        return CommandFact(
            self.words.text(text, _COMMAND),
            code if isinstance(code, int) else None,
            name(result.get("output_digest")) or "",
        )


@dataclass(frozen=True)
class Reviews:
    """Completes what the journal tells of reviews.

    Attributes:
        read: returns a review's file; raises OSError or ValueError.
    """

    read: Callable[[str], bytes]
    words: Words

    def complete(self, reviews: Iterable[Review], gate: Mapping[str, Any]) -> list[Review]:
        """Return reviews with findings in full, or with their text where only that is left.

        Args:
            gate: the phase's, which holds the findings of the last review.
        """
        return [self._completed(review, gate) for review in reviews]

    def _completed(self, review: Review, gate: Mapping[str, Any]) -> Review:
        found = rows(gate.get("findings"))
        if found and gate.get("gate_attempt_id") == review.attempt_id:
            findings = self.words.first(found, MOST_FINDINGS, "findings")
            told = tuple(finding_of(row, self.words) for row in findings)
            return replace(review, findings=told)
        return replace(review, document=self._document(review.path)) if review.findings else review

    def _document(self, path: str) -> str:
        try:
            content = self.read(path)
        except (OSError, ValueError):
            return f"[{path or 'The review'} can't be read.]"
        return self.words.text(visible(content.decode("utf-8", "replace")), _DOCUMENT)


def _json(path: Path, within: Path) -> Any:
    try:
        return json.loads(read_regular(path, limit=_MAX_BYTES, within=within))
    except (OSError, ValueError, RecursionError):
        return None


def finding_of(row: Mapping[str, Any], words: Words) -> FindingFact:
    """Return a finding of a gate, or of the review of a plan."""
    return FindingFact(
        severity=name(row.get("severity")) or "finding",
        title=words.text(row.get("title"), _TITLE),
        detail=words.text(row.get("detail"), _DETAIL),
        deliverable_id=name(row.get("deliverable_id") or row.get("deliverableId")),
        file=name(row.get("file")),
    )
