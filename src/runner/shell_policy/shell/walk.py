"""The walk over the tree: which commands bash would run, in which state.

Straight code is followed in order. Where the order of events is not followed (functions, traps)
a variable has every value it is ever given; loops likewise for what they assign. Therefore the
walk is repeated until what it knows of the whole script no longer grows.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from runner.shell_policy.shell import builtins, outputs
from runner.shell_policy.shell.braces import expand as expand_braces
from runner.shell_policy.shell.call import ShellCall
from runner.shell_policy.shell.calls import CallOrder
from runner.shell_policy.shell.compound import parse
from runner.shell_policy.shell.expansion import Expander
from runner.shell_policy.shell.facts import Redirection, ShellAssignment, SimpleCommand
from runner.shell_policy.shell.limits import AnalysisBudget, ShellParseError
from runner.shell_policy.shell.nodes import (
    Assign,
    CommandNode,
    Function,
    Pipeline,
    Redirect,
    Sequence,
    Simple,
    Substitution,
    WordNode,
)
from runner.shell_policy.shell.state import Knowledge, ShellEnvironment, State, Variables, merge
from runner.shell_policy.shell.structures import Structures
from runner.shell_policy.shell.values import (
    EMPTY,
    FRESH,
    NUMBER,
    UNKNOWN,
    Value,
    any_item,
    concat,
    list_of,
    literal,
    one_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.shell_policy.shell import facts
    from runner.shell_policy.shell.state import Outcome

_ONE_SUBSTITUTION = re.compile(r"\w+=[^$`]*\$\([^$`]*\)[^$`]*")


class Walk(Structures):
    """One pass. `commands` holds what was found."""

    def __init__(
        self, knowledge: Knowledge, state: State, fixed: Mapping[str, str], functions: set[str]
    ) -> None:
        self.budget = AnalysisBudget()
        self.environment = ShellEnvironment(knowledge, state, fixed, self.budget)
        self.expander = Expander(self)
        self.functions = functions
        self.commands: list[SimpleCommand] = []
        self.compared: list[facts.ShellWord] = []
        self.around: tuple[Redirection, ...] = ()
        self.piped = False
        self.background = False
        self.feeds = ""
        self.beside = 0
        self.inside: list[str] = []
        self.conditional = 0
        self.calls = CallOrder()
        self.feed: Value | None = None
        self.level = 0

    def substitution(self, body: Sequence) -> None:
        def visit() -> None:
            state = self.environment.state
            self.environment.state = State(state.variables, state.cwds, errexit=False)
            self.sequence(body)

        self.in_subshell(visit, piped=self.piped)

    def assigned(self, name: str, value: Value, source: str, subscript: str | None = None) -> None:
        """Something other than an assignment word assigns: note it and report it."""
        value = self.environment.assign(name, value)
        found = ShellAssignment(name, any_item(value).word(source), subscript)
        self.emit((), (found,), (), source)

    def parse_again(self, text: str) -> Sequence:
        """Parse code that runs in this same shell (`eval`, `trap`)."""
        self.budget.node()
        parsed = self.environment.knowledge.parsed
        if text not in parsed:
            parsed[text] = parse(text, self.budget, self.functions)
        return parsed[text]

    def sequence(self, sequence: Sequence) -> Outcome:
        """Walk a list in the current state, and leave the state after it."""
        self.level += 1
        outcome = self._chains(sequence)
        self.level -= 1
        return outcome

    def _chains(self, sequence: Sequence) -> Outcome:
        environment = self.environment
        ok: State | None = environment.state
        fail: State | None = None
        dead = False
        for chain in sequence.chains:
            before = environment.state
            if chain.background:
                self.in_background(chain)
                environment.state = before
                ok, fail = before, None
                continue
            self._note_definition(chain.links)
            ok, fail = self._links(chain.links)
            after = merge(ok, fail, environment)
            if self._exits_on_failure(chain.links):
                after = ok
            if after is not None and environment.state.errexit and self._certain(chain.links):
                after = _succeeded(chain.links[0][1], after)
            if after is None:
                dead = True
            else:
                environment.state = after
        return (None, None) if dead else (ok, fail)

    def _note_definition(self, links: list[tuple[str, Pipeline]]) -> None:
        commands = links[0][1].commands
        if self.level == 1 and len(links) == 1 and len(commands) == 1:
            command = commands[0]
            if isinstance(command, Function):
                self.calls.define(command.name)

    def _certain(self, links: list[tuple[str, Pipeline]]) -> bool:
        """Whether `set -e` ends the shell when this fails."""
        unsure = self.conditional or "errexit" in self.environment.knowledge.flags
        return len(links) == 1 and not links[0][1].negated and not unsure

    def _exits_on_failure(self, links: list[tuple[str, Pipeline]]) -> bool:
        """Whether a failed `cd` ends the shell; for other commands it does not matter."""
        pipeline = links[0][1]
        if len(links) != 1 or pipeline.negated or len(pipeline.commands) != 1:
            return False
        command = pipeline.commands[0]
        word = command.words[0] if isinstance(command, Simple) and command.words else None
        plain = isinstance(word, WordNode) and word.plain() in ("cd", "pushd")
        unsure = self.conditional or "errexit" in self.environment.knowledge.flags
        return plain and not unsure and self.environment.state.errexit

    def _links(self, links: list[tuple[str, Pipeline]]) -> Outcome:
        environment = self.environment
        ok, fail = self._pipeline(links[0][1], last=len(links) == 1)
        if len(links) > 1 and ok is not None:
            ok = _succeeded(links[0][1], ok)
        for position, (operator, pipeline) in enumerate(links[1:], 2):
            start = ok if operator == "&&" else fail
            environment.state = start or environment.state
            next_ok, next_fail = self._pipeline(pipeline, last=position == len(links))
            if start is None:
                continue
            if operator == "&&":
                ok, fail = next_ok, merge(fail, next_fail, environment)
            else:
                ok, fail = merge(ok, next_ok, environment), next_fail
        return ok, fail

    def _pipeline(self, pipeline: Pipeline, *, last: bool) -> Outcome:
        commands = pipeline.commands
        condition = pipeline.negated or not last
        self.conditional += condition
        if len(commands) == 1:
            ok, fail = self.command(commands[0])
        else:
            feed = self.feed
            self.beside += 1
            for position, command in enumerate(commands):
                piped = self.piped if not position else True
                self.feed = self._printed(commands[:position]) if position else feed
                self.feeds = _reader(commands, position)
                self.in_subshell(partial(self.command, command), piped=piped)
            self.feed = feed
            self.beside -= 1
            ok = fail = self.environment.state
        self.conditional -= condition
        return (fail, ok) if pipeline.negated else (ok, fail)

    def _printed(self, commands: list[CommandNode]) -> Value | None:
        pipeline = outputs.plain_pipeline(commands)
        return None if pipeline is None else self.expander.printed(pipeline)

    def fed(self, redirects: list[Redirect]) -> Value | None:
        """What is known of each line on the standard input of a built-in that reads."""
        for redirect in redirects:
            if redirect.operator.startswith("<") or redirect.fd_name is not None:
                return self.process_output(redirect)
        return self.feed

    def process_output(self, redirect: Redirect) -> Value | None:
        """What `< <(…)` reads."""
        parts = redirect.target.parts
        if redirect.operator != "<" or redirect.fd not in (None, 0) or len(parts) != 1:
            return None
        part = parts[0]
        if not isinstance(part, Substitution) or part.kind != "<":
            return None
        pipeline = outputs.only_pipeline(part.body)
        return None if pipeline is None else self.expander.printed(pipeline)

    def simple(self, command: Simple) -> Outcome:
        """Expand a simple command, report it, and follow what it does to the shell."""
        words: list[Value] = []
        sources: list[str] = []
        feeds, self.feeds = self.feeds, ""
        for word in command.words:
            fields = (
                [self._argument(word)] if isinstance(word, Assign) else self.expander.fields(word)
            )
            words.extend(fields)
            sources.extend([word.source] * len(fields))
        redirections, found = self.redirections(command.redirections)
        assignments = [*found]
        call = ShellCall(self, command, words, assignments)
        permanent = not words or call.keeps_assignments
        before = self.environment.state.variables
        assignments.extend([self.assign(one, permanent=permanent) for one in command.assigns])
        here = self.environment.state
        outcome = builtins.run(call)
        if not permanent and command.assigns:
            outcome = self._without(command.assigns, before, here.variables, outcome)
        after, self.environment.state = self.environment.state, here
        expanded = tuple(value.word(src) for value, src in zip(words, sources, strict=True))
        self.emit(expanded, tuple(assignments), redirections, command.source, feeds=feeds)
        self.environment.state = after
        return outcome

    def _without(
        self, assigns: list[Assign], before: Variables, during: Variables, outcome: Outcome
    ) -> Outcome:
        """The states after a command, without the assignments that were its alone."""
        names = {assign.name for assign in assigns}

        def restored(state: State) -> State:
            variables = dict(state.variables)
            for name in names:
                if variables.get(name) is not during.get(name):
                    variables[name] = UNKNOWN
                elif name in before:
                    variables[name] = before[name]
                else:
                    variables.pop(name, None)
            return state.holding(variables)

        ok, fail = outcome
        self.environment.state = restored(self.environment.state)
        return None if ok is None else restored(ok), None if fail is None else restored(fail)

    def _argument(self, assign: Assign) -> Value:
        """An assignment-like argument of `declare`, `export`, `let`, …: not split, not globbed."""
        head = assign.source.partition("=")[0]
        _refuse_braces(assign)
        if assign.items is not None or assign.subscript is not None:
            return Value(prefix=assign.name)
        return concat([literal(head + "="), self.expander.single(assign.value)])

    def assign(self, assign: Assign, *, permanent: bool) -> ShellAssignment:
        """Evaluate one assignment and apply it."""
        value = self.value_of(assign)
        if permanent:
            value = self.environment.assign(assign.name, value, append=assign.append)
        else:
            self.environment.state = self.environment.state.holding(
                {**self.environment.state.variables, assign.name: value}
            )
        subscript = assign.subscript.source if assign.subscript is not None else None
        return ShellAssignment(assign.name, any_item(value).word(assign.source), subscript)

    def value_of(self, assign: Assign) -> Value:
        """The value an assignment gives the variable as a whole."""
        old = self.environment.lookup(assign.name)
        if assign.items is not None:
            return self._list(assign.items, old)
        value = self.expander.single(assign.value)
        if assign.subscript is None:
            return value
        return self.element_set(assign.subscript, old, value)

    def element_set(self, subscript: WordNode, old: Value, value: Value) -> Value:
        """The list after one of its elements got a value."""
        self.expander_subscript(subscript, old)
        rest = any_item(old) if old.many else EMPTY
        merged = list_of([rest, value], assoc=old.assoc)
        return Value(
            merged.choices,
            prefix=merged.prefix,
            numeric=merged.numeric,
            signed=merged.signed,
            safe=merged.safe,
            nospace=merged.nospace,
            many=True,
            assoc=old.assoc,
        )

    def _list(self, items: list[WordNode | Assign], old: Value) -> Value:
        values: list[Value] = []
        keyed = False
        for item in items:
            if isinstance(item, Assign):
                _refuse_braces(item)
                keyed = True
                if item.subscript is not None:
                    self.expander_subscript(item.subscript, old)
                values.append(self.expander.single(item.value))
            else:
                values.extend(self.expander.fields(item))
        listed = list_of(values, assoc=old.assoc)
        if keyed:
            listed.items = None
        return listed

    def redirections(
        self, redirects: list[Redirect]
    ) -> tuple[tuple[Redirection, ...], list[ShellAssignment]]:
        """Evaluate redirections; `{name}>` also assigns."""
        found: list[Redirection] = []
        assignments: list[ShellAssignment] = []
        for redirect in redirects:
            if redirect.operator in ("<<", "<<-", "<<<"):
                body = self.expander.body(redirect.target)
                if redirect.operator == "<<<":
                    body = concat([self.expander.single(redirect.target), literal("\n")])
                operator = redirect.operator.rstrip("-")
                found.append(Redirection(operator, body.word(redirect.target.source), redirect.fd))
                continue
            target = self.expander.target(redirect.target).word(redirect.target.source)
            found.append(Redirection(redirect.operator, target, redirect.fd))
            if redirect.fd_name is not None:
                value = self.environment.assign(redirect.fd_name, NUMBER)
                assignments.append(ShellAssignment(redirect.fd_name, value.word(redirect.fd_name)))
        return tuple(found), assignments

    def emit(
        self,
        words: tuple[facts.ShellWord, ...],
        assignments: tuple[ShellAssignment, ...],
        redirections: tuple[Redirection, ...],
        source: str,
        *,
        feeds: str = "",
    ) -> None:
        """Report one command in the current state."""
        state = self.environment.state
        cwds = state.cwds
        stdin, fed = _stdin(redirections)
        self.commands.append(
            SimpleCommand(
                words=words,
                assignments=assignments,
                redirections=redirections + self.around,
                cwd=cwds[0] if cwds is not None and len(cwds) == 1 else None,
                stdin=stdin,
                piped=self.piped and not fed,
                background=self.background,
                feeds=feeds,
                source=source,
                cwds=cwds,
                scope=state.variables,
            )
        )


def _succeeded(pipeline: Pipeline, state: State) -> State:
    """The state after assignments that worked: a `mktemp` in them did name a new file."""
    command = pipeline.commands[0]
    plain = len(pipeline.commands) == 1 and not pipeline.negated
    if not plain or not isinstance(command, Simple) or command.words:
        return state
    # What it ends with is the status of the last substitution.
    if len(command.assigns) != 1 or not _ONE_SUBSTITUTION.fullmatch(command.assigns[0].source):
        return state
    variables = dict(state.variables)
    for name in {assign.name for assign in command.assigns}:
        value = variables.get(name)
        texts = value.choices if value is not None and not value.many else None
        if texts and any(FRESH in text for text in texts):
            variables[name] = one_of([text.replace(FRESH, "XXXXXXXXXX") for text in texts])
    return state.holding(variables)


def _reader(commands: list[CommandNode], position: int) -> str:
    """The program that reads what a simple command in a pipeline prints."""
    here, *after = commands[position : position + 2]
    if not after or not isinstance(here, Simple) or not isinstance(after[0], Simple):
        return ""
    name = after[0].words[0] if after[0].words else None
    return (name.plain() or "") if isinstance(name, WordNode) else ""


def _stdin(redirections: tuple[Redirection, ...]) -> tuple[str | None, bool]:
    """The known text on standard input, and whether it is redirected at all."""
    text: str | None = None
    fed = False
    for redirection in redirections:
        if redirection.fd not in (None, 0) or not redirection.operator.startswith("<"):
            continue
        fed = True
        text = redirection.target.text if redirection.operator in ("<<", "<<<") else None
    return text, fed


__all__ = ["ShellParseError", "Walk"]


def _refuse_braces(assign: Assign) -> None:
    """Refuse `declare x={a,b}` and `x=([0]={a,b})`: bash makes several words of one."""
    if expand_braces(assign.value.parts) != [assign.value.parts]:
        raise ShellParseError(
            "Braces in a declaration make several values.",
            hint="Write the value out, or quote the braces if they are meant literally.",
        )
