"""The control plane's one entrance: a dispatch table that every surface calls (DESIGN §3)."""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from ulid import ULID

from runner.autonomy.access.callers import LOOP_COMMANDS, PROGRAM, Key, Policy
from runner.autonomy.access.guard import DenialCounter, Guard
from runner.autonomy.calls import TIMEOUT_PARAM, ControlCall, budget_of, chosen_seconds, in_call
from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.commands.capabilities import Capabilities
from runner.autonomy.commands.lifecycle import LifecycleCommands
from runner.autonomy.commands.listing import Listing
from runner.autonomy.commands.recovery import Recovery
from runner.autonomy.commands.reviewing import Reviewing, Waiving
from runner.autonomy.commands.stepping import HotPath
from runner.autonomy.commands.tasks import Tasks
from runner.autonomy.core import CommandAnswer, Core
from runner.autonomy.engine.mutations import TaskAction
from runner.autonomy.engine.starting import StartOptions
from runner.autonomy.enums import GatePolicy
from runner.autonomy.envelope import Envelope, failure, success, unavailable
from runner.autonomy.inputs import Input
from runner.autonomy.models import SessionLimits, StopConditions, WriteLock
from runner.autonomy.observability.observe import observe
from runner.autonomy.params import (
    CapabilitiesParams,
    EventsParams,
    GateParams,
    GateWaiverParams,
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
from runner.autonomy.spec.source import SpecSource
from runner.autonomy.store.file_store import LOCK_SECONDS, FileSessionStore
from runner.autonomy.store.layout import user_state_directory, workspace_directory
from runner.autonomy.store.port import StoreFactory
from runner.autonomy.store.trust import Trust
from runner.credentials import KEYS_BY_THEIR_FORM
from runner.errors import RunnerError


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """A command: what it takes and what does it."""

    params: type[Input]
    run: Callable[[Any], CommandAnswer]


def utc_now() -> datetime:
    return datetime.now(UTC)


def new_ulid(prefix: str) -> str:
    """Return a fresh id, e.g. `step_01J…`."""
    return f"{prefix}_{ULID()}"


DEFAULTS = StartOptions(
    limits=SessionLimits(),
    stop_conditions=StopConditions(),
    write_lock=WriteLock(),
    gate_policy=GatePolicy.STRICT,
)
"""Seed 000's defaults; a posture brings its own."""


_LOUD_GROUPS = frozenset({"session", "server"})
"""Their answers carry what start-up warned about: they begin or judge a session."""


class ControlPlane:
    """The control plane of one workspace, as one caller may use it.

    Surfaces open it with `assembly.open_control_plane`, which gives it the caller's policy. Made
    by hand it serves the program itself, which no role or posture bounds.

    Args:
        workspace: the project's folder.
        defaults: what `session start` uses where the caller says nothing.
        common_verification: commands that close every phase.
        policy: what the caller may do, and which features are on.
        clock: returns the time, timezone-aware.
        new_id: makes an id from a prefix.
        key_directory: what is kept outside the workspace; the user's state folder where None.
        lock_seconds: how long to wait for another holder of a lock.
        monotonic: the clock of the time budgets, in seconds.
        signed_evidence: gate evidence must be signed (`autonomy_signed_gate_evidence`).
        redact: takes credentials out of the texts of a caller, before anything is done with them.
        tree_of: returns what identifies the work tree, so that nothing counts as verified that
            was changed since. None leaves it to the reports.
        store: makes the store of sessions.
    """

    def __init__(
        self,
        workspace: Path,
        *,
        defaults: StartOptions = DEFAULTS,
        common_verification: Sequence[str] = (),
        policy: Policy = PROGRAM,
        clock: Callable[[], datetime] = utc_now,
        new_id: Callable[[str], str] = new_ulid,
        key_directory: Path | None = None,
        lock_seconds: float = LOCK_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
        signed_evidence: bool = False,
        redact: Callable[[str], str] = KEYS_BY_THEIR_FORM.text,
        tree_of: Callable[[], str] | None = None,
        store: StoreFactory = FileSessionStore,
    ) -> None:
        self.workspace = workspace
        self._redact = redact
        self._new_id = new_id
        self._monotonic = monotonic
        self._under: Callable[[Policy], ControlPlane] = lambda other: ControlPlane(
            workspace,
            defaults=defaults,
            common_verification=common_verification,
            policy=other,
            clock=clock,
            new_id=new_id,
            key_directory=key_directory,
            lock_seconds=lock_seconds,
            monotonic=monotonic,
            signed_evidence=signed_evidence,
            redact=redact,
            tree_of=tree_of,
            store=store,
        )
        trust = Trust(key_directory or user_state_directory())
        source = SpecSource(
            workspace, common_verification=common_verification, lock_timeout=lock_seconds
        )
        self.core = Core(
            store=store(workspace, source, trust, lock_seconds),
            source=source,
            clock=clock,
            new_id=new_id,
            trust=trust,
            defaults=defaults,
            policy=policy,
            signed_evidence=signed_evidence or policy.flags.is_on("autonomy_signed_gate_evidence"),
            tree_of=tree_of,
        )
        private = workspace_directory(key_directory or user_state_directory(), workspace)
        self._guard = Guard(self.core, DenialCounter(private / "refusals.json", clock))
        recovery = Recovery(self.core)
        self._sessions = LifecycleCommands(self.core, recovery)
        self.commands = _commands(self.core, self._sessions, recovery)

    @property
    def policy(self) -> Policy:
        """What the caller may do: `policy.standing` has posture and role."""
        return self.core.policy

    @property
    def warnings(self) -> tuple[str, ...]:
        """What start-up has to say about posture, role and flags."""
        return self.core.policy.warnings

    @cached_property
    def program(self) -> "ControlPlane":
        """The same control plane for what the program itself decides, whatever the caller's role.

        For what no outside caller asked for: the verdict of a review that runner itself has just
        run, or the rebase after its own sync. Never pass a caller's request through it.
        """
        return self._under(replace(self.policy, standing=None))

    def call(self, group: str, command: str, /, **params: Any) -> Envelope:
        """Run a command and return its envelope; deliberate errors become refusals.

        Args:
            group: `session`, `step`, `review`, `task`, `journal` or `server`.
            command: e.g. `start`, `next`.
            params: what the command takes, as JSON values; see `params`. `timeout_seconds`
                goes with every command, up to the most that its budget allows.
        """
        wanted = params.pop(TIMEOUT_PARAM, None)
        request = self._request(group, command, budget_of(group, command).default)
        with in_call(request):
            envelope = self._envelope(request, wanted, params)
        observe(request, envelope, params)
        return envelope

    def _request(self, group: str, command: str, seconds: float) -> ControlCall:
        return ControlCall(group, command, self._new_id("req"), seconds, monotonic=self._monotonic)

    def _envelope(self, request: ControlCall, wanted: Any, params: Mapping[str, Any]) -> Envelope:
        warnings = self.warnings if request.group in _LOUD_GROUPS else ()
        try:
            request.seconds = chosen_seconds(request.group, request.command, wanted)
            answer = self._run(request.group, request.command, params)
            request.warnings.extend(answer.warnings)
            request.require_time()
        except RunnerError as error:
            session_id = request.session.id if request.session is not None else None
            shown, repeated = self._guard.judge_refusal(error, params, session_id)
            return failure(
                shown,
                request_id=request.request_id,
                repeated=repeated,
                warnings=warnings,
                session_id=session_id,
            )
        except OSError as error:
            return failure(unavailable(error), request_id=request.request_id, warnings=warnings)
        return success(
            answer.data,
            request_id=request.request_id,
            warnings=(*warnings, *answer.warnings),
            pagination=answer.pagination,
        )

    def role_preflight(self, commands: Iterable[Key] = LOOP_COMMANDS) -> Envelope | None:
        """Return what the first of `commands` that can't be run would be refused with, or None.

        Asked before a session is started or a review paid for, so that a role or a flag does
        not stop the work half-way (seed 003 WS6). It changes nothing and counts for nothing.

        Args:
            commands: group and command each; by default all that it takes to drive a session.
        """
        for key in commands:
            try:
                self.policy.check_ready(key, self.core.defaults)
            except RefusedError as error:
                return failure(error, request_id=self._new_id("req"), warnings=self.warnings)
        return None

    def rotate_evidence_key(self) -> str:
        """Retire the key that signs gate evidence; return the id of the new one. Raises StateError.

        What the old key signed is good until it expires.
        """
        return self.core.trust.keys.rotate(self.core.clock()).id

    def maintain(self) -> dict[str, int]:
        """Do what a long-lived server does every few hours: persist staleness, collect garbage.

        Returns how many sessions were `paused` and `removed`.
        """
        request = self._request("server", "maintenance", math.inf)
        with in_call(request):
            done = self._sessions.sweep()
        observe(request, {"success": True, "data": done}, {})
        return done

    def _run(self, group: str, command: str, params: Mapping[str, Any]) -> CommandAnswer:
        known = self.commands.get((group, command))
        if known is None:
            raise RefusedError(
                ErrorCode.VALIDATION_ERROR,
                "There is no such command.",
                details={"group": group, "command": command},
            )
        return known.run(
            self._guard.admit((group, command), parse(known.params, params, self._redact))
        )


def _commands(
    core: Core, sessions: LifecycleCommands, recovery: Recovery
) -> Mapping[Key, CommandSpec]:
    """The dispatch table. No command's validation is written anywhere else."""
    steps, lists = HotPath(core), Listing(core)
    reviews, tasks = Reviewing(core), Tasks(core)
    capabilities = Capabilities(core, lambda: table)
    table: dict[Key, CommandSpec] = {
        ("session", "start"): CommandSpec(StartParams, sessions.start),
        ("session", "status"): CommandSpec(SessionParams, sessions.status),
        ("session", "pause"): CommandSpec(ReasonParams, sessions.pause),
        ("session", "resume"): CommandSpec(ResumeParams, sessions.resume),
        ("session", "rebase"): CommandSpec(RebaseParams, sessions.rebase),
        ("session", "end"): CommandSpec(ReasonParams, sessions.end),
        ("session", "list"): CommandSpec(ListParams, lists.sessions),
        ("session", "reset"): CommandSpec(ResetParams, recovery.reset),
        ("session", "events"): CommandSpec(EventsParams, lists.events),
        ("step", "next"): CommandSpec(NextParams, steps.next),
        ("step", "report"): CommandSpec(ReportParams, steps.report),
        ("step", "replay"): CommandSpec(SessionParams, steps.replay),
        ("step", "heartbeat"): CommandSpec(HeartbeatParams, steps.heartbeat),
        ("review", "gate"): CommandSpec(GateParams, reviews.gate),
        ("task", "list"): CommandSpec(TaskListParams, tasks.list),
        ("task", "prepare"): CommandSpec(TaskParams, tasks.prepare),
        ("task", "start"): CommandSpec(TaskMutationParams, tasks.command(TaskAction.START)),
        ("task", "complete"): CommandSpec(TaskMutationParams, tasks.command(TaskAction.COMPLETE)),
        ("task", "block"): CommandSpec(TaskMutationParams, tasks.command(TaskAction.BLOCK)),
        ("task", "unblock"): CommandSpec(TaskMutationParams, tasks.command(TaskAction.UNBLOCK)),
        ("task", "update-status"): CommandSpec(TaskStatusParams, tasks.update_status),
        ("task", "gate-waiver"): CommandSpec(GateWaiverParams, Waiving(core).waive),
        ("journal", "list"): CommandSpec(EventsParams, lists.events),
        ("journal", "add"): CommandSpec(JournalAddParams, lists.add),
        ("server", "capabilities"): CommandSpec(CapabilitiesParams, capabilities.show),
    }
    return table
