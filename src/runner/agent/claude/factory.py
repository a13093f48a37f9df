"""Make agent sessions: launcher, hooks, tools and client put together."""

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from runner.agent.claude.options import AgentSettings, is_users_tool, session_options
from runner.agent.claude.requested_calls import AskedCalls
from runner.agent.claude.session import ClaudeSession, SinkSlot, StderrTail
from runner.agent.claude.tools import make_server, offered_tools, qualified_name
from runner.credentials import Redactor
from runner.deliverables.tools import DeliverableTools
from runner.errors import AgentStartError, DeliverableError, RunnerError
from runner.events import StreamToolDenied
from runner.marker import Instruction
from runner.ports import SessionPlan
from runner.sandbox.process import AgentProcess
from runner.shell_policy.decision import Decision

if TYPE_CHECKING:
    from claude_agent_sdk import ClaudeSDKClient, HookMatcher


# An allowed call is answered with *no* decision, never with "allow": an approval would skip
# the permission rules that still have to agree (DESIGN §7, layers 2 and 3).
ToolJudge = Callable[[str, dict[str, Any]], Decision]
DenialSink = Callable[[StreamToolDenied], None]

HOOK_TIMEOUT_SECONDS = 30.0
"""A judgement takes milliseconds; the agent blocks the call when this passes."""


STARTING_SECONDS = 25.0
"""How long a tool call waits for the start of another agent; less than the hook may take."""


class Starts:
    """The agents that are being started.

    The mounts of a sandbox are made by path. A command that runs meanwhile in another sandbox on
    the same project could replace a folder by a link, and have it mounted elsewhere.
    """

    def __init__(self) -> None:
        self._number = 0
        self._none = anyio.Event()
        self._none.set()

    @contextmanager
    def one(self) -> Iterator[None]:
        """Hold back all tool calls while an agent is being started."""
        if not self._number:
            self._none = anyio.Event()
        self._number += 1
        try:
            yield
        finally:
            self._number -= 1
            if not self._number:
                self._none.set()

    async def are_over(self, within_seconds: float = STARTING_SECONDS) -> bool:
        """Wait until no agent is being started; return whether that is so."""
        with anyio.move_on_after(within_seconds):
            while self._number:
                await self._none.wait()
        return not self._number


def deny_by_default(
    judge: ToolJudge, on_denied: DenialSink, project_dir: Path, starts: Starts | None = None
) -> "list[HookMatcher]":
    """Return the PreToolUse hooks of a session.

    A judge that raises refuses the call; anything else that raises in the hook makes the
    agent block it (`on_failure`).

    Args:
        judge: decides on (tool name, tool input).
        on_denied: is told of every refusal.
        project_dir: where every shell command has to start.
        starts: no call goes on while another agent is being started.
    """
    from claude_agent_sdk import HookMatcher  # noqa: PLC0415

    async def hook(call: Any, _tool_use_id: Any, _context: Any) -> Any:
        if starts is not None and not await starts.are_over():
            return judge_call(call, _still_starting, on_denied, project_dir)
        return judge_call(call, judge, on_denied, project_dir)

    return [
        HookMatcher(matcher=None, hooks=[hook], timeout=HOOK_TIMEOUT_SECONDS, on_failure="block")
    ]


def _still_starting(_name: str, _input: dict[str, Any]) -> Decision:
    return Decision.deny("hook", "Another agent is still being started. Make this call again.")


def judge_call(
    call: Any, judge: ToolJudge, on_denied: DenialSink, project_dir: Path
) -> dict[str, Any]:
    """Return the hook's answer to one PreToolUse call; {} lets it pass to the next layer."""
    name, tool_input = call.get("tool_name"), call.get("tool_input")
    if not isinstance(name, str) or not isinstance(tool_input, dict):
        name, tool_input = str(name), {}
        decision = Decision.deny("hook", "The tool call could not be read; it was refused.")
    elif name == "Bash" and not _starts_in(project_dir, call.get("cwd")):
        # Relative paths are judged from the project directory, so the shell has to start there.
        decision = Decision.deny(
            "hook:cwd", "The shell has left the project directory; end the session."
        )
    else:
        decision = _judged(name, tool_input, judge)
    if decision.allowed:
        return {}
    on_denied(StreamToolDenied(name, tool_input, decision.reason))
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": decision.reason,
        }
    }


def _starts_in(project_dir: Path, cwd: object) -> bool:
    return isinstance(cwd, str) and os.path.realpath(cwd) == os.path.realpath(project_dir)


def _judged(name: str, tool_input: dict[str, Any], judge: ToolJudge) -> Decision:
    try:
        return judge(name, tool_input)
    except Exception as error:  # noqa: BLE001 - a call that can't be judged must not run
        return Decision.deny(
            "hook",
            f"This call could not be judged ({type(error).__name__}: {error}), so it was refused. "
            "Do it in a simpler way.",
        )


CONNECT_TIMEOUT_SECONDS = 60.0

InstructionJudge = Callable[[Instruction, frozenset[str], str, dict[str, Any]], Decision]
"""(instruction, offered tools, tool name, tool input) → decision."""


