"""Verification by the runner itself: commands in the sandbox, and a receipt of what they gave.

What an agent says about its tests is nobody's proof; an exit code that the runner saw is.
"""

import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process

from runner.checkpoints.isolated_git import GitError
from runner.config.dependencies import SetupCommand
from runner.config.runner_file import VerificationTable
from runner.credentials import Redactor
from runner.deliverables.verification_conditions import FILE as CONDITIONS_FILE
from runner.deliverables.verification_conditions import NO_ROOM, Conditions
from runner.deliverables.workspace import STATE_DIRECTORY, ensure_state_directory
from runner.errors import StateWriteError, UsageError
from runner.events import Checking, CheckStage
from runner.files import write_atomic, write_error
from runner.ports import VerificationRun, VerifiedCommand
from runner.programs import find_program
from runner.records.receipts import BASELINE, command_hash, receipts_folder
from runner.sandbox.environment import ALLOWLIST, EnvironmentRules
from runner.sandbox.process import AgentProcess
from runner.sandbox.status import Containment
from runner.shell_policy.decision import Decision, PolicySettings
from runner.shell_policy.policy import judge_command
from runner.text.messages import reason
from runner.verification.clean_room import CleanRooms, CommandPlace
from runner.verification.output_log import OutputLog, OutputReader

DEFAULT_TIMEOUT_MINUTES = 10.0
MAX_OUTPUT_BYTES = 256 * 1024 * 1024

TIMED_OUT = 124
"""Exit code of a command that took too long, as `timeout` has it."""
DENIED = 126
"""Exit code of a command that was not run: the policy denied it."""
CANNOT_START = 127
TOO_MUCH_OUTPUT = 153
"""As of a program that exceeds its file size limit (128 + SIGXFSZ)."""

_STEP_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
# Linux takes no argument of more than 128 KiB.
_MAX_COMMAND_BYTES = 100_000
_END_SECONDS = 2.0
_DRAIN_SECONDS = 1.0
# The box copies the mounts of the host; one that goes away just then makes it fail.
_BOX_PAUSES_SECONDS = (0.2, 1.0)
_BOX_COMPLAINT = "bwrap: "
# Bash would run what these name before the command that was judged.
_RUN_BY_BASH = ("BASH_ENV", "ENV")
_FIXED = {
    "SHELL": "/bin/bash",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
}


