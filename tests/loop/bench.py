"""A run on a real control plane, with fakes for the agent and for whoever judges its work."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from tests.loop.fakes import (
    COMPLETED,
    FakeFactory,
    FakeJudges,
    FakeSession,
    Recorder,
    deliverable,
)

from runner.autonomy.enums import GatePolicy
from runner.autonomy.service import ControlPlane
from runner.checkpoints.ledger import was_rolled_back
from runner.checkpoints.tree_identity import tree_identity
from runner.deliverables.model import Deliverable, Phase, Status, StatusFile
from runner.deliverables.repository import StatusRepository
from runner.deliverables.spec_text import SpecText
from runner.deliverables.transitions import set_status
from runner.deliverables.workspace import status_path
from runner.events import RunEnded, RunResult, SessionResult
from runner.loop.baseline import Baseline
from runner.loop.claims import ClaimedDeliverables
from runner.loop.plane import Plane
from runner.loop.reviewing.plan_review import PlanReview, PlanReviewSettings
from runner.loop.run import Run
from runner.loop.settings import RunSettings, SessionDependencies
from runner.loop.stepping import SteppedFlow, StepSettings
from runner.loop.termination import RunLimits
from runner.marker import Instruction, PromptMarker
from runner.ports import SessionGuard
from runner.quota.waiting import QuotaWait

SPEC_ID = "test"


class ProjectPlan:
    """The deliverables of a project on disk."""

    def __init__(self, project: Path) -> None:
        self.deliverables = ClaimedDeliverables(status_path(project))
        self._repository = StatusRepository(status_path(project))

    @property
    def file(self) -> StatusFile:
        file = self.deliverables.accepted()
        assert file is not None
        return file

    def put(self, *deliverables: Deliverable, phases: Sequence[Phase] = ()) -> None:
        """Write a plan, whatever was there before."""
        self._repository.update(
            lambda file: replace(
                file, spec_id=SPEC_ID, deliverables=deliverables, phases=tuple(phases)
            )
        )

    def set(self, deliverable_id: str, status: Status, reason: str | None = None) -> None:
        """Set a status as the agent's tool does."""
        if status is Status.BLOCKED:
            reason = reason or "There is no database here."
        self.deliverables.update(
            lambda file: set_status(file, deliverable_id, status, reason=reason)
        )

    def passed(self) -> list[str]:
        return [d.id for d in self.file.deliverables if d.status is Status.PASSED]


class Checkpoints:
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.plannings = 0
        self.phases: list[str] = []
        self.steps: list[str] = []
        self.changed: tuple[str, ...] = ()

    def planning_started(self) -> None:
        self.plannings += 1

    def phase_started(self, phase_id: str) -> None:
        self.phases.append(phase_id)

    def record(self, step_id: str, phase_id: str | None, summary: str) -> None:
        self.steps.append(summary)

    def touched(self) -> tuple[str, ...]:
        return self.changed


class Killed(BaseException):
    """Stands for SIGKILL: whatever runs after it in this run can't write any more."""


class Mortal:
    """A control plane whose caller dies.

    Args:
        dies_at: the number of the request at which it dies; with a half added, when the request
            was carried out and before its answer arrives. None for never.

    Attributes:
        refusals: group and command → the data of the refusal that answers it.
    """

    def __init__(self, plane: ControlPlane, dies_at: float | None) -> None:
        self._plane = plane
        self._dies_at = dies_at
        self.calls = 0
        self.refusals: dict[tuple[str, str], dict[str, Any]] = {}

    def die_now(self) -> None:
        """Answer no request any more."""
        self._dies_at = 0

    def call(self, group: str, command: str, /, **params: Any) -> dict[str, Any]:
        self.calls += 1
        refusal = self.refusals.get((group, command))
        if refusal is not None:
            return {"success": False, "data": refusal, "error": "It is refused.", "meta": {}}
        if self._dies_at is not None and self.calls >= self._dies_at:
            raise Killed
        envelope = self._plane.call(group, command, **params)
        if self._dies_at is not None and self.calls + 0.5 >= self._dies_at:
            self._dies_at = 0
            raise Killed
        return envelope


