"""The shell's state along the walk: variables, working directory, and what is known for good."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from runner.shell_policy.shell.limits import MAX_VARIABLES, ShellParseError
from runner.shell_policy.shell.values import (
    EMPTY,
    NUMBER,
    SIGNED,
    TRUSTED,
    UNKNOWN,
    UNKNOWN_LIST,
    Value,
    any_item,
    as_list,
    concat,
    join,
    literal,
    shaped,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.shell_policy.shell.limits import AnalysisBudget
    from runner.shell_policy.shell.nodes import Node, Sequence

Variables = dict[str, Value]
Directories = tuple[str, ...] | None

_MAX_DIRECTORIES = 6
_MAX_CALLS = 12
_NUMBERS = frozenset(
    [
        "#",
        "?",
        "$",
        "!",
        "RANDOM",
        "SRANDOM",
        "SECONDS",
        "LINENO",
        "UID",
        "EUID",
        "PPID",
        "COLUMNS",
        "LINES",
        "SHLVL",
        "OPTIND",
        "BASHPID",
        "EPOCHSECONDS",
        "HISTCMD",
        "PIPESTATUS",
        "GROUPS",
    ]
)
_TEXTS_OF_THE_SCRIPT = re.compile(
    r"BASH.*|_|REPLY|OPTARG|MAPFILE|COPROC|FUNCNAME|DIRSTACK|[0-9]+|-"
)
_DYNAMIC = re.compile(
    r"_|S?RANDOM|SECONDS|LINENO|E?UID|PPID|BASH.*|EPOCH.*|HISTCMD|PIPESTATUS|GROUPS|FUNCNAME"
    r"|DIRSTACK|COMP_.*|SHELLOPTS"
)
_UPPER = re.compile(r"[A-Z]")
_CODE = re.compile(r"[$`\[]")


class State:
    """What holds at one point of the script. Never changed in place."""

    __slots__ = ("cwds", "errexit", "variables")

    def __init__(self, variables: Variables, cwds: Directories, errexit: bool) -> None:
        self.variables = variables
        self.cwds = cwds
        self.errexit = errexit

    def at(self, cwds: Directories) -> State:
        return State(self.variables, cwds, self.errexit)

    def holding(self, variables: Variables) -> State:
        return State(variables, self.cwds, self.errexit)


class Knowledge:
    """What is true of the whole script in any order of execution; grows from pass to pass.

    Attributes:
        summary: for each variable the join of all values it is ever given.
        volatile: variables assigned where the order of events is not followed (functions, traps).
        integers: variables with the integer attribute, whose every value is arithmetic.
        arguments: for each function the positional parameters of its calls; an unknown list alone
            when there are too many.
        settled: whether the calls are known, so that a function without one is visited as well;
            `unvisited`: whether there was such a function before.
        parsed: code for `eval` and `trap`, so that its loops are the same ones in every pass.
        loop_variables: what is assigned in each loop; `loop_moves`: loops that change directory.
    """

    def __init__(self) -> None:
        self.summary: Variables = {}
        self.volatile: set[str] = set()
        self.integers: set[str] = set()
        self.loop_variables: dict[Node, set[str]] = {}
        self.loop_moves: set[Node] = set()
        self.flags: set[str] = set()
        self.arguments: dict[str, list[Value]] = {}
        self.parsed: dict[str, Sequence] = {}
        self.changed = False
        self.widen = False
        self.settled = False
        self.unvisited = False

    def add(self, group: set[str], name: str) -> None:
        if name not in group:
            group.add(name)
            self.changed = True

    def note_call(self, name: str, arguments: Value) -> None:
        """A function is called with these positional parameters."""
        known = self.arguments.setdefault(name, [])
        if any(one.key() == arguments.key() for one in known) or known == [UNKNOWN_LIST]:
            return
        told = arguments.items is not None or arguments.shapes is not None
        exact = told and len(known) < _MAX_CALLS and not self.widen
        self.arguments[name] = [*known, arguments] if exact else [UNKNOWN_LIST]
        self.changed = True

    def note(self, name: str, value: Value) -> None:
        old = self.summary.get(name)
        new = value if old is None else join(old, value)
        if old is not None and new.key() == old.key():
            return
        if old is not None and self.widen:
            new = Value(safe=new.safe, many=new.many)
        if len(self.summary) >= MAX_VARIABLES:
            raise ShellParseError("Too many variables are used.", hint="Use fewer variables.")
        self.summary[name] = new
        self.changed = True
        texts = any_item(new).choices
        if any(map(_CODE.search, texts)) if texts is not None else not new.safe:
            self.add(self.flags, "code")


Outcome = tuple[State | None, State | None]
"""The states after success and after failure; None where that can't happen."""


