"""What the policy answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Decision:
    """The policy's answer to a command or a tool call (CONTRACT §8).

    Attributes:
        allowed: whether it may run.
        reason: for a denial, what is wrong and what to do instead; the agent reads this.
        rule: the rule that decided, as `file:key` (e.g. `base.toml:commands.find`) or the
            name of a built-in rule (e.g. `parse`, `path:protected`).
    """

    allowed: bool
    reason: str
    rule: str

    @classmethod
    def allow(cls, rule: str, reason: str = "") -> "Decision":
        return cls(allowed=True, reason=reason, rule=rule)

    @classmethod
    def deny(cls, rule: str, reason: str) -> "Decision":
        return cls(allowed=False, reason=reason, rule=rule)


class PolicyRefusalError(Exception):
    """A rule refuses a command.

    Args:
        rule: the rule that decided, e.g. `base.toml:commands.find` or `path:protected`.
        reason: what is wrong and what to do instead; the agent reads this.
    """

    def __init__(self, rule: str, reason: str) -> None:
        super().__init__(reason)
        self.rule = rule
        self.reason = reason

    def decision(self) -> Decision:
        return Decision.deny(self.rule, self.reason)


Mode = Literal["run", "sync"]

ALL_PROFILES = ("node", "bun", "python", "ruby", "go", "rust", "php")


@dataclass(frozen=True, slots=True)
class PolicySettings:
    """The variable part of the policy.

    Attributes:
        profiles: language profiles in force besides `base`.
        base_commands: extra commands allowed in run and sync (`allowCommands.base`).
        run_commands: extra commands allowed in run alone (also the legacy list form).
        sync_commands: extra commands allowed in sync alone.
        pkill_targets: extra process names that `pkill` may end.
        allow_destructive: whether `rm` and `mv` are allowed inside the project (run alone).
        scratch: absolute folders besides /tmp that may be written in both modes.
        shares_processes: whether commands see the processes of the whole user, and not those of
            their own session alone (no sandbox, or one without a process namespace).
        planned: judge for a project that is still to be built: what it will bring itself may be
            missing yet. For a plan's commands, which are judged again before they run.
    """

    profiles: tuple[str, ...] = ALL_PROFILES
    base_commands: frozenset[str] = frozenset()
    run_commands: frozenset[str] = frozenset()
    sync_commands: frozenset[str] = frozenset()
    pkill_targets: frozenset[str] = frozenset()
    allow_destructive: bool = False
    scratch: tuple[str, ...] = ()
    shares_processes: bool = False
    planned: bool = False

    def extra_commands(self, mode: Mode) -> frozenset[str]:
        """Return the names that agent.json adds in this mode."""
        return self.base_commands | (self.run_commands if mode == "run" else self.sync_commands)

    @classmethod
    def from_agent_config(
        cls, config: Mapping[str, Any], *, allow_destructive: bool = False
    ) -> "PolicySettings":
        """Build settings from the fields of a validated agent.json.

        Reads `profile`, `allowCommands` (tiers, or the legacy list that means `run`) and
        `allowPkillTargets`; other fields are not the policy's.
        """
        profile = config.get("profile")
        names: Sequence[str] = [profile] if isinstance(profile, str) else (profile or ALL_PROFILES)
        tiers = config.get("allowCommands") or {}
        if not isinstance(tiers, Mapping):
            tiers = {"run": tiers}
        return cls(
            profiles=tuple(name for name in names if name != "base"),
            base_commands=frozenset(tiers.get("base") or ()),
            run_commands=frozenset(tiers.get("run") or ()),
            sync_commands=frozenset(tiers.get("sync") or ()),
            pkill_targets=frozenset(config.get("allowPkillTargets") or ()),
            allow_destructive=allow_destructive,
        )
