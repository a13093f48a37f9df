"""The control plane's one entrance: a dispatch table that every surface calls (DESIGN §3)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ulid import ULID

from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.core import Answer, Core
from runner.autonomy.engine.mutations import TaskAction
from runner.autonomy.engine.starting import StartOptions
from runner.autonomy.enums import GatePolicy
from runner.autonomy.envelope import Envelope, failure, success, unavailable
from runner.autonomy.hotpath import HotPath
from runner.autonomy.inputs import Input
from runner.autonomy.lifecycle import LifecycleCommands
from runner.autonomy.listing import Listing
from runner.autonomy.models import Limits, StopConditions, WriteLock
from runner.autonomy.params import (
    EventsParams,
    GateParams,
    HeartbeatParams,
    JournalAddParams,
    ListParams,
    NextParams,
    ReasonParams,
    RebaseParams,
    ReportParams,
    ResetParams,
    ResumeParams,
    SessionParams,
    StartParams,
    TaskListParams,
    TaskMutationParams,
    TaskParams,
    TaskStatusParams,
    parse,
)
from runner.autonomy.recovery import Recovery
from runner.autonomy.reviewing import Reviewing
from runner.autonomy.spec.source import SpecSource
from runner.autonomy.store.facade import LOCK_SECONDS, SessionStore
from runner.autonomy.store.layout import user_state_directory
from runner.autonomy.store.trust import Trust
from runner.autonomy.tasks import Tasks
from runner.errors import RunnerError


@dataclass(frozen=True, slots=True)
class Command:
    """A command: what it takes and what does it."""

    params: type[Input]
    run: Callable[[Any], Answer]


def utc_now() -> datetime:
    return datetime.now(UTC)


def new_ulid(prefix: str) -> str:
    """Return a fresh id, e.g. `step_01J…`."""
    return f"{prefix}_{ULID()}"


DEFAULTS = StartOptions(
    limits=Limits(),
    stop_conditions=StopConditions(),
    write_lock=WriteLock(),
    gate_policy=GatePolicy.STRICT,
)
"""Seed 000's defaults; a posture brings its own."""


class ControlPlane:
    """The control plane of one workspace.

    Args:
        workspace: the project's folder.
        defaults: what `session start` uses where the caller says nothing.
        common_verification: commands that close every phase.
        clock: returns the time, timezone-aware.
        new_id: makes an id from a prefix.
        key_directory: what is kept outside the workspace; the user's state folder where None.
        lock_seconds: how long to wait for another holder of a lock.
        signed_evidence: gate evidence must be signed (`autonomy_signed_gate_evidence`).
    """

    def __init__(
        self,
        workspace: Path,
        *,
        defaults: StartOptions = DEFAULTS,
        common_verification: Sequence[str] = (),
        clock: Callable[[], datetime] = utc_now,
        new_id: Callable[[str], str] = new_ulid,
        key_directory: Path | None = None,
        lock_seconds: float = LOCK_SECONDS,
        signed_evidence: bool = False,
    ) -> None:
        self._new_id = new_id
        trust = Trust(key_directory or user_state_directory())
        source = SpecSource(
            workspace, common_verification=common_verification, lock_timeout=lock_seconds
        )
        self.core = Core(
            store=SessionStore(workspace, source, trust, lock_seconds),
            source=source,
            clock=clock,
            new_id=new_id,
            trust=trust,
            defaults=defaults,
            signed_evidence=signed_evidence,
        )
        recovery = Recovery(self.core)
        self._sessions = LifecycleCommands(self.core, recovery)
        self.commands = _commands(self.core, self._sessions, recovery)

    def call(self, group: str, command: str, **params: Any) -> Envelope:
        """Run a command and return its envelope; deliberate errors become refusals.

        Args:
            group: `session`, `step`, `review`, `task` or `journal`.
            command: e.g. `start`, `next`.
            params: what the command takes, as JSON values; see `params`.
        """
        request_id = self._new_id("req")
        try:
            answer = self._run(group, command, params)
        except RunnerError as error:
            return failure(error, request_id=request_id)
        except OSError as error:
            return failure(unavailable(error), request_id=request_id)
        return success(
            answer.data,
            request_id=request_id,
            warnings=answer.warnings,
            pagination=answer.pagination,
        )

    def rotate_evidence_key(self) -> str:
        """Retire the key that signs gate evidence; return the id of the new one. Raises StateError.

        What the old key signed is good until it expires.
        """
        return self.core.trust.keys.rotate(self.core.clock()).id

    def maintain(self) -> dict[str, int]:
        """Do what a long-lived server does every few hours: persist staleness, collect garbage.

        Returns how many sessions were `paused` and `removed`.
        """
        return self._sessions.sweep()

    def _run(self, group: str, command: str, params: Mapping[str, Any]) -> Answer:
        known = self.commands.get((group, command))
        if known is None:
            raise RefusedError(
                ErrorCode.VALIDATION_ERROR,
                "There is no such command.",
                details={"group": group, "command": command},
            )
        return known.run(parse(known.params, params))


def _commands(
    core: Core, sessions: LifecycleCommands, recovery: Recovery
) -> Mapping[tuple[str, str], Command]:
    """The dispatch table. No command's validation is written anywhere else."""
    steps, lists = HotPath(core), Listing(core)
    reviews, tasks = Reviewing(core), Tasks(core)
    return {
        ("session", "start"): Command(StartParams, sessions.start),
        ("session", "status"): Command(SessionParams, sessions.status),
        ("session", "pause"): Command(ReasonParams, sessions.pause),
        ("session", "resume"): Command(ResumeParams, sessions.resume),
        ("session", "rebase"): Command(RebaseParams, sessions.rebase),
        ("session", "end"): Command(ReasonParams, sessions.end),
        ("session", "list"): Command(ListParams, lists.sessions),
        ("session", "reset"): Command(ResetParams, recovery.reset),
        ("session", "events"): Command(EventsParams, lists.events),
        ("step", "next"): Command(NextParams, steps.next),
        ("step", "report"): Command(ReportParams, steps.report),
        ("step", "replay"): Command(SessionParams, steps.replay),
        ("step", "heartbeat"): Command(HeartbeatParams, steps.heartbeat),
        ("review", "gate"): Command(GateParams, reviews.gate),
        ("task", "list"): Command(TaskListParams, tasks.list),
        ("task", "prepare"): Command(TaskParams, tasks.prepare),
        ("task", "start"): Command(TaskMutationParams, tasks.command(TaskAction.START)),
        ("task", "complete"): Command(TaskMutationParams, tasks.command(TaskAction.COMPLETE)),
        ("task", "block"): Command(TaskMutationParams, tasks.command(TaskAction.BLOCK)),
        ("task", "unblock"): Command(TaskMutationParams, tasks.command(TaskAction.UNBLOCK)),
        ("task", "update-status"): Command(TaskStatusParams, tasks.update_status),
        ("journal", "list"): Command(EventsParams, lists.events),
        ("journal", "add"): Command(JournalAddParams, lists.add),
    }
