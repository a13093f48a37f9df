"""What contains the agent in a run, and the wrapping that does it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from runner.marker import Instruction
from runner.sandbox.box import (
    BoxSettings,
    PrivateState,
    box_command,
    clean_box_command,
    read_only_box_command,
    verification_box_command,
)
from runner.sandbox.channel import start_server, start_words
from runner.sandbox.environment import ALLOWLIST, EnvironmentRules
from runner.sandbox.overlay import Overlay
from runner.sandbox.rooms import RoomMounts
from runner.sandbox.scratch import Scratch, new_temporary, prepare_claude
from runner.sandbox.sdk import nested_sandbox, sdk_sandbox

READ_ONLY = frozenset({Instruction.SYNC, Instruction.VERIFY, Instruction.REVIEW})
"""Sessions that must not change the project."""


@dataclass(frozen=True, slots=True)
class ContainmentLayer:
    """One layer of containment; `detail` says what it does, or why it is not there."""

    name: str
    active: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Caution:
    """Something the user should know before the first session."""

    text: str
    hint: str | None = None


@dataclass(frozen=True)
class Containment:
    """Contains the sessions of one run.

    Attributes:
        summary: one line for the startup display.
        layers: all that this machine could have, active or not.
        cautions: to be shown as warnings before the first session.
        overlays: the layers of the read-only sessions wrapped so far, in order.
        channel: where an agent finds what closes it to its commands (see channel.py); None
            where this machine has nothing for it.
        scratch: the run's own folder; None where nothing needs one.
    """

    summary: str
    layers: tuple[ContainmentLayer, ...] = ()
    cautions: tuple[Caution, ...] = ()
    overlays: list[Overlay] = field(default_factory=list)
    channel: Path | None = None
    scratch: Scratch | None = None

    @property
    def active(self) -> bool:
        """Whether the operating system contains the agent at all."""
        return any(layer.active for layer in self.layers)

    @property
    def start(self) -> tuple[str, ...]:
        """The words before an agent's own that close it to its commands (see channel.py)."""
        return () if self.channel is None else start_words(self.channel)

    def start_servers(self, servers: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings of the user's MCP servers as an agent is to start them."""
        if self.channel is None:
            return dict(servers)
        return {name: start_server(self.channel, server) for name, server in servers.items()}

    @property
    def shares_processes(self) -> bool:
        """Whether commands see the processes of the whole user."""
        return True

    def wrap(self, instruction: Instruction, command: Sequence[str]) -> Sequence[str]:
        """Return the command that runs `command` contained, as sessions of its kind are."""
        del instruction
        return command

    def wrap_verification(self, command: Sequence[str]) -> Sequence[str]:
        """Return the command that runs a verification command contained, signed in to nothing."""
        return command

    @property
    def rooms(self) -> "RoomBuilder | None":
        """What mounts a clean room over the project; None where no mounts can be made."""
        return None

    def sdk_settings(self, instruction: Instruction) -> dict[str, Any] | None:
        """Return the settings of the agent's own sandbox, None to leave it off."""
        del instruction
        return None


@dataclass(frozen=True, slots=True)
class RoomBuilder:
    """What is needed to mount clean rooms.

    Attributes:
        overlays: whether folders can be mounted with a throw-away layer over them.
    """

    around: BoxSettings
    overlays: bool

    def wrap(self, room: RoomMounts, command: Sequence[str]) -> Sequence[str]:
        """Return the command that runs `command` in the room."""
        return [*clean_box_command(self.around, room), *command]


@dataclass(frozen=True)
class SdkContainment(Containment):
    """The agent's own sandbox contains its Bash tool (macOS)."""

    project: Path = Path()
    home: Path = Path()
    environ: dict[str, str] = field(default_factory=dict)
    rules: EnvironmentRules = ALLOWLIST

    def sdk_settings(self, instruction: Instruction) -> dict[str, Any]:
        """See `Containment.sdk_settings`."""
        read_only = instruction in READ_ONLY
        return sdk_sandbox(
            self.project,
            self.home,
            self.environ,
            read_only=read_only,
            needs=lambda name: self.rules.is_needed(name, self.environ, signs_in=True),
        )


@dataclass(frozen=True, kw_only=True)
class BubblewrapContainment(Containment):
    """bubblewrap contains the whole agent process (Linux).

    Attributes:
        state: its caches are those of all sessions that may write the project.
        account_file: the user's `.claude.json`.
        overlay_works: whether read-only sessions get a throw-away copy.
    """

    around: BoxSettings
    state: PrivateState
    account_file: Path
    overlay_works: bool

    @property
    def shares_processes(self) -> bool:
        """See `Containment.shares_processes`: the box has a process namespace of its own."""
        return False

    def wrap(self, instruction: Instruction, command: Sequence[str]) -> Sequence[str]:
        """See `Containment.wrap`.

        No session gets Claude Code's state of another: settings, memory and transcripts that a
        command writes there could instruct the next. A read-only session shares nothing at all.
        """
        folder = self.around.scratch.new_folder()
        if instruction not in READ_ONLY:
            state = new_state(self.around, folder, self.account_file, self.state.cache)
            return [*box_command(self.around, state, None), *command]
        state = new_state(self.around, folder, self.account_file)
        around = replace(self.around, temporary=new_temporary(folder))
        if not self.overlay_works:
            return [*read_only_box_command(around, state), *command]
        overlay = new_overlay(around.project, folder)
        self.overlays.append(overlay)
        return [*box_command(around, state, overlay), *command]

    def wrap_verification(self, command: Sequence[str]) -> Sequence[str]:
        """See `Containment.wrap_verification`. The caches are those of coding sessions."""
        claude = self.around.scratch.new_folder()
        state = PrivateState(claude, self.state.cache)
        return [*verification_box_command(self.around, state), *command]

    @property
    def rooms(self) -> RoomBuilder:
        """See `Containment.rooms`."""
        return RoomBuilder(self.around, self.overlay_works)

    def sdk_settings(self, instruction: Instruction) -> dict[str, Any] | None:
        """See `Containment.sdk_settings`."""
        del instruction
        if not self.around.nests:
            return None
        # A read-only session's own caches lie in a folder that is named only when it starts.
        sessions = self.around.scratch.root / "sessions"
        return nested_sandbox([Path("/tmp"), Path("/var/tmp"), self.state.cache, sessions])  # noqa: S108


def new_state(
    around: BoxSettings, folder: Path, account_file: Path, cache: Path | None = None
) -> PrivateState:
    """Make private state in `folder`, which no agent has seen."""
    claude = folder / "claude"
    prepare_claude(claude, account_file, around.claude_config / ".credentials.json")
    if cache is None:
        cache = folder / "cache"
        cache.mkdir()
    return PrivateState(claude, cache)


def new_overlay(project: Path, folder: Path) -> Overlay:
    """Make the two folders of an overlay in `folder`."""
    upper = folder / "upper"
    upper.mkdir()
    upper.with_name("work").mkdir()
    return Overlay(project, upper)
