"""What the shell analysis finds and the policy judges: commands, words, redirections.

The parser produces these; the policy consumes them; neither knows the other.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ShellWord:
    """One word of a command after expansion, as far as it is known without running it.

    Attributes:
        choices: every value it can have when these are few and known (one for a literal);
            None when it can't be known.
        prefix: what it certainly begins with, also when `choices` is None.
        numeric: an unknown value that can only be a decimal integer (or, when a command that
            should have printed one failed, empty; or several of them with white space between).
        glob: it is subject to pathname expansion: besides the literal `choices` text it may
            become any number of existing paths that match.
        splits: an unquoted unknown value: it may become any number of words, or none.
        source: the text as written, for messages.
        signed: with `numeric`: it may be negative, so it may look like an option.
        shapes: without `choices`: texts with holes (`shapes`), one of which it fits. When it
            `splits`, each of the words it becomes fits one of them.

    A word that `splits` has an empty prefix, and when it has `choices` each of the words it
    becomes is one of them. The text of a process substitution begins with `/dev/fd/`.
    """

    choices: tuple[str, ...] | None
    prefix: str = ""
    numeric: bool = False
    glob: bool = False
    splits: bool = False
    source: str = ""
    signed: bool = False
    shapes: tuple[str, ...] = ()

    @classmethod
    def literal(cls, text: str) -> "ShellWord":
        return cls(choices=(text,), prefix=text, source=text)

    @property
    def text(self) -> str | None:
        """The one value it certainly has, or None. A glob has none."""
        if self.choices is not None and len(self.choices) == 1 and not self.glob:
            return self.choices[0]
        return None


@dataclass(frozen=True, slots=True)
class ShellAssignment:
    """`NAME=value` before a command, alone, or by a built-in (`export`, `declare`, `env`)."""

    name: str
    value: ShellWord
    subscript: str | None = None


@dataclass(frozen=True, slots=True)
class Redirection:
    """One redirection.

    Attributes:
        operator: `<`, `>`, `>>`, `>|`, `<>`, `&>`, `&>>`, `>&`, `<&`, `<<`, `<<<`.
        fd: file descriptor number as written, None for the operator's default.
        target: file name or descriptor; for a here-document or here-string its body.
    """

    operator: str
    target: ShellWord
    fd: int | None = None


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """One command that bash would run.

    Attributes:
        words: name and arguments after expansion; empty for bare assignments/redirections.
        assignments: those that apply to this command (or to the shell when words is empty).
        redirections: its own and those of every compound command around it.
        cwd: the working directory it runs in as far as known: "." is the start directory;
            None when it can't be known.
        stdin: the literal text it reads when that is known (here-document, here-string),
            else None. `piped` tells whether it comes out of a pipe.
        piped: whether its standard input is a pipe.
        background: started with `&`.
        feeds: the plain name of the program that reads what it prints through a pipe; empty when
            it prints elsewhere, or into something that is no simple command.
        source: the text as written, for messages.
        cwds: every working directory it may run in when these are few and known; `cwd` is set
            when there is one. After `cd x; …` it is both, since `cd` may have failed.
        scope: what is known of the variables there, for `analyse(…, scope=…)` on a text that
            this command makes a shell run; means nothing else.
    """

    words: tuple[ShellWord, ...]
    assignments: tuple[ShellAssignment, ...] = ()
    redirections: tuple[Redirection, ...] = ()
    cwd: str | None = "."
    stdin: str | None = None
    piped: bool = False
    background: bool = False
    feeds: str = ""
    source: str = ""
    cwds: tuple[str, ...] | None = (".",)
    scope: Mapping[str, object] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class ShellScript:
    """Every command in a script, in any place from which bash could run it.

    Attributes:
        commands: all simple commands, nested ones included, in the order in which bash expands
            them. With literal arguments the code of `eval` and `trap` is among them.
        functions: functions that are certainly defined wherever they are called by their plain
            name; such a call runs no external command, and the body's commands are in
            `commands`. (`command f` still runs a program.)
        compared: the words of `case`, `[[ … ]]` and arithmetic, whose values a script can find
            out without printing them.
    """

    commands: tuple[SimpleCommand, ...]
    functions: frozenset[str] = field(default_factory=frozenset)
    compared: tuple[ShellWord, ...] = ()
