"""The walk through subshells, loops, branches and function bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.shell_policy.shell.limits import MAX_REDIRECTIONS
from runner.shell_policy.shell.names import check_target, refuse_modelled
from runner.shell_policy.shell.nodes import (
    ArithmeticCommand,
    Case,
    Chain,
    CommandNode,
    Condition,
    Coproc,
    For,
    ForArithmetic,
    Function,
    GroupNode,
    If,
    Node,
    Pipeline,
    Redirect,
    Sequence,
    Simple,
    While,
    WordNode,
)
from runner.shell_policy.shell.parameters import check_subscript
from runner.shell_policy.shell.state import ShellEnvironment, State, Variables, merge
from runner.shell_policy.shell.values import (
    NUMBER,
    UNKNOWN,
    UNKNOWN_LIST,
    Value,
    any_item,
    as_list,
    join,
    list_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.shell_policy.shell import facts
    from runner.shell_policy.shell.expansion import Expander
    from runner.shell_policy.shell.facts import Redirection, ShellAssignment
    from runner.shell_policy.shell.limits import AnalysisBudget
    from runner.shell_policy.shell.state import Outcome

_NUMERIC_TESTS = frozenset(["-eq", "-ne", "-lt", "-le", "-gt", "-ge"])


class Structures:
    """What a compound command does to the state; base of the walk."""

    environment: ShellEnvironment
    expander: Expander
    budget: AnalysisBudget
    compared: list[facts.ShellWord]
    functions: set[str]
    around: tuple[Redirection, ...]
    piped: bool
    background: bool
    beside: int
    inside: list[str]
    conditional: int
    feed: Value | None

    def sequence(self, sequence: Sequence) -> Outcome:
        raise NotImplementedError

    def simple(self, command: Simple) -> Outcome:
        raise NotImplementedError

    def assigned(self, name: str, value: Value, source: str, subscript: str | None = None) -> None:
        raise NotImplementedError

    def redirections(
        self, redirects: list[Redirect]
    ) -> tuple[tuple[Redirection, ...], list[ShellAssignment]]:
        raise NotImplementedError

    def process_output(self, redirect: Redirect) -> Value | None:
        raise NotImplementedError

    def emit(
        self,
        words: tuple[facts.ShellWord, ...],
        assignments: tuple[ShellAssignment, ...],
        redirections: tuple[Redirection, ...],
        source: str,
    ) -> None:
        raise NotImplementedError

    def _links(self, links: list[tuple[str, Pipeline]]) -> Outcome:
        raise NotImplementedError

    def expander_subscript(self, subscript: WordNode, value: Value) -> None:
        """Visit the subscript of something that is assigned."""
        if subscript.source not in ("@", "*"):
            check_subscript(subscript, value, self.expander)

    def in_subshell(self, visit: Callable[[], object], *, piped: bool) -> None:
        """Visit something whose effects on the state are lost."""
        environment = self.environment
        state, was_piped, conditional = environment.state, self.piped, self.conditional
        environment.subshells += 1
        self.piped = piped
        visit()
        environment.subshells -= 1
        environment.state, self.piped, self.conditional = state, was_piped, conditional

    def in_background(self, chain: Chain) -> None:
        background, self.background = self.background, True
        self.beside += 1
        self.in_subshell(lambda: self._links(chain.links), piped=self.piped)
        self.beside -= 1
        self.background = background

    def command(self, command: CommandNode) -> Outcome:
        """Walk any command."""
        self.budget.node()
        if isinstance(command, Simple):
            return self.simple(command)
        if isinstance(command, Function):
            # A function's redirections are made at each call.
            with_redirections = self._with_redirections(command.body, command.redirections)
            self.function(command.name, with_redirections)
            return self.environment.state, self.environment.state
        return self._with_redirections(command, command.redirections)()

    def _with_redirections(
        self, command: CommandNode, redirects: list[Redirect]
    ) -> Callable[[], Outcome]:
        def visit() -> Outcome:
            return self._redirected(command, redirects)

        return visit

    def _redirected(self, command: CommandNode, redirects: list[Redirect]) -> Outcome:
        if isinstance(command, Simple):
            return self.simple(command)
        everything = (
            redirects if redirects is command.redirections else [*command.redirections, *redirects]
        )
        found, assignments = self.redirections(everything)
        if found or assignments:
            self.emit((), tuple(assignments), found, "")
        outer, was_piped, feed = self.around, self.piped, self.feed
        self.around = (found + outer)[:MAX_REDIRECTIONS]
        if any(one.operator.startswith("<") and one.fd in (None, 0) for one in found):
            self.piped = False
        for redirect in everything:
            if redirect.operator.startswith("<"):
                self.feed = self.process_output(redirect)
        outcome = self._compound(command)
        self.around, self.piped, self.feed = outer, was_piped, feed
        return outcome

    def _compound(self, command: CommandNode) -> Outcome:
        if isinstance(command, GroupNode):
            return self._group(command)
        if isinstance(command, If):
            return self._if(command)
        if isinstance(command, While | For | ForArithmetic):
            return self._loop(command)
        if isinstance(command, Case):
            return self._case(command)
        if isinstance(command, Condition):
            self._condition(command)
        elif isinstance(command, ArithmeticCommand):
            self.expander.arithmetic(command.expression)
        elif isinstance(command, Coproc):
            self._coproc(command)
        return self.environment.state, self.environment.state

    def _group(self, group: GroupNode) -> Outcome:
        if not group.subshell:
            return self.sequence(group.body)
        self.in_subshell(lambda: self.sequence(group.body), piped=self.piped)
        return self.environment.state, self.environment.state

    def tested(self, sequence: Sequence) -> Outcome:
        """Walk a list whose failure does not end the shell."""
        self.conditional += 1
        outcome = self.sequence(sequence)
        self.conditional -= 1
        return outcome

    def _if(self, command: If) -> Outcome:
        environment = self.environment
        ok: State | None = None
        fail: State | None = None
        remaining: State | None = environment.state
        for condition, body in command.clauses:
            environment.state = remaining or environment.state
            true, false = self.tested(condition)
            environment.state = true or environment.state
            body_ok, body_fail = self.sequence(body)
            if true is not None:
                ok, fail = merge(ok, body_ok, environment), merge(fail, body_fail, environment)
            remaining = false
        environment.state = remaining or environment.state
        if command.otherwise is not None:
            last_ok, last_fail = self.sequence(command.otherwise)
        else:
            last_ok, last_fail = remaining, None
        if remaining is None:
            return ok, fail
        return merge(ok, last_ok, environment), merge(fail, last_fail, environment)

    def _case(self, command: Case) -> Outcome:
        environment = self.environment
        self._compare(command.subject)
        start = after = environment.state
        for patterns, body, _ in command.clauses:
            environment.state = start
            for pattern in patterns:
                self._compare(pattern)
            start = environment.state
            # `;&` may have brought us here from the clause before.
            environment.state = merge(start, after, environment) or start
            ok, fail = self.sequence(body)
            after = merge(after, merge(ok, fail, environment), environment) or after
        environment.state = merge(start, after, environment) or start
        return environment.state, environment.state

    def _widened(self, loop: Node, state: State) -> State:
        """The state with all that the loop may have done in any number of rounds."""
        knowledge = self.environment.knowledge
        names = knowledge.loop_variables.get(loop)
        if names:
            self.budget.node(len(names) // 8)
            variables = dict(state.variables)
            for name in names:
                new = knowledge.summary[name]
                old = variables.get(name) or self.environment.unset(name, new)
                variables[name] = join(old, new)
            state = state.holding(variables)
        return state.at(None) if loop in knowledge.loop_moves else state

    def _loop(self, loop: While | For | ForArithmetic) -> Outcome:
        environment = self.environment
        values = self._loop_values(loop) if isinstance(loop, For) else None
        environment.loops.append((loop, environment.subshells))
        environment.state = self._widened(loop, environment.state)
        start: State | None = environment.state
        if isinstance(loop, While):
            ok, fail = self.tested(loop.condition)
            environment.state = (fail if loop.until else ok) or environment.state
        elif isinstance(loop, For):
            source = f"{'select' if loop.select else 'for'} {loop.name}"
            if loop.words:
                source += " in " + " ".join(word.source for word in loop.words)
            self.assigned(loop.name, values or UNKNOWN, source)
            if loop.select:
                self.assigned("REPLY", UNKNOWN, source)
        else:
            self.expander.arithmetic(loop.expression)
        self.sequence(loop.body)
        end = environment.state
        environment.loops.pop()
        after = merge(start, end, environment) or end
        environment.state = self._widened(loop, after)
        return environment.state, environment.state

    def _loop_values(self, loop: For) -> Value:
        if loop.words is None:
            positional = self.environment.lookup("@")
            return any_item(positional)
        fields = [field for word in loop.words for field in self.expander.fields(word)]
        return any_item(list_of(fields))

    def _condition(self, command: Condition) -> None:
        for operator, words in command.tests:
            if operator in _NUMERIC_TESTS:
                for word in words:
                    self.expander.arithmetic(word)
                continue
            values = [self._compare(word) for word in words]
            if operator in ("-v", "-R"):
                check_target(values[0], words[0].source)
            if operator == "=~":
                self.environment.assign("BASH_REMATCH", as_list(UNKNOWN, None))

    def _compare(self, word: WordNode) -> Value:
        value = self.expander.single(word)
        self.compared.append(value.word(word.source))
        return value

    def _coproc(self, command: Coproc) -> None:
        source = f"coproc {command.name}"
        self.assigned(command.name, as_list(NUMBER, None), source)
        self.assigned(f"{command.name}_PID", NUMBER, source)
        background, self.background = self.background, True
        self.feed, feed = None, self.feed
        self.in_subshell(lambda: self.command(command.body), piped=True)
        self.background, self.feed = background, feed

    def function(self, name: str, visit: Callable[[], object]) -> None:
        """Visit a function's body, once for each way in which the script calls it."""
        refuse_modelled(name)
        knowledge = self.environment.knowledge
        calls = knowledge.arguments.get(name)
        if not calls and not knowledge.settled:
            # Its calls may not have been seen yet; what is unknown would spoil what is known.
            knowledge.unvisited = True
            return
        beside, self.beside = self.beside, 0
        self.inside.append(name)
        for arguments in calls or [UNKNOWN_LIST]:
            self.later(visit, {"@": arguments})
        self.inside.pop()
        self.beside = beside

    def later(
        self, visit: Callable[[], object], given: Variables, *, since: Variables | None = None
    ) -> None:
        """Visit code that may run at any later time: a function's body, a trap's.

        Args:
            visit: walks the code.
            given: variables that it finds.
            since: the variables when it was set up, if it can't run before that.
        """
        environment = self.environment
        knowledge = environment.knowledge
        state, around, piped, conditional = (
            environment.state, self.around, self.piped, self.conditional
        )  # fmt: skip
        self.budget.node(len(knowledge.summary) // 8)
        variables = {
            variable: join((since or {}).get(variable) or environment.unset(variable, value), value)
            for variable, value in knowledge.summary.items()
        }
        cwds = None if "cd" in knowledge.flags else state.cwds
        environment.state = State({**variables, **given}, cwds, errexit=False)
        environment.functions.append(environment.subshells)
        loops, environment.loops = environment.loops, []
        feed, self.feed = self.feed, None
        visit()
        self.feed = feed
        environment.loops = loops
        environment.functions.pop()
        environment.state, self.around, self.piped, self.conditional = (
            state, around, piped, conditional
        )  # fmt: skip
