"""Verification commands that obviously can't fail: they prove nothing, whatever an agent has built.

Decided on the parsed shell, so that a plan is refused at once. What is not known here may fail: all
commands are run before any work (`loop.baseline`), which shows the others.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from runner.shell_policy.shell.compound import parse
from runner.shell_policy.shell.limits import AnalysisBudget, ShellParseError
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
    Pipeline,
    Sequence,
    Simple,
    While,
)
from runner.shell_policy.vacuous_programs import (
    Harmless,
    ShellCommandForm,
    judge_program,
    only_looks,
    substitutions,
)

_MAX_DEPTH = 20
_DECIMAL = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_NOT_ZERO = re.compile(r"\s*0*[1-9]\d*\s*", re.ASCII)
_ADVICE = (
    "Use the command that fails when the deliverable is missing or wrong, such as its tests, and "
    "let its exit code be the last word."
)


def vacuous(command: str) -> str | None:
    """Return why a verification command can't fail, in sentences; None when it can.

    A text that is not understood is left to the policy, which refuses it.
    """
    try:
        found = _Walk().script(command)
    except (ShellParseError, RecursionError):
        return None
    if found.exits_badly or found.fails:
        return None
    why = found.why or "nothing in it can fail"
    return f"It can't fail, so it proves nothing: {why}. {_ADVICE}"


@dataclass(frozen=True, slots=True)
class _End:
    """How a piece of shell can end.

    Attributes:
        succeeds: it may end with 0.
        fails: it may end with something else.
        exits_badly: it may end the shell with something else than 0.
        why: why it can't fail.
    """

    succeeds: bool = True
    fails: bool = False
    exits_badly: bool = False
    why: str = ""

    @property
    def goes_on(self) -> bool:
        return self.succeeds or self.fails


_OPEN = _End(fails=True)


class _Walk:
    """Walks one script; options and functions hold from where they are set."""

    def __init__(self, depth: int = 0) -> None:
        self._depth = depth
        self._errexit = False
        self._pipefail = False
        self._functions: dict[str, CommandNode] = {}
        self._last = _End()
        self._exit_hides = False
        self._error_hides = False

    def script(self, text: str, options: str = "") -> _End:
        """Return how a whole script can end; leaving it early is its end."""
        if self._depth > _MAX_DEPTH:
            return _OPEN
        self._errexit = "e" in options
        self._pipefail = "p" in options
        end = self.sequence(parse(text, AnalysisBudget(), set()))
        if self._exit_hides:
            return _End(why="its `trap` on EXIT ends with 0, whatever came before")
        return end

    def sequence(self, sequence: Sequence) -> _End:
        end, exits_badly = _End(), False
        for chain in sequence.chains:
            end = self._chain(chain)
            if self._error_hides and end.fails and _raises_error(chain):
                why = "its `trap` on ERR ends with 0 when a command fails"
                end = _End(end.succeeds, exits_badly=end.exits_badly, why=why)
            exits_badly = exits_badly or end.exits_badly
            if self._errexit and end.fails and not chain.background:
                exits_badly = True
            self._last = end
            if not end.goes_on:
                break
        return replace(end, exits_badly=exits_badly)

    def _chain(self, chain: Chain) -> _End:
        operator, first = chain.links[0]
        end = self._pipeline(first)
        for operator, pipeline in chain.links[1:]:
            end = self._joined(end, operator, pipeline)
        if chain.background:
            why = "what runs in the background (`&`) has no exit code here"
            return _End(why=why)
        return end

    def _joined(self, end: _End, operator: str, pipeline: Pipeline) -> _End:
        follows = end.succeeds if operator == "&&" else end.fails
        if not follows:
            return end
        before = self._last
        self._last = end
        after = self._pipeline(pipeline)
        self._last = before
        exits_badly = end.exits_badly or after.exits_badly
        if operator == "&&":
            return _End(after.succeeds, end.fails or after.fails, exits_badly, after.why)
        why = f"what stands after `||` hides every failure before it ({after.why})"
        return _End(end.succeeds or after.succeeds, after.fails, exits_badly, why)

    def _pipeline(self, pipeline: Pipeline) -> _End:
        ends = [self._command(command) for command in pipeline.commands]
        end = ends[-1]
        if len(ends) > 1:
            fails = any(e.fails for e in ends) if self._pipefail else end.fails
            why = f"only the last command of a pipeline counts without `pipefail` ({end.why})"
            end = _End(end.succeeds, fails or (end.exits_badly), why=why)
        if pipeline.negated:
            why = "`!` turns a command that always fails into one that never does"
            end = _End(end.fails, end.succeeds, end.exits_badly, why)
        return end

    def _command(self, command: CommandNode) -> _End:
        match command:
            case Simple():
                return self._simple(command)
            case GroupNode():
                return self._group(command)
            case If():
                return self._if(command)
            case While():
                condition = self.sequence(command.condition)
                return self._body(command.body, condition.exits_badly)
            case For() | ForArithmetic():
                return self._body(command.body, exits_badly=False)
            case Case():
                ends = [self.sequence(body) for _, body, _ in command.clauses]
                return _any_of([*ends, _End()])
            case Condition():
                words = [word for _, found in command.tests for word in found]
                operators = [operator for operator, _ in command.tests]
                looks = only_looks(operators, words)
                return _End(why="`[[` only asks whether something is there") if looks else _OPEN
            case ArithmeticCommand():
                constant = _NOT_ZERO.fullmatch(command.expression.plain() or "")
                return _End(why="`((` only computes a constant") if constant else _OPEN
            case Function():
                self._functions[command.name] = command.body
                return _End(why="a function was only defined")
            case Coproc():
                return _End(why="a `coproc` has no exit code here")
        return _OPEN

    def _group(self, group: GroupNode) -> _End:
        if not group.subshell:
            return self.sequence(group.body)
        inner = _Walk(self._depth + 1)
        inner._errexit, inner._pipefail = self._errexit, self._pipefail
        inner._functions = dict(self._functions)
        end = inner.sequence(group.body)
        return _End(True, end.fails or end.exits_badly, why=end.why)

    def _if(self, command: If) -> _End:
        ends, exits_badly = [], False
        for condition, body in command.clauses:
            exits_badly = self.sequence(condition).exits_badly or exits_badly
            ends.append(self.sequence(body))
        ends.append(self.sequence(command.otherwise) if command.otherwise else _End())
        end = _any_of(ends)
        why = "no branch of the `if` can fail, and its condition decides only which one runs"
        return replace(end, exits_badly=exits_badly or end.exits_badly, why=why)

    def _body(self, body: Sequence, exits_badly: bool) -> _End:
        end = self.sequence(body)
        why = f"a loop ends with its last command ({end.why})"
        return _End(True, end.fails, exits_badly or end.exits_badly, why)

    def _simple(self, command: Simple) -> _End:
        inner = [_Walk(self._depth + 1).sequence(body) for body in substitutions(command)]
        if not command.words:
            fails = any(end.fails or end.exits_badly for end in inner)
            return _End(True, fails, why="an assignment does not fail")
        words = [getattr(word, "plain", lambda: None)() for word in command.words]
        found = judge_program(words, command)
        name = words[0]
        if name in self._functions and self._depth < _MAX_DEPTH:
            self._depth += 1
            end = self._command(self._functions[name])
            self._depth -= 1
            return end
        if isinstance(found, ShellCommandForm):
            return self._nested(found)
        match name:
            case "exit" | "return":
                return self._exit(words)
            case "false":
                return _End(succeeds=False, fails=True)
            case "set":
                self._set(words)
            case "trap":
                self._trap(words)
        return _End(why=found.why) if isinstance(found, Harmless) else _OPEN

    def _nested(self, shell: ShellCommandForm) -> _End:
        inner = _Walk(self._depth + 1)
        if shell.is_ours:  # `eval`: the text is part of this script
            inner._functions = self._functions
            options = ("e" if self._errexit else "") + ("p" if self._pipefail else "")
        else:
            options = shell.options
        try:
            end = inner.script(shell.text, options)
        except ShellParseError:
            return _OPEN
        if shell.is_ours:
            return end
        return _End(True, end.fails or end.exits_badly, why=end.why)

    def _exit(self, words: list[str | None]) -> _End:
        code = words[1] if len(words) > 1 else "0"
        implicit = len(words) == 1 or (code is None and len(words) == 2)
        if implicit:
            # `exit` alone and `exit $?` pass the last status on; another variable is not known.
            bad = True if len(words) > 1 else self._last.fails
        else:
            # The shell keeps eight bits of a number, and ends with 2 for what is none.
            bad = code is None or not _DECIMAL.fullmatch(code) or int(code) % 256 != 0
        return _End(False, False, bad, "" if bad else "it ends with `exit 0`")

    def _set(self, words: list[str | None]) -> None:
        texts = [word or "" for word in words[1:]]
        for number, text in enumerate(texts):
            on = text.startswith("-")
            if text[:1] not in ("-", "+") or text in ("-", "--"):
                continue
            if "e" in text[1:]:
                self._errexit = on
            named = texts[number + 1] if "o" in text[1:] and number + 1 < len(texts) else ""
            if named == "pipefail":
                self._pipefail = on
            if named == "errexit":
                self._errexit = on

    def _trap(self, words: list[str | None]) -> None:
        action, signals = (words[1] if len(words) > 1 else None), words[2:]
        if action is None:
            return
        end = _Walk(self._depth + 1).script(action) if action != "-" else _End()
        hides = not end.goes_on and not end.exits_badly
        if {"EXIT", "SIGEXIT", "0"} & set(signals):
            self._exit_hides = hides
        if "ERR" in signals:
            self._error_hides = hides


def _raises_error(chain: Chain) -> bool:
    """Whether the shell runs the trap on ERR when a chain fails; it does not for each part of one."""
    return (
        not chain.background
        and not chain.links[-1][1].negated
        and all(operator != "&&" for operator, _ in chain.links)
    )


def _any_of(ends: list[_End]) -> _End:
    why = next((end.why for end in ends if end.why), "")
    return _End(
        any(end.succeeds for end in ends),
        any(end.fails for end in ends),
        any(end.exits_badly for end in ends),
        why,
    )
