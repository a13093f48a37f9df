"""What every rule can look at while one command is judged."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from runner.shell_policy.decision import Mode, PolicyRefusalError, PolicySettings
from runner.shell_policy.paths import PathPolicy
from runner.shell_policy.shell.facts import ShellScript, ShellWord, SimpleCommand
from runner.shell_policy.table import CommandRule, RuleSet

MAX_DEPTH = 6


@dataclass(frozen=True, slots=True)
class Context:
    """The surroundings of one command.

    Attributes:
        judge: judges a further command, e.g. what a wrapper runs.
        analyse: reads a script; the command is the one that makes a shell run it, with the
            positional parameters that it gives.
        functions: names the script defines as functions.
        rooted: variables that certainly hold a directory of the project.
        assigned: variables the script itself sets.
        script: all commands of the script that this one is part of.
        depth: how deep in wrappers and nested scripts this command is.
        private: whether the whole text names places that hold credentials, so that a path
            that is only known at run time may lead there.
    """

    mode: Mode
    settings: PolicySettings
    paths: PathPolicy
    rules: RuleSet
    judge: Callable[["Context", SimpleCommand], str]
    analyse: Callable[[str, SimpleCommand | None, tuple[ShellWord, ...] | None], ShellScript]
    functions: frozenset[str] = frozenset()
    rooted: frozenset[str] = frozenset()
    assigned: frozenset[str] = frozenset()
    script: tuple[SimpleCommand, ...] = ()
    depth: int = 0
    private: bool = False

    def outside_shell(self) -> "Context":
        """For what runs as a program of its own: it knows no function of the script."""
        return replace(self, functions=frozenset())

    def deeper(self) -> "Context":
        if self.depth >= MAX_DEPTH:
            raise PolicyRefusalError(
                "limit:depth", "Commands are nested too deeply. Write it simpler."
            )
        return replace(self, depth=self.depth + 1)


@dataclass(frozen=True, slots=True)
class Arguments:
    """A command's arguments as its option table reads them.

    Attributes:
        options: option name and value in order; the value is None for a flag.
        operands: everything else.
    """

    options: tuple[tuple[str, ShellWord | None], ...] = ()
    operands: tuple[ShellWord, ...] = ()

    def has(self, *names: str) -> bool:
        return any(name in names for name, _ in self.options)

    def values(self, *names: str) -> list[ShellWord]:
        return [value for name, value in self.options if name in names and value is not None]


@dataclass(frozen=True, slots=True)
class CommandCall:
    """One command with its rule: what a validator gets."""

    context: Context
    rule: CommandRule
    command: SimpleCommand
    args: tuple[ShellWord, ...]
    parsed: Arguments = field(default_factory=Arguments)

    @property
    def cwd(self) -> str | None:
        return self.command.cwd

    def refuse(self, reason: str) -> PolicyRefusalError:
        """Return the refusal to raise, with this rule's name."""
        return PolicyRefusalError(self.rule.rule, f"{self.rule.name}: {reason}")

    def literal(self, word: ShellWord, what: str) -> str:
        """Return the word's one value, or refuse."""
        if word.text is None:
            raise self.refuse(f"{what} must be written out, not {word.source or 'computed'}.")
        return word.text

    def run_only(self, what: str) -> None:
        """Refuse in sync."""
        if self.context.mode == "sync":
            raise self.refuse(f"{what} changes files, and this session is read-only.")

    def judge_inner(self, words: tuple[ShellWord, ...]) -> None:
        """Judge what this command runs in turn."""
        if not words:
            return
        inner = replace(self.command, words=words, assignments=(), redirections=())
        self.context.judge(self.context.deeper().outside_shell(), inner)
