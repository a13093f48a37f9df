"""The instructions an agent session can have, and the line that identifies a prompt.

Transcripts, recordings and scripted models match on the marker line (DESIGN §8):

    <!-- runner: instruction=coding iteration=2 phase=phase-1 task=UI-001 step=step_01J… -->
"""

import re
from dataclasses import dataclass, fields
from enum import StrEnum

_MARKER = re.compile(r"<!-- runner: (?P<pairs>[^\n]*?) -->")
_PAIR = re.compile(r"(?P<key>[a-z_]+)=(?P<value>[^\s=]+)")
_UNSAFE = re.compile(r"[^A-Za-z0-9._:-]+")


PLAN_SCOPE = "plan"
"""The scope of a review that looks at a plan; it has an instruction of its own."""
PLAN_REVIEW = "plan-review"
"""The name of that instruction."""


class Instruction(StrEnum):
    """What an agent session is asked to do; each has its own text, tools and model."""

    INITIALIZER = "initializer"
    CODING = "coding"
    SYNC = "sync"
    VERIFY = "verify"
    REVIEW = "review"
    REMEDIATE = "remediate"

    @property
    def is_planning(self) -> bool:
        """Whether the plan model runs it (seed 001, A.4)."""
        return self in (Instruction.INITIALIZER, Instruction.SYNC)

    @property
    def judges(self) -> bool:
        """Whether it judges work, so that those who did the work must not instruct it."""
        return self in (Instruction.REVIEW, Instruction.VERIFY)

    @property
    def is_iteration(self) -> bool:
        """Whether `--max-iterations` counts it; reviews are bounded by their own cap."""
        return self is not Instruction.REVIEW


@dataclass(frozen=True, slots=True)
class PromptMarker:
    """The identity of one prompt. Keys that do not apply are None (or "") and left out.

    Attributes:
        scope: of a review, what it looks at: `plan`, `phase` or `spec`.
    """

    instruction: Instruction
    iteration: int
    phase: str | None = None
    task: str | None = None
    step: str | None = None
    scope: str | None = None

    def render(self) -> str:
        """Return the marker line, without a line break.

        Characters that could end the comment or split a value are replaced by `_`.
        """
        pairs = (
            f"{f.name}={_UNSAFE.sub('_', str(value))}"
            for f in fields(self)
            if (value := getattr(self, f.name)) not in (None, "")
        )
        return f"<!-- runner: {' '.join(pairs)} -->"

    @classmethod
    def find(cls, text: str) -> "PromptMarker | None":
        """Return the first well-formed marker in `text`, or None."""
        for match in _MARKER.finditer(text):
            pairs = {m["key"]: m["value"] for m in _PAIR.finditer(match["pairs"])}
            try:
                return cls(
                    instruction=Instruction(pairs["instruction"]),
                    iteration=int(pairs["iteration"]),
                    phase=pairs.get("phase"),
                    task=pairs.get("task"),
                    step=pairs.get("step"),
                    scope=pairs.get("scope"),
                )
            except (KeyError, ValueError):
                continue
        return None
