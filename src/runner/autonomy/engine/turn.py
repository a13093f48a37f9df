"""What passes through the rules: the turn, and the ways in which it can end."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from runner.autonomy.engine.progress import Progress
from runner.autonomy.enums import (
    EntryType,
    FailureReason,
    PauseReason,
    StepType,
    TaskStatus,
)
from runner.autonomy.inputs import StepReport
from runner.autonomy.models import IssuedStep, SessionState, TaskChange
from runner.autonomy.spec.structure import Spec


class SigningKey(Protocol):
    """A key that signs gate evidence; `secret` is hex."""

    @property
    def id(self) -> str: ...

    @property
    def secret(self) -> str: ...

    def signs_at(self, moment: datetime) -> bool:
        """Whether evidence of that moment can come from this key."""
        ...


class SigningKeys(Protocol):
    """The keys that sign gate evidence."""

    def current(self, now: datetime) -> SigningKey: ...

    def find(self, key_id: str) -> SigningKey | None: ...


@dataclass(frozen=True, slots=True)
class Env:
    """All that the engine may know of the world.

    Attributes:
        now: the time to judge by, timezone-aware: never before what the session has seen.
        wall: what the machine's clock says, where that is another time.
        new_id: makes a fresh id from a prefix, e.g. `step` → `step_01J…`.
        key: the local secret that tokens are derived with.
        keys: what signs gate evidence; None where nothing signed can be made or checked.
        signed_evidence: only signed evidence is made and accepted.
        tree: identifies the work tree as it is now; None where it can't be read.
        tree_seen: whether `tree` was looked at for this turn. A turn for which it was not may
            come to the end of the work, and is then taken again with it.
    """

    now: datetime
    new_id: Callable[[str], str]
    key: bytes
    keys: SigningKeys | None = None
    signed_evidence: bool = False
    tree: str | None = None
    tree_seen: bool = True
    wall: datetime | None = None

    @property
    def clock(self) -> datetime:
        """What the machine's clock says."""
        return self.wall or self.now


@dataclass(frozen=True, slots=True)
class JournalDraft:
    """A journal entry before it gets its number."""

    entry_type: EntryType
    title: str
    content: str
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Issue:
    """Give the caller a step; `reverifies` is as in `IssuedStep`."""

    type: StepType
    phase_id: str
    task_id: str | None = None
    reverifies: bool = False


@dataclass(frozen=True, slots=True)
class Pause:
    """Pause the session; `message` is for people, `details` for programs."""

    reason: PauseReason
    message: str
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fail:
    """The session can't go on by itself."""

    reason: FailureReason
    message: str
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Complete:
    """All achievable deliverables have passed, and every gate with them."""


@dataclass(frozen=True, slots=True)
class Rest:
    """Answer with the session's status as it is."""


Stop = Issue | Pause | Fail | Complete | Rest


class EngineTurn(NamedTuple):
    """One request on its way through the rules. A tuple: a step copies it some fifteen times.

    Attributes:
        spec: None when no spec can be read.
        spec_problem: why not, for people.
        report: what the caller reports, None for nothing.
        answered: the step that `report` was accepted for.
        crossed: the turn leaves a phase; the structure must have been hashed afresh for it.
        progress: set for the rules that choose work.
    """

    state: SessionState
    spec: Spec | None
    env: Env
    report: StepReport | None = None
    spec_problem: str | None = None
    answered: IssuedStep | None = None
    drafts: tuple[JournalDraft, ...] = ()
    changes: tuple[TaskChange, ...] = ()
    crossed: bool = False
    progress: Progress | None = None

    def with_state(self, **changes: Any) -> "EngineTurn":
        return self._replace(state=self.state.evolve(**changes))

    def to(self, state: SessionState) -> "EngineTurn":
        return self._replace(state=state)

    def noting(self, draft: JournalDraft) -> "EngineTurn":
        """Add a journal entry."""
        return self._replace(drafts=(*self.drafts, draft))

    def marking(self, task_id: str, status: TaskStatus, reason: str | None = None) -> "EngineTurn":
        """Have the deliverable's status set; `reason` says why it is blocked."""
        change = TaskChange(task_id=task_id, status=status, reason=reason)
        return self._replace(changes=(*self.changes, change))

    @property
    def known_spec(self) -> Spec:
        """The spec, for rules that come after the one which checks that it is readable."""
        if self.spec is None:
            raise AssertionError("the rule on a readable spec comes first")
        return self.spec

    @property
    def known_progress(self) -> Progress:
        if self.progress is None:
            raise AssertionError("the rule that surveys the work comes first")
        return self.progress


Rule = Callable[[EngineTurn], EngineTurn | Stop]
