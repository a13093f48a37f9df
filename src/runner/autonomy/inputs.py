"""What callers hand in: reports and receipts (CONTRACT §6). Everything here is untrusted."""

import hashlib
import json
import re
from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    model_validator,
)

from runner.autonomy.enums import StepOutcome, StepType

Sha256Hex = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
StepId = Annotated[str, Field(pattern=r"^step_[0-9A-HJKMNP-TV-Z]{26}$")]
ShortText = Annotated[str, Field(max_length=256)]


def _written_as_a_date(value: object) -> object:
    """Refuse seconds since 1970, which the parser takes for a time in UTC, also in a string."""
    if isinstance(value, datetime) or re.match(r"\d{4}-\d\d-\d\d", str(value)):
        return value
    raise ValueError("a time in ISO 8601 with its zone is needed")


# Not strict, since the parser no longer sees JSON behind a validator; that one lets no number in.
IsoTime = Annotated[AwareDatetime, Field(strict=False), BeforeValidator(_written_as_a_date)]


class Input(BaseModel):
    """Base of what callers hand in: no unknown fields, no conversions but those JSON needs."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", defer_build=True)


class CommandResult(Input):
    """What running one verification command gave; `output_digest` is SHA-256 of its output."""

    command_hash: Sha256Hex
    exit_code: Annotated[int, Field(ge=-255, le=255)]
    output_digest: Sha256Hex


class Receipt(Input):
    """Proof that the commands of an `execute_verification` step were run."""

    step_id: StepId
    issued_at: IsoTime
    results: Annotated[tuple[CommandResult, ...], Field(max_length=1000)]


class StepReport(Input):
    """What became of a step: exactly one of `task_id` and `phase_id` says of what, or both."""

    step_id: StepId
    step_type: StepType
    task_id: ShortText | None = None
    phase_id: ShortText | None = None
    outcome: StepOutcome
    note: Annotated[str, Field(max_length=20_000)] | None = None
    files_touched: Annotated[
        tuple[Annotated[str, Field(max_length=4096)], ...], Field(max_length=5000)
    ] = ()
    step_proof: ShortText | None = None
    gate_attempt_id: ShortText | None = None
    gate_evidence_token: ShortText | None = None
    verification_receipt: Receipt | None = None

    @model_validator(mode="after")
    def _is_bound(self) -> Self:
        if self.task_id is None and self.phase_id is None:
            raise ValueError("task_id or phase_id is needed")
        return self

    @property
    def digest(self) -> str:
        """SHA-256 over the content; equal for equal reports however they were spelled."""
        content = json.dumps(self.model_dump(mode="json"), sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()


class DuplicateKeyError(ValueError):
    """A key occurs twice in one JSON object."""

    def __init__(self) -> None:
        super().__init__("a key stands twice in one object")


def no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of what a parser found, for `object_pairs_hook`. Raises DuplicateKeyError.

    Parsers disagree on which of two equal keys counts, so the code that
    checks a call and the code that executes it could read two different calls (ADR-0037).
    """
    found = dict(pairs)
    if len(found) != len(pairs):
        raise DuplicateKeyError
    return found