@dataclass(frozen=True)
class SandboxedVerifier:
    """Runs verification commands one after another. Implements `Verifier`.

    Attributes:
        project_dir: absolute; where the commands start.
        judge: decides whether a command may be run.
        wrap: puts what contains it in front of a command line that runs in place.
        rooms: makes clean rooms; None to run in place, in the project's own folder.
        remark: why it runs in place.
        timeout_seconds: for each command.
        environ: the variables of the commands.
        tell: is told what runs.
        redact: takes credentials out of what is kept of the output.
        clock: returns the time, timezone-aware.
        max_output_bytes: a command that prints more is ended.
    """

    project_dir: Path
    judge: Callable[[str], Decision]
    wrap: Callable[[Sequence[str]], Sequence[str]]
    timeout_seconds: float = DEFAULT_TIMEOUT_MINUTES * 60
    environ: Mapping[str, str] = field(default_factory=lambda: ALLOWLIST.of_commands(os.environ))
    tell: Callable[[Checking], None] = lambda _: None
    redact: Callable[[str], str] = field(default_factory=lambda: Redactor(os.environ).text)
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    max_output_bytes: int = MAX_OUTPUT_BYTES
    rooms: CleanRooms | None = None
    remark: str = ""

    async def run(
        self,
        step_id: str,
        commands: Sequence[Mapping[str, str]],
        *,
        within_seconds: float | None = None,
    ) -> VerificationRun:
        """See `Verifier.run`. Cancelling it ends the command and all it started at once."""
        folder = _new_attempt(self.project_dir, step_id)
        checks = _Checks(
            commands,
            folder,
            Checking(CheckStage.PREPARING, step_id == BASELINE, total=len(commands)),
            _Time(self.timeout_seconds, within_seconds),
        )
        try:
            if self.rooms is None:
                place = CommandPlace(self.wrap, self.project_dir, self.environ)
                results = await self._results(checks, place)
                conditions = Conditions(clean=False, remark=self.remark)
            else:
                results, conditions = await self._in_a_room(self.rooms, checks)
        finally:
            self.tell(replace(checks.progress, stage=CheckStage.ENDED))
        receipt = _receipt(step_id, self.clock(), results)
        write_atomic(folder / "commands.json", _as_json([r.command for r in results]))
        write_atomic(folder / CONDITIONS_FILE, conditions.as_json())
        if step_id == BASELINE:
            return VerificationRun(receipt, tuple(results), None, conditions)
        path = folder / "receipt.json"
        write_atomic(path, _as_json(receipt))
        return VerificationRun(receipt, tuple(results), path, conditions)

    async def _in_a_room(
        self, rooms: CleanRooms, checks: "_Checks"
    ) -> tuple[list[VerifiedCommand], Conditions]:
        """Run the commands in a clean room; where none can be made, run none of them."""

        async def run_setup(
            setup: SetupCommand, place: CommandPlace, number: int
        ) -> VerifiedCommand:
            text = setup.command
            issued = {"command": text, "command_hash": command_hash(text)}
            kept = checks.folder / f"setup-{number:02}.log"
            self.tell(replace(checks.progress, stage=CheckStage.SETUP, command=text))
            seconds = checks.time.share(2)  # the commands get as much
            return await self._attempted(issued, kept, place, seconds, ours=not setup.declared)

        self.tell(checks.progress)
        try:
            room = await rooms.enter(run_setup)
        except (GitError, OSError) as error:
            text = f"it was not run: no clean room could be made ({reason(error)})"
            return self._not_run(checks, text), Conditions(clean=True, remark=text)
        try:
            if room.usable:
                results = await self._results(checks, room.place)
            else:
                failed = room.conditions.failed_setup[0].command
                text = f"it was not run: the setup command `{failed}` failed"
                results = self._not_run(checks, text)
        finally:
            conditions = await room.leave()
        return results, conditions

    async def _results(self, checks: "_Checks", place: CommandPlace) -> list[VerifiedCommand]:
        results = []
        for number, issued in enumerate(checks.commands, 1):
            command = issued["command"]
            progress = replace(checks.progress, command=command, number=number)
            self.tell(replace(progress, stage=CheckStage.RUNNING))
            seconds = checks.time.share(len(checks.commands) - number + 1)
            results.append(await self._attempted(issued, checks.kept(number), place, seconds))
        return results

    def _not_run(self, checks: "_Checks", why: str) -> list[VerifiedCommand]:
        results = []
        for number, issued in enumerate(checks.commands, 1):
            with OutputLog(checks.kept(number), self.redact) as log:
                results.append(_result(issued, log, _End(NO_ROOM, why), 0.0))
        return results

    async def _attempted(
        self,
        issued: Mapping[str, str],
        kept: Path,
        place: CommandPlace,
        seconds: float,
        *,
        ours: bool = False,
    ) -> VerifiedCommand:
        """Run a command; where its box could not be made, which passes, try that again.

        Args:
            seconds: how long it may take.
            ours: it comes from a table of ours, and the policy is not asked.
        """
        for pause in _BOX_PAUSES_SECONDS:
            result = await self._logged(issued, kept, place, seconds, ours=ours)
            if not _is_without_box(result):
                return result
            _remove(kept)
            await anyio.sleep(pause)
        result = await self._logged(issued, kept, place, seconds, ours=ours)
        if _is_without_box(result):
            return replace(result, remark="it was not run: its sandbox could not be made")
        return result

    async def _logged(
        self,
        issued: Mapping[str, str],
        kept: Path,
        place: CommandPlace,
        seconds: float,
        *,
        ours: bool,
    ) -> VerifiedCommand:
        started = time.monotonic()
        command = issued["command"]
        with OutputLog(kept, self.redact) as log:
            decision = Decision.allow("setup") if ours else self.judge(command)
            if decision.allowed:
                end = await self._run(command, log, place, seconds)
            else:
                log.add(decision.reason.encode("utf-8", errors="replace"))
                end = _End(DENIED, "the policy denied it; it was not run")
            return _result(issued, log, end, time.monotonic() - started)

    async def _run(
        self, command: str, log: OutputLog, place: CommandPlace, seconds: float
    ) -> "_End":
        if seconds <= 0:
            return _End(TIMED_OUT, "it was not run: the time for all commands was used up")
        if len(command.encode("utf-8", errors="replace")) > _MAX_COMMAND_BYTES:
            return _End(CANNOT_START, "it is too long to be started; put it into a file")
        folders = f"{self.environ.get('PATH', '')}{os.pathsep}{os.defpath}"
        bash = find_program("bash", self.project_dir, folders) or "/bin/bash"
        text = command.encode(errors="replace").decode()
        words = [str(bash), "--noprofile", "--norc", "-c", text]
        try:
            guarded = AgentProcess(place.wrap(words))
        except OSError as error:
            return _End(CANNOT_START, f"it could not be started: {reason(error)}")
        try:
            try:
                process = await self._start(guarded, place)
            except OSError as error:
                return _End(CANNOT_START, f"it could not be started: {reason(error)}")
            async with process:
                try:
                    return await self._watch(process, guarded, log, seconds)
                finally:
                    await guarded.end(within_seconds=0)
        finally:
            await guarded.end(within_seconds=0)

    async def _start(self, guarded: AgentProcess, place: CommandPlace) -> Process:
        return await anyio.open_process(
            [str(guarded.launcher)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=place.cwd,
            env=_environment(place.environ),
        )

    async def _watch(
        self, process: Process, guarded: AgentProcess, log: OutputLog, seconds: float
    ) -> "_End":
        """Wait for the end of the command, or bring it about."""
        assert process.stdout is not None  # noqa: S101 - it was asked for
        reading = OutputReader(process.stdout, log, self.max_output_bytes)
        failure: StateWriteError | None = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(reading.read)
            with anyio.move_on_after(seconds) as limit:
                tasks.start_soon(reading.cancel_when_over, limit)
                await process.wait()
            if limit.cancelled_caught:
                await guarded.end(within_seconds=_END_SECONDS)
            with anyio.move_on_after(_DRAIN_SECONDS):
                await reading.finished.wait()
            failure = reading.failure
            tasks.cancel_scope.cancel()
        if failure is not None:
            raise failure
        if reading.is_over:
            limit_mib = self.max_output_bytes // 1024 // 1024
            return _End(TOO_MUCH_OUTPUT, f"ended: it printed more than {limit_mib} MiB")
        if limit.cancelled_caught:
            return _End(TIMED_OUT, f"ended: it took longer than {seconds / 60:.3g} min")
        return _End(_exit_code(process.returncode))


@dataclass(frozen=True, slots=True)
class _Checks:
    """The commands of one run; `folder` takes what they print."""

    commands: Sequence[Mapping[str, str]]
    folder: Path
    progress: Checking
    time: "_Time"

    def kept(self, number: int) -> Path:
        return self.folder / f"{number:02}.log"


class _Time:
    """How long commands may take, each on its own and, where `whole` is given, together."""

    def __init__(self, each: float, whole: float | None) -> None:
        self._each = each
        self._end = None if whole is None else time.monotonic() + whole

    def share(self, left: int) -> float:
        """Return the seconds of a command while `left` of them, it included, are still to run."""
        if self._end is None:
            return self._each
        return min(self._each, (self._end - time.monotonic()) / left)


@dataclass(frozen=True, slots=True)
class _End:
    """How a command ended; `remark` says what the runner had to do with it."""

    exit_code: int
    remark: str | None = None


def _result(
    issued: Mapping[str, str], log: OutputLog, end: _End, seconds: float
) -> VerifiedCommand:
    log.close(end.remark)
    return VerifiedCommand(
        command=issued["command"],
        command_hash=issued["command_hash"],
        exit_code=end.exit_code,
        output_digest=log.digest,
        output_tail=log.tail_text(end.remark),
        duration_seconds=seconds,
        timed_out=end.exit_code == TIMED_OUT and end.remark is not None,
        remark=end.remark or "",
    )


def make_verifier(
    project_dir: Path,
    containment: Containment,
    *,
    settings: PolicySettings,
    verification: VerificationTable | None = None,
    environ: Mapping[str, str] | None = None,
    rules: EnvironmentRules = ALLOWLIST,
    tell: Callable[[Checking], None] = lambda _: None,
) -> SandboxedVerifier:
    """Return the verifier of a run: in clean rooms where they can be made, under the agents' policy.

    Args:
        settings: the policy's, as for coding sessions.
        verification: the table in runner.toml; an empty one where None.
        environ: the user's environment; this process's own where None.
        rules: what of it the commands get.
    """
    verification = verification or VerificationTable()
    minutes = verification.timeout_minutes or DEFAULT_TIMEOUT_MINUTES
    users = dict(os.environ if environ is None else environ)
    environ = rules.of_commands(users)
    why_in_place = in_place_reason(verification, project_dir)
    rooms = None
    if why_in_place is None and containment.scratch is not None:
        rooms = CleanRooms(
            project_dir.resolve(),
            containment.scratch,
            containment.rooms,
            environ,
            verification.setup,
        )
    return SandboxedVerifier(
        project_dir,
        judge=lambda command: judge_verification(command, project_dir, settings),
        wrap=containment.wrap_verification,
        timeout_seconds=minutes * 60,
        environ=environ,
        redact=Redactor(users).text,
        tell=tell,
        rooms=rooms,
        remark=why_in_place or "",
    )


def in_place_reason(
    verification: VerificationTable, project_dir: Path, path: str = ""
) -> str | None:
    """Return why commands run in the project's own folder; None when they get a clean room."""
    if verification.in_place:
        return "`in_place = true` under [verification] in .runner/runner.toml asks for it."
    if find_program("git", project_dir, path or os.environ.get("PATH", os.defpath)) is None:
        return "git is not installed, and a clean room needs it."
    return None


def judge_verification(
    command: str, project_dir: str | Path, settings: PolicySettings | None = None
) -> Decision:
    """Decide whether a verification command may be run: as an implementing agent's would be."""
    return judge_command(command, command="run", project_dir=project_dir, settings=settings)


def verification_problem(
    command: str, project_dir: str | Path, settings: PolicySettings | None = None
) -> str | None:
    """Return why a planned verification command would not be run, None when it would.

    What the work is still to make may be missing; before it is run a command is judged again.
    """
    settings = replace(settings or PolicySettings(), planned=True)
    decision = judge_verification(command, project_dir, settings)
    return None if decision.allowed else decision.reason


def _is_without_box(result: VerifiedCommand) -> bool:
    """Whether it looks as if the command never began. If it did after all, it runs once more."""
    return result.exit_code == 1 and result.output_tail.startswith(_BOX_COMPLAINT)


def _remove(path: Path) -> None:
    with suppress(OSError):  # who writes it next will say so
        path.unlink()


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in environ.items() if name not in _RUN_BY_BASH}
    return {**kept, **_FIXED}