class ClaudeAgentFactory:
    """Makes agent sessions with the real SDK. Implements `AgentFactory`.

    Args:
        settings: what is the same for every session.
        judge: decides on every tool call.
        make_tools: returns a fresh tools; called once per session.
        wrap: puts what contains the agent in front of its command line.
        redactor: takes credentials out of all that an agent says, before anything is done with it.
        start: the words before the agent's own command that close it to its commands; they take
            its streams as descriptors 3, 4 and 6.
        on_failure: is told when an injected tool could not do its work, as on a full disk.

    Attributes:
        starts: the agents that are being started.
    """

    def __init__(
        self,
        settings: AgentSettings,
        *,
        judge: InstructionJudge,
        make_tools: Callable[[Instruction], DeliverableTools],
        wrap: Callable[[Instruction, Sequence[str]], Sequence[str]] = lambda _, command: command,
        redactor: Redactor | None = None,
        start: Sequence[str] = (),
        on_failure: Callable[[RunnerError], None] = lambda _: None,
    ) -> None:
        self._settings = settings
        self._judge = judge
        self._make_tools = make_tools
        self._wrap = wrap
        self._redactor = Redactor(os.environ) if redactor is None else redactor
        self._start = start
        self._on_failure = on_failure
        self.starts = Starts()

    async def connect(self, plan: SessionPlan) -> ClaudeSession:
        """See `AgentFactory.connect`."""
        with self.starts.one():
            return await self._connected(plan)

    async def _connected(self, plan: SessionPlan) -> ClaudeSession:
        # The import costs a second of CPU; in a thread it overlaps with the process start.
        await anyio.to_thread.run_sync(_import_sdk)
        agent = [*self._start, str(self._settings.agent_binary)]
        words = self._wrap(plan.instruction, agent)
        entries = self._settings.environment_entries(os.environ)
        sealed = self._settings.sealed(os.environ) if self._start else ()
        process = AgentProcess(words, entries, passed_on=bool(self._start), sealed=sealed)
        slot, stderr = SinkSlot(self._redactor), StderrTail(self._redactor)
        asked = AskedCalls()
        try:
            tools = self._make_tools(plan.instruction)
            client = self._client(plan, process, tools, asked=asked, slot=slot, stderr=stderr)
            await _connect(client, process)
        except BaseException as error:
            for line in process.said_at_start():
                stderr(line)
            await process.end(within_seconds=0)
            if isinstance(error, Exception):
                raise _start_error(error, stderr) from error
            raise
        process.is_started()
        return ClaudeSession(client, process, tools, asked=asked, slot=slot, stderr=stderr)

    def _client(
        self,
        plan: SessionPlan,
        process: AgentProcess,
        tools: DeliverableTools,
        *,
        asked: AskedCalls,
        slot: SinkSlot,
        stderr: StderrTail,
    ) -> "ClaudeSDKClient":
        from claude_agent_sdk import ClaudeSDKClient  # noqa: PLC0415

        offered = offered_tools(plan.instruction)

        def refused(name: str, arguments: dict[str, Any], error: RunnerError) -> None:
            slot.denied(StreamToolDenied(qualified_name(name), arguments, str(error)))
            if not isinstance(error, DeliverableError):
                self._on_failure(error)

        def judge(name: str, tool_input: dict[str, Any]) -> Decision:
            users = {name} if is_users_tool(self._settings, name) else set()
            return self._judge(plan.instruction, offered | users, name, tool_input)

        return ClaudeSDKClient(
            session_options(
                self._settings,
                plan,
                launcher=process.launcher,
                server=make_server(
                    plan.instruction, tools, refused, redactor=self._redactor, take_call=asked.take
                ),
                hooks=deny_by_default(judge, slot.denied, self._settings.project_dir, self.starts),
                on_stderr=stderr,
            )
        )


async def _connect(client: "ClaudeSDKClient", process: AgentProcess) -> None:
    """Connect; when that is given up, end the process at once.

    The SDK's own clean-up would first wait up to 5 s for an agent that is still starting.
    """
    connected = False
    failure: Exception | None = None

    async def end_when_cancelled() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            if not connected:
                process.terminate()

    with anyio.fail_after(CONNECT_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(end_when_cancelled)
            try:
                await client.connect()
                connected = True
            except Exception as error:  # noqa: BLE001 - raised below: the group would wrap it
                failure = error
            tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure


def _import_sdk() -> None:
    import claude_agent_sdk  # noqa: F401, PLC0415

    # What it would print of a lost process goes into the session's result instead; without
    # a handler of its own, Python would write it across the terminal.
    logging.getLogger("claude_agent_sdk").addHandler(logging.NullHandler())


def _start_error(error: Exception, stderr: StderrTail) -> AgentStartError:
    said = f" It wrote: {' / '.join(stderr.lines[-3:])}" if stderr.lines else ""
    reason = "it did not answer in time" if isinstance(error, TimeoutError) else str(error)
    return AgentStartError(
        f"The agent could not be started: {reason}.{said}",
        hint="`runner run --debug` shows the whole conversation with it.",
    )
