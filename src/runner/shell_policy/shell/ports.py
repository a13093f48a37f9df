"""What the parts of the analysis ask of the walk, which knows them all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.shell_policy.shell import facts
    from runner.shell_policy.shell.calls import CallOrder
    from runner.shell_policy.shell.facts import SimpleCommand
    from runner.shell_policy.shell.limits import AnalysisBudget
    from runner.shell_policy.shell.nodes import Assign, Redirect, Sequence, WordNode
    from runner.shell_policy.shell.state import Outcome, ShellEnvironment, Variables
    from runner.shell_policy.shell.values import Value


class Host(Protocol):
    """The walk, as far as expansion needs it."""

    environment: ShellEnvironment
    budget: AnalysisBudget
    commands: list[SimpleCommand]
    compared: list[facts.ShellWord]

    def substitution(self, body: Sequence) -> None:
        """Visit the commands of a substitution."""

    def assigned(self, name: str, value: Value, source: str, subscript: str | None = None) -> None:
        """An expansion assigned a variable."""


class WordExpander(Protocol):
    """Expansion, as far as what is nested in a parameter needs it."""

    def single(self, word: WordNode) -> Value:
        """The value where bash neither splits nor globs."""

    def arithmetic(self, word: WordNode) -> None:
        """Visit an expression."""


class ShellPort(Host, Protocol):
    """The walk, as far as built-ins need it."""

    functions: set[str]
    calls: CallOrder
    inside: list[str]
    beside: int

    def fed(self, redirects: list[Redirect]) -> Value | None:
        """What is known of each line on the standard input of a built-in that reads."""

    def value_of(self, assign: Assign) -> Value:
        """The value an assignment gives the variable as a whole."""

    def parse_again(self, text: str) -> Sequence:
        """Parse code that runs in this same shell."""

    def sequence(self, sequence: Sequence) -> Outcome:
        """Walk a list in the current state, and leave the state after it."""

    def later(
        self, visit: Callable[[], object], given: Variables, *, since: Variables | None = None
    ) -> None:
        """Visit code that may run at any later time."""
