"""What the policy answers."""

from dataclasses import dataclass


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
