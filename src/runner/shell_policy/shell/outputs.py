"""Which command substitutions print nothing but integers, or a text of known shape."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.shell_policy.shell.nodes import (
    CommandNode,
    Literal,
    Redirect,
    Sequence,
    Simple,
    WordNode,
)
from runner.shell_policy.shell.shapes import PLACE
from runner.shell_policy.shell.values import FRESH

if TYPE_CHECKING:
    from runner.shell_policy.shell.shapes import Shapes


PROGRAMS = frozenset(["which", "command", "type", "npm", "pnpm", "yarn", "python", "python3", "bundle", "gem", "rustc", "brew"])  # fmt: skip
"""Programs whose output is relied on here: no function may take their name."""

_WORDS = r"[A-Za-z0-9@][\w./@+-]*"
_PRINTS_PLACE = re.compile(
    rf"""(?: which \0 {_WORDS} | command \0 -v \0 {_WORDS} | type \0 -[pP] \0 {_WORDS}
    | git \0 rev-parse \0 (?:--show-toplevel|--show-cdup)
    | p?npm \0 (?:root|prefix) (?:\0 (?:-g|--global))? | yarn \0 global \0 dir
    | go \0 env \0 [A-Z]+ | go \0 list \0 -m \0 -f \0 \{{\{{\.Dir\}}\}} \0 {_WORDS}
    | bundle \0 (?:show|info \0 --path) \0 {_WORDS} | gem \0 which \0 {_WORDS}
    | rustc \0 --print \0 sysroot | brew \0 --prefix (?:\0 {_WORDS})?
    | python3? \0 -c \0 import[ ](?P<module>[A-Za-z_]\w*(?:\.\w+)*)\s*;\s*print\((?P=module)\.__file__\) )""",
    re.VERBOSE,
)


def places(texts: list[str | None]) -> Shapes:
    """What these words print when they ask a tool where something is; None for all else."""
    known = [text for text in texts if text is not None]
    asks = len(known) == len(texts) and _PRINTS_PLACE.fullmatch("\0".join(known)) is not None
    return (PLACE,) if asks else None


_WC = re.compile(r"-[lcwmL]|--(?:lines|bytes|words|chars)")
_DATE = re.compile(r"\+(?:%[-_0]?[sHMSdmYjNuwyIkle])+")
_GREP = re.compile(r"-[ivEFwxPsqao]*c[ivEFwxPsao]*")
_GREP_OPTION = re.compile(r"-[ivEFwxPsa]+")
_JQ_LENGTH = re.compile(r"(?:.*\|)?\s*length\s*", re.DOTALL)
_PRINTF = re.compile(r"(?:%0?[0-9]*d|\\n)+")
_TEMPLATE = re.compile(r"/tmp/[A-Za-z0-9_][\w.-]*?X{3,}", re.ASCII)  # noqa: S108
_STDERR = 2
_GREP_NUMBERS = re.compile(r"-[ivEFwxPsaonhm]+[0-9]*")
_AWK_LINES = re.compile(
    r"\s*(?:/[^/]*/|END|NR ?== ?[0-9]+)?\s*\{\s*print F?NR\s*(?:;\s*exit\s*)?;?\s*\}"
)
_SED_LINES = re.compile(r"/[^/\\]*/=")
_BEFORE_COLON: tuple[list[str | None], ...] = (["cut", "-d:", "-f1"], ["cut", "-d", ":", "-f1"], ["cut", "-d", ":", "-f", "1"], ["cut", "-f1", "-d:"], ["cut", "-f1", "-d", ":"], ["cut", "-f", "1", "-d", ":"], ["awk", "-F:", "{print $1}"], ["awk", "-F", ":", "{print $1}"], ["sed", "s/:.*//"])  # fmt: skip
_COLUMNS = (*_BEFORE_COLON, ["awk", "{print $1}"], ["cut", "-f1"], ["cut", "-d ", "-f1"], ["cut", "-d", " ", "-f1"], ["cut", "-f1", "-d "])  # fmt: skip
_NUMBER_LINES = re.compile(r"-[0-9]+|-n[0-9]+")

MODELLED = frozenset(["wc", "date", "grep", "egrep", "fgrep", "jq", "nproc", "id", "stat", "git", "pgrep", "lsof", "jobs", "printf", "cat", "pwd", "tr", "xargs", "head", "tail", "sort", "uniq", "mktemp", "basename", "dirname", "ls", "find", "rg", "awk", "sed", "cut", "du", "getconf", "sysctl", "seq", "go"]) | PROGRAMS  # fmt: skip
"""Programs whose output is relied on: no function may take their name."""


def numeric(body: Sequence) -> bool:
    """Whether all that the list prints is integers and white space."""
    if len(body.chains) != 1 or body.chains[0].background:
        return False
    # What follows `||` matters only when it prints: `|| true` and `|| echo 0` are everyday.
    first, *rest = body.chains[0].links
    return _numeric(first[1].commands) and all(
        operator == "||" and (_fallback(link.commands) or _numeric(link.commands))
        for operator, link in rest
    )


def _numeric(pipeline: list[CommandNode]) -> bool:
    column = ""
    for position in range(len(pipeline) - 1, -1, -1):
        found = _plain_words(pipeline[position])
        if found is None:
            return False
        words, texts = found
        if position and not column and texts in _COLUMNS:
            column = "line" if texts in _BEFORE_COLON else "first"
        elif not (position and _passes_on(texts)):
            return _counts(texts, words) if not column else _prints_column(column, texts, words)
    return False


def _plain_words(command: CommandNode) -> tuple[list[WordNode], list[str | None]] | None:
    if not isinstance(command, Simple) or command.assigns or not _quiet(command):
        return None
    words = [word for word in command.words if isinstance(word, WordNode)]
    if len(words) != len(command.words) or not words:
        return None
    return words, [word.plain() for word in words]


def _prints_column(column: str, texts: list[str | None], words: list[WordNode]) -> bool:
    """`grep -n … | cut -d: -f1`, `wc -l FILE | awk '{print $1}'`, `du -sk X | cut -f1`."""
    name, *rest = texts
    if column == "line":
        return name in ("grep", "egrep", "fgrep") and _grep_numbers(rest, words[1:])
    flags = [text for text in rest if text is not None and text.startswith("-")]
    if name == "du":
        return all(re.fullmatch(r"-[skmbac]+", flag) for flag in flags)
    return name == "wc" and bool(flags) and all(map(_WC.fullmatch, flags))


def alternatives(body: Sequence) -> list[list[Simple]]:
    """The plain pipelines that `a || b` tries in turn; none when it is anything else."""
    if len(body.chains) != 1 or body.chains[0].background:
        return []
    first, *rest = body.chains[0].links
    others = [(op, link.commands) for op, link in rest if not _fallback(link.commands)]
    found = [plain_pipeline(commands) for commands in (first[1].commands, *(c for _, c in others))]
    if any(op != "||" for op, _ in rest) or None in found:
        return []
    return [pipeline for pipeline in found if pipeline is not None]


def only_pipeline(body: Sequence) -> list[Simple] | None:
    """The commands of a list that is one plain pipeline, `|| true` left aside."""
    pipeline = _only_pipeline(body)
    return pipeline if pipeline is None else plain_pipeline(pipeline)


def plain_pipeline(pipeline: list[CommandNode]) -> list[Simple] | None:
    """These commands, when they are simple and print into nothing but the pipe."""
    found = [command for command in pipeline if isinstance(command, Simple)]
    plain = len(found) == len(pipeline) and all(
        c.words and not c.assigns and _quiet(c) for c in found
    )
    return found if plain else None


def _only_pipeline(body: Sequence) -> list[CommandNode] | None:
    if len(body.chains) != 1 or body.chains[0].background:
        return None
    first, *rest = body.chains[0].links
    if any(operator != "||" or not _fallback(link.commands) for operator, link in rest):
        return None
    return first[1].commands


def _fallback(commands: list[CommandNode]) -> bool:
    """`|| true`, `|| echo 0`: what prints nothing or a number."""
    if len(commands) != 1 or not isinstance(commands[0], Simple):
        return False
    words = [w.plain() if isinstance(w, WordNode) else None for w in commands[0].words]
    if words in (["true"], [":"]):
        return True
    return len(words) == 2 and words[0] == "echo" and bool(re.fullmatch(r"[0-9]+", words[1] or ""))


def _quiet(command: Simple) -> bool:
    """Whether its redirections bring nothing else into its output."""
    for redirect in command.redirections:
        to_null = redirect.target.plain() == "/dev/null"
        reads = redirect.operator in ("<", "<<", "<<-", "<<<")
        if not reads and not (to_null and redirect.operator in (">", ">>", "&>")):
            return False
    return True


def _passes_on(texts: list[str | None]) -> bool:
    name, *rest = texts
    if name == "tr":
        return rest in (["-d", " "], ["-d", "[:space:]"], ["-d", "\\n"], ["-d", " \\n"])
    if name in ("head", "tail"):
        return all(text and _NUMBER_LINES.fullmatch(text) for text in rest)
    return name in ("xargs", "sort", "uniq", "cat") and rest in ([], ["-n"], ["-u"])


def _counts(texts: list[str | None], words: list[WordNode]) -> bool:
    name, *rest = texts
    known = [text for text in rest if text is not None]
    if name == "wc":
        return bool(rest) and len(known) == len(rest) and all(map(_WC.fullmatch, known))
    if name == "date":
        return (
            len(known) == len(rest)
            and len([t for t in known if t != "-u"]) == 1
            and bool(_DATE.fullmatch(known[-1]))
        )
    if name in ("grep", "egrep", "fgrep"):
        return _grep_counts(rest, words[1:])
    if name == "jq":
        filters = [text for text in known if not text.startswith("-")]
        return (
            bool(filters)
            and _JQ_LENGTH.fullmatch(filters[0]) is not None
            and not any(text.startswith("--") for text in known)
        )
    return _small(str(name), rest, known)


def _small(name: str, rest: list[str | None], known: list[str]) -> bool:
    if name == "nproc":
        return all(text == "--all" for text in rest)
    if name == "seq":
        numbers = [text for text in known if text != "-w"]
        return all(re.fullmatch(r"-?[0-9]+", text) for text in numbers) and len(known) == len(rest)
    if name in ("getconf", "sysctl"):
        return rest in (["_NPROCESSORS_ONLN"], ["-n", "hw.ncpu"], ["-n", "hw.logicalcpu"])
    if name == "awk":
        return len(known) == len(rest) and bool(rest) and bool(_AWK_LINES.fullmatch(known[0]))
    if name == "sed":
        return known[:1] == ["-n"] and bool(_SED_LINES.fullmatch("".join(known[1:2])))
    if name == "jobs":
        return rest == ["-p"]
    if name == "id":
        return known in (["-u"], ["-g"]) and len(rest) == 1
    if name == "git":
        return known[:2] == ["rev-list", "--count"]
    if name == "stat":
        return len(known) >= 2 and known[0] in ("-c", "-f") and known[1] in ("%s", "%Y", "%m", "%z")
    if name == "lsof":
        return bool(known) and all(re.fullmatch(r"-ti?(?::[0-9]+)?|:[0-9]+|-i", t) for t in known)
    if name == "pgrep":
        return all(text in ("-f", "-x", "-n", "-o", "-c") or text[:1] != "-" for text in known)
    return (
        name == "printf"
        and bool(known)
        and rest[0] == known[0]
        and bool(_PRINTF.fullmatch(known[0]))
    )


def _grep_counts(rest: list[str | None], words: list[WordNode]) -> bool:
    operands: list[WordNode] = []
    counts = False
    for text, word in zip(rest, words, strict=True):
        if text is not None and text.startswith("-"):
            if not (_GREP.fullmatch(text) or _GREP_OPTION.fullmatch(text)):
                return False
            counts = counts or _GREP.fullmatch(text) is not None
        else:
            operands.append(word)
    return counts and 1 <= len(operands) <= 2 and all(map(_one_word, operands))


def _grep_numbers(rest: list[str | None], words: list[WordNode]) -> bool:
    """`grep -n PATTERN FILE`, whose lines begin with a number and a colon."""
    operands: list[WordNode] = []
    numbers = False
    for text, word in zip(rest, words, strict=True):
        if text is None or not text.startswith("-"):
            operands.append(word)
        elif not _GREP_NUMBERS.fullmatch(text):
            return False
        else:
            numbers = numbers or "n" in text
    few = 1 <= len(operands) <= 2 and all(map(_one_word, operands))
    # A binary file is named in what grep says about it.
    file = operands[1].plain() if few and len(operands) == 2 else "-"
    return numbers and few and (file is None or re.fullmatch(r"[\w./@+-]*", file) is not None)


def _one_word(word: WordNode) -> bool:
    for part in word.parts:
        if isinstance(part, Literal):
            if not part.quoted and any(char in part.text for char in "*?[{~"):
                return False
        elif not part.quoted:
            return False
    return True


def here_document(body: Sequence) -> Redirect | None:
    """The here-document of a bare `cat <<EOF`, whose body is all that is printed."""
    pipeline = _only_pipeline(body)
    if pipeline is None or len(pipeline) != 1 or len(body.chains[0].links) != 1:
        return None
    command = pipeline[0]
    if not isinstance(command, Simple) or command.assigns or len(command.redirections) != 1:
        return None
    name = command.words[0] if len(command.words) == 1 else None
    redirect = command.redirections[0]
    if not isinstance(name, WordNode) or name.plain() != "cat" or redirect.fd is not None:
        return None
    return redirect if redirect.operator in ("<<", "<<-") and not redirect.fd_name else None


def is_pwd(body: Sequence) -> bool:
    pipeline = _only_pipeline(body)
    if pipeline is None or len(pipeline) != 1 or len(body.chains[0].links) != 1:
        return False
    command = pipeline[0]
    return (
        isinstance(command, Simple)
        and not command.assigns
        and not command.redirections
        and [w.plain() for w in command.words if isinstance(w, WordNode)] == ["pwd"]
    )


def temporary(body: Sequence) -> str | None:
    """The path that a plain `mktemp` or `mktemp -d` prints: a new file or folder in /tmp."""
    pipeline = _only_pipeline(body)
    if pipeline is None or len(pipeline) != 1 or len(body.chains[0].links) != 1:
        return None
    command = pipeline[0]
    if not isinstance(command, Simple) or command.assigns or not _quiet(command):
        return None
    if any(redirect.fd != _STDERR for redirect in command.redirections):
        return None
    texts = [w.plain() if isinstance(w, WordNode) else None for w in command.words]
    if texts[:1] != ["mktemp"]:
        return None
    rest = texts[2:] if texts[1:2] == ["-d"] else texts[1:]
    if not rest:
        return f"/tmp/tmp.{FRESH}"  # noqa: S108
    template = rest[0]
    if len(rest) > 1 or template is None or not _TEMPLATE.fullmatch(template):
        return None
    return template.rstrip("X") + FRESH