class Bench:
    """A run. `work` says what an agent session does; call `execute` once for each process."""

    def __init__(
        self,
        folder: Path,
        limits: RunLimits | None = None,
        *,
        session_limit: float | None = None,
        timeout: float = 3600.0,
        one_phase: bool = False,
        quota: QuotaWait | None = None,
        guards: Sequence[SessionGuard] = (),
        start: Mapping[str, Any] | None = None,
        dies_at: float | None = None,
        reuse_below_pct: int | None = None,
        connects_ahead: bool = True,
        beat_seconds: float = 30.0,
        common_verification: Sequence[str] = (),
        plan_review: bool = False,
        plan_policy: GatePolicy = GatePolicy.STRICT,
        unattended: bool = False,
        baseline: bool = False,
    ) -> None:
        self.folder = folder / "project"
        self.folder.mkdir(exist_ok=True, parents=True)
        self.spec = self.folder / "SPEC.md"
        if not self.spec.exists():
            self.spec.write_text("# test\n", encoding="utf-8")
        self.plan = ProjectPlan(self.folder)
        self.plane = ControlPlane(
            self.folder,
            key_directory=folder / "key",
            clock=self.clock,
            tree_of=partial(tree_identity, self.folder),
        )
        self.ahead_of_clock = 0.0
        self.mortal = Mortal(self.plane, dies_at)
        self.events = Recorder()
        self.slept: list[float] = []
        self.factory = FakeFactory(self.work)
        self.judges = FakeJudges()
        self.checkpoints = Checkpoints()
        self.review = PlanReview(
            PlanReviewSettings(plan_review, plan_policy),
            self.folder,
            common=tuple(common_verification),
            claims=self.plan.deliverables,
            take_verdict=self.judges.take,
            sink=self.events,
            baseline=self._baseline(common_verification) if baseline else None,
        )
        self.run = Run(
            RunSettings(
                self.folder,
                SPEC_ID,
                "sonnet",
                "opus",
                limits or RunLimits(max_iterations=20),
                review_model="haiku",
                max_session_cost_usd=session_limit,
                session_timeout_seconds=timeout,
                reuse_below_pct=reuse_below_pct,
                connects_ahead=connects_ahead,
            ),
            SessionDependencies(
                deliverables=self.plan.deliverables,
                factory=self.factory,
                instruction_text=lambda instruction: f"# {instruction}",
                sink=self.events,
                guards=guards,
                sleep=self.sleep,
            ),
            SteppedFlow(
                StepSettings(
                    SPEC_ID,
                    start or {},
                    one_phase=one_phase,
                    common_verification=common_verification,
                    rolled_back=lambda: was_rolled_back(self.folder),
                    unattended=unattended,
                    tree_of=partial(tree_identity, self.folder),
                ),
                plane=Plane(self.mortal, self.events),
                claims=self.plan.deliverables,
                judges=lambda _: self.judges.as_judges(),
                checkpoints=lambda _: self.checkpoints,
                spec_text=SpecText(self.folder),
                sink=self.events,
                plan_review=self.review,
                beat_seconds=beat_seconds,
            ),
            quota=quota,
        )

    def _baseline(self, common: Sequence[str]) -> Baseline:
        return Baseline(
            self.folder,
            verifier=self.judges,
            common=common,
            tree_of=partial(tree_identity, self.folder),
            sink=self.events,
        )

    def clock(self) -> datetime:
        """The time of the control plane; `ahead_of_clock` seconds can be added to it."""
        now = datetime.now(UTC).timestamp() + self.ahead_of_clock
        return datetime.fromtimestamp(now, UTC)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    async def work(self, session: FakeSession, marker: PromptMarker) -> SessionResult:
        """Plan two deliverables; pass the bound one; give the judges' next verdict."""
        match marker.instruction:
            case Instruction.INITIALIZER:
                self.plan.put(deliverable(1), deliverable(2))
            case Instruction.REVIEW:
                self.judges.submit()
            case Instruction.REMEDIATE:
                (self.folder / f"mended-{len(self.factory.prompts)}").touch()
            case _ if marker.task:
                self.plan.set(marker.task, Status.PASSED)
        return COMPLETED

    async def execute(self) -> RunResult:
        """Run to the end."""
        return await self.run.execute()

    @property
    def details(self) -> dict[str, Any]:
        """What the end said beyond the common part."""
        (end,) = [event for event in self.events if isinstance(event, RunEnded)]
        return end.details

    def instructions(self) -> list[str]:
        """Return what sessions there were, each with its deliverable if it has one.

        A review of a plan is told apart from the others.
        """
        named = (m.task or ("plan" if m.scope == "plan" else "") for m in self.factory.markers)
        both = zip(self.factory.markers, named, strict=True)
        return [f"{m.instruction} {name}".strip() for m, name in both]

    def ask(self, group: str, command: str, **params: Any) -> dict[str, Any]:
        """Ask the control plane as somebody else would; refusals fail the test."""
        envelope = self.plane.call(group, command, **params)
        assert envelope["success"], envelope
        data: dict[str, Any] = envelope["data"]
        return data
