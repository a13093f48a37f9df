"""How a rule says no: one exception, turned into a Decision at the policy's boundary."""

from runner.shell_policy.decision import Decision


class RefusedError(Exception):
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
