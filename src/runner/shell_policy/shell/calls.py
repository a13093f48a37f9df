"""When functions are defined and called: is a call certainly one of the function?

`(rm() { :; }); rm x` and `if false; then rm() { :; }; fi; rm x` run the program, not the function.
"""

from __future__ import annotations

from runner.shell_policy.shell.limits import ShellParseError


class CallOrder:
    """Keeps the order of definitions and calls of one walk."""

    def __init__(self) -> None:
        self.clock = 0
        self.defined: dict[str, int] = {}
        self.called: dict[str, int] = {}
        self.called_inside: set[str] = set()
        self.first: int | None = None
        self.nested: dict[str, set[str]] = {}
        self.beside: set[tuple[str, str]] = set()

    def define(self, name: str) -> None:
        """An unconditional definition in the script's own shell."""
        self.clock += 1
        self.defined.setdefault(name, self.clock)

    def call(self, name: str, *, inside: bool) -> None:
        """A call; `inside` the body of a function, which runs at some later call."""
        if inside:
            self.called_inside.add(name)
            return
        self.may_run_bodies()
        self.called.setdefault(name, self.clock)

    def may_run_bodies(self) -> None:
        """From here on the body of any function may run."""
        self.clock += 1
        if self.first is None:
            self.first = self.clock

    def nest(self, caller: str, callee: str, *, beside: bool) -> None:
        """A call in a function's body; `beside` other commands, in a pipe or the background."""
        self.nested.setdefault(caller, set()).add(callee)
        if beside:
            self.beside.add((caller, callee))

    def refuse_storm(self) -> None:
        """Refuse a function that starts itself beside itself: its processes double without end."""
        for caller, callee in self.beside:
            if caller in self._reached(callee):
                raise ShellParseError(
                    f"The function {caller} starts itself in a pipe or in the background.",
                    hint="Call it in sequence, or use a loop.",
                )

    def _reached(self, name: str) -> set[str]:
        found: set[str] = set()
        todo = [name]
        while todo:
            one = todo.pop()
            if one not in found:
                found.add(one)
                todo.extend(self.nested.get(one, ()))
        return found

    def certain(self) -> frozenset[str]:
        """The functions that are certainly defined at each of their calls."""
        return frozenset(name for name, time in self.defined.items() if self._in_time(name, time))

    def _in_time(self, name: str, time: int) -> bool:
        if self.called.get(name, time) < time:
            return False
        return name not in self.called_inside or self.first is None or self.first > time