def _exit_code(returncode: int | None) -> int:
    if returncode is None:
        return CANNOT_START
    return returncode if returncode >= 0 else 128 - returncode


def _new_attempt(project_dir: Path, step_id: str) -> Path:
    """Make the folder for one more run of a step's commands; earlier ones are kept."""
    if not _STEP_ID.fullmatch(step_id):
        raise UsageError(f"{step_id[:80]!r} is no step id.", hint="Use the id that `next` gave.")
    ensure_state_directory(project_dir)
    folder = receipts_folder(project_dir) / step_id
    if not folder.resolve().is_relative_to(project_dir.resolve() / STATE_DIRECTORY):
        raise StateWriteError(
            f"{folder} leads out of the project.", hint="Replace the symbolic link by a folder."
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        taken = [int(path.name) for path in folder.iterdir() if path.name.isdecimal()]
        attempt = folder / str(max(taken, default=0) + 1)
        attempt.mkdir()
    except OSError as error:
        raise write_error(folder, error) from error
    return attempt


def _receipt(step_id: str, at: datetime, results: Sequence[VerifiedCommand]) -> dict[str, Any]:
    return {
        "step_id": step_id,
        "issued_at": at.isoformat(),
        "results": [
            {
                "command_hash": result.command_hash,
                "exit_code": result.exit_code,
                "output_digest": result.output_digest,
            }
            for result in results
        ],
    }


def _as_json(value: Any) -> str:
    return json.dumps(value, indent=2) + "\n"