class ShellEnvironment:
    """Variables and directory of the shell process that the walk is in."""

    def __init__(
        self, knowledge: Knowledge, state: State, fixed: Mapping[str, str], budget: AnalysisBudget
    ) -> None:
        self.knowledge = knowledge
        self.budget = budget
        self.state = state
        self.fixed = fixed
        self.loops: list[tuple[Node, int]] = []
        self.subshells = 0
        self.functions: list[int] = []
        self.trapping = 0

    def initial(self, name: str) -> Value:
        """The value of a variable that the script has not assigned."""
        if name in _NUMBERS:
            return NUMBER
        if name in ("@", "*"):
            return UNKNOWN_LIST
        if name in self.fixed:
            return literal(self.fixed[name])
        if _TEXTS_OF_THE_SCRIPT.fullmatch(name):
            return UNKNOWN
        if "code" in self.knowledge.flags and _UPPER.search(name):
            # Its text may be the name of a variable that now holds code.
            return UNKNOWN
        return TRUSTED

    def unset(self, name: str, value: Value) -> Value:
        """What a variable that the script sets holds in code that may run before that.

        The environment is told apart by the custom that its names are in capitals; a number
        that it might hold is one of ours.
        """
        before = self.initial(name)
        if before is not TRUSTED or name in self.fixed:
            return before
        if value.numeric and value.choices is None:
            return value
        return before if _UPPER.search(name) else EMPTY

    def lookup(self, name: str) -> Value:
        if name == "PWD" and name not in self.knowledge.summary:
            return self._pwd()
        if _DYNAMIC.fullmatch(name):
            return UNKNOWN if name in self.knowledge.summary else self.initial(name)
        if name.isdigit() and name != "0":
            return self._positional(int(name))
        if name == "*":
            name = "@"
        value = self.state.variables.get(name)
        if name in self.knowledge.volatile and name in self.knowledge.summary:
            summary = self.knowledge.summary[name]
            return join(self.initial(name) if value is None else value, summary)
        return self.initial(name) if value is None else value

    def _pwd(self) -> Value:
        start = self.fixed.get("PWD")
        cwds = self.state.cwds
        if cwds is not None and len(cwds) == 1 and (start or cwds[0].startswith("/")):
            return literal(posixpath.normpath(posixpath.join(start or "/", cwds[0])))
        return Value(prefix="/", nonempty=True)

    def _positional(self, index: int) -> Value:
        value = self.lookup("@")
        if value.items is None and value.shapes is not None:
            return shaped((*value.shapes, ""))
        if value.items is None:
            return UNKNOWN
        return value.items[index - 1] if index <= len(value.items) else EMPTY

    def assign(self, name: str, value: Value, *, append: bool = False) -> Value:
        """Give a variable a value; returns what it now is."""
        if append:
            value = self._appended(name, value)
        if name in self.knowledge.integers:
            if not any_item(value).safe:
                raise ShellParseError(
                    f"The integer variable `{name}` gets a value that may not be a number.",
                    hint="Declare it without -i.",
                )
            value = SIGNED
        self.knowledge.note(name, value)
        if self.functions and name != "@":
            # The positional parameters belong to the call.
            self.knowledge.add(self.knowledge.volatile, name)
        for loop, _ in self.loops:
            self.knowledge.add(self.knowledge.loop_variables.setdefault(loop, set()), name)
        if name == "IFS":
            self.knowledge.add(self.knowledge.flags, "ifs")
        self.state = self.state.holding({**self.state.variables, name: value})
        return value

    def _appended(self, name: str, value: Value) -> Value:
        old = self.lookup(name)
        if old is TRUSTED and not _UPPER.search(name):
            return value  # by custom no variable of the environment
        if not (old.many or value.many):
            return concat([old, value])
        element = join(any_item(old), any_item(value))
        items = None
        if old.items is not None and value.items is not None and len(old.items) < 64:
            items = old.items + value.items
        return as_list(element, items, assoc=old.assoc)

    def forget_all(self) -> None:
        """Code that is not in sight may have changed every variable."""
        for name in self.state.variables:
            self.assign(name, UNKNOWN)

    def move(self, cwds: Directories) -> None:
        """Change the working directory, as far as the new one is known."""
        if self.trapping:
            raise ShellParseError("A trap changes the directory.", hint="Leave `cd` out of it.")
        for name in ("PWD", "OLDPWD"):
            if name in self.state.variables:
                self.assign(name, UNKNOWN)
        self.knowledge.add(self.knowledge.flags, "cd")
        if self.functions and self.functions[-1] == self.subshells:
            self.knowledge.add(self.knowledge.flags, "cd in function")
        for loop, depth in self.loops:
            if depth == self.subshells and loop not in self.knowledge.loop_moves:
                self.knowledge.loop_moves.add(loop)
                self.knowledge.changed = True
        self.state = self.state.at(cwds)

    def resolve(self, target: str) -> Directories:
        """Where `cd target` leads from here, by the text of the path as `cd` itself does it."""
        if target.startswith("/"):
            return (_normal(target),)
        if self.state.cwds is None or "CDPATH" in self.knowledge.summary:
            return None
        return unite(tuple(_normal(posixpath.join(cwd, target)) for cwd in self.state.cwds), ())


def _normal(path: str) -> str:
    path = posixpath.normpath(path)
    return path[1:] if path.startswith("//") else path


def unite(left: Directories, right: Directories) -> Directories:
    if left is None or right is None:
        return None
    both = tuple(dict.fromkeys(left + right))
    return both if len(both) <= _MAX_DIRECTORIES else None


def merge(left: State | None, right: State | None, environment: ShellEnvironment) -> State | None:
    """The state when it may be either; None stands for "can't happen"."""
    if left is None or right is None or left is right:
        return right if left is None else left
    errexit = left.errexit and right.errexit
    cwds = unite(left.cwds, right.cwds)
    if left.variables is right.variables:
        return State(left.variables, cwds, errexit)
    merged: Variables = {}
    environment.budget.node(len(left.variables) // 8)
    for name in left.variables.keys() | right.variables.keys():
        one, other = left.variables.get(name), right.variables.get(name)
        if one is None or other is None:
            given = other if one is None else one
            merged[name] = join(environment.unset(name, given), given) if given else EMPTY
        else:
            merged[name] = one if one is other else join(one, other)
    return State(merged, cwds, errexit)
