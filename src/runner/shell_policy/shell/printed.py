"""What everyday pipelines print: names of files, commits, or parts of a path that is known."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.shell_policy.shell import shapes
from runner.shell_policy.shell.commits import commits, log_lines
from runner.shell_policy.shell.outputs import places
from runner.shell_policy.shell.shapes import COMMIT, LISTED, NAME
from runner.shell_policy.shell.values import Value, shaped

if TYPE_CHECKING:
    from collections.abc import Callable

Shapes = shapes.Shapes

PROGRAMS = frozenset(["basename", "dirname", "ls", "find", "rg", "awk", "sed", "cut", "printf"])
"""Programs whose output is relied on here: no function may take their name."""

_LINES = re.compile(r"-[0-9]+|-n[0-9]+")
_FILTER = re.compile(r"-[vEFiwxP]+")
_DATE_PART = re.compile(r"%-?[YmdHMSsjNuyI]")
_DATE_PLAIN = re.compile(f"{shapes.DIGITS}[\\w.:{shapes.DIGITS}-]*")
_ENDING = re.compile(r"\\\.(?:(\w+)|\(([\w|]+)\))\$")
_FIRST_FIELD = (["awk", "{print $1}"], ["cut", "-d ", "-f1"], ["cut", "-d", " ", "-f1"], ["cut", "-d", " ", "-f", "1"], ["cut", "-f1", "-d", " "], ["cut", "-f1", "-d "])  # fmt: skip
_SECOND_FIELD = (["awk", "{print $2}"], ["awk", "{print $NF}"], ["cut", "-c4-"], ["cut", "-c", "4-"], ["sed", "s/^...//"])  # fmt: skip
_IMPORT_PATHS = re.compile(
    r"(?:\{\{(?:if|with|else|end)\b[^{}\"`]*\}\})*\{\{ ?\.ImportPath ?\}\}(?:\{\{end\}\})*"
)
_RELATIVE = re.compile(r"(?![-/~!:])(?!.*\.\.)[^\s\\]+")
_TEMPORARY = re.compile(r"/tmp/(?!.*\.\.)[\w.*?-]*[\w*?-]")  # noqa: S108
_GIT_LISTS = frozenset(["-m", "-o", "-c", "-d", "-z", "-om", "-mo", "-co", "--modified", "--others", "--cached", "--deleted", "--exclude-standard", "--", "--full-name"])  # fmt: skip
_GIT_DIFFS = frozenset(["--name-only", "--cached", "--staged", "-z", "--no-renames", "--relative", "-r", "--root", "--no-commit-id", "--"])  # fmt: skip
_FIND_FLAGS = frozenset(["-type", "-name", "-iname", "-path", "-not", "!", "-o", "-prune", "-print", "-print0", "-maxdepth", "-mindepth", "-size", "-newer", "-mtime", "-mmin", "-empty", "(", ")", "-and", "-a", "-or", "-executable", "-wholename", "-ipath", "-regex", "-regextype"])  # fmt: skip
_LISTS_MATCHES = re.compile(r"-[rRinEFwPIHs]*l[rRinEFwPIZ0]*")
_GREP_FLAGS = re.compile(r"-[rRinEFwPIsl]+|--(?:include|exclude|exclude-dir)=.*|--files-with-matches|--name-only|--|-e")  # fmt: skip


def printed(commands: list[list[Value]]) -> Value | None:
    """What the last command of a pipeline prints: each line fits the value's shapes.

    Args:
        commands: the words of each command, already expanded.
    """
    if not commands:  # a pipeline of a keyword alone, such as `time`
        return None
    first, *rest = [[_text(word) for word in command] for command in commands]
    if not first:
        return None
    if first[:1] in (["basename"], ["dirname"]) and not rest:
        return _path_part(first, commands[0])
    if first[:1] == ["date"]:
        return None if rest else _date(first[1:])
    if _columns(first):
        while rest and _selects(rest[0]):
            rest.pop(0)
        if not rest:
            return None
        forms = _column(first, rest.pop(0))
    else:
        forms = places(first) or commits(first) or _listing(first)
    for texts in rest:
        forms = None if forms is None else _passed(texts, forms)
    return None if forms is None else shaped(forms)


def _text(word: Value) -> str | None:
    if word.choices is None and shapes.only(word.shapes or (), COMMIT):
        # As good as any commit where it begins with one.
        return "HEAD" if all(text.startswith(COMMIT) for text in word.shapes or ()) else None
    if word.choices is None or len(word.choices) != 1 or word.splits:
        return None
    return word.choices[0]


def _path_part(texts: list[str | None], words: list[Value]) -> Value | None:
    """`basename PATH [SUFFIX]` or `dirname PATH`; when it fails it prints nothing."""
    if len(words) == 4 and texts[0] == "basename" and texts[1] == "-s" and not words[3].splits:
        words, texts = [words[0], words[3], words[2]], [texts[0], texts[3], texts[2]]
    if len(words) not in (2, 3) or words[1].many or words[1].glob:
        return None
    whole = words[1].forms()
    if whole is None:
        return None
    if texts[0] == "dirname":
        found = shapes.first_part(whole) if len(words) == 2 and not words[1].splits else None
    elif len(words) == 3:
        found = _without_suffix(words[1], texts[2], whole)
    else:
        found = shapes.last_part(whole)
        if words[1].splits and found is not None:
            found = _cut(found)
    return None if found is None else shaped((*found, ""))


def _without_suffix(path: Value, suffix: str | None, whole: tuple[str, ...]) -> Shapes:
    """`basename PATH SUFFIX`; of two words instead of the path it says that they are too many."""
    names = shapes.last_part(whole)
    if not suffix or names is None:
        return None
    found = shapes.edited("%", suffix, names)
    if found is None or not path.splits or shapes.all_visible(path.shapes):
        return found
    # Without the path the suffix stands in its place.
    alone = shapes.last_part((suffix,))
    return None if alone is None else (*found, *alone)


def _cut(names: tuple[str, ...]) -> Shapes:
    """Names of which a blank may have made two words: the second is taken from the first's end."""
    if any(text.startswith(".") for text in names):
        return None
    return tuple(text[0] if shapes.HOLE.match(text) else text[0] + NAME for text in names)


def _date(rest: list[str | None]) -> Value | None:
    """`date +%Y-%m-%d`: numbers with plain characters between them."""
    texts = [text for text in rest if text != "-u"]
    if len(texts) != 1 or texts[0] is None or not texts[0].startswith("+"):
        return None
    text = texts[0][1:].replace("%F", "%Y-%m-%d").replace("%T", "%H:%M:%S").replace("%R", "%H:%M")
    shape = _DATE_PART.sub(shapes.DIGITS, text)
    return shaped((shape, "")) if _DATE_PLAIN.fullmatch(shape) else None


def _columns(first: list[str | None]) -> bool:
    """Whether this prints lines of which one column is a commit or a path."""
    if first[:2] == ["git", "log"]:
        return "--oneline" in first
    return first[:2] == ["git", "status"]


def _column(first: list[str | None], texts: list[str | None]) -> Shapes:
    """What is left of the lines of `git log --oneline` or `git status --short`."""
    if first[1] == "log":
        return (COMMIT,) if texts in _FIRST_FIELD and log_lines(first) else None
    short = all(text in ("--porcelain", "-s", "--short", "-uno") for text in first[2:])
    return (LISTED,) if texts in _SECOND_FIELD and short and first[2:] else None


def _selects(texts: list[str | None]) -> bool:
    return _passed(texts, (COMMIT,)) is not None and texts[0] != "tr"


def _passed(texts: list[str | None], forms: tuple[str, ...]) -> Shapes:
    """What a further command of the pipeline makes of the lines."""
    name, *rest = texts
    if name in ("head", "tail"):
        lines = [text for text in rest if text != "-n" and not (text or "").isdecimal()]
        return forms if all(text and _LINES.fullmatch(text) for text in lines) else None
    if name in ("sort", "uniq"):
        flags = all(text and re.fullmatch(r"-[urVnzf]+", text) for text in rest)
        return forms if flags else None
    if name in ("grep", "egrep"):
        return _filtered(rest, forms)
    return forms if texts in (["tr", "\\n", " "], ["cat"], ["xargs"]) else None


def _filtered(rest: list[str | None], forms: tuple[str, ...]) -> Shapes:
    """`grep PATTERN`: the same lines, fewer; a plain ending is kept in mind."""
    patterns = [text for text in rest if text is not None and not _FILTER.fullmatch(text)]
    if len(patterns) != 1 or None in rest or patterns[0].startswith("-"):
        return None
    match = _ENDING.fullmatch(patterns[0])
    if match is None or forms != (LISTED,) or any("v" in (t or "") for t in rest[:-1]):
        return forms
    return tuple(f"{LISTED}.{ending}" for ending in (match[1] or match[2]).split("|") if ending)


def _listing(texts: list[str | None]) -> Shapes:
    """Relative paths that a listing command prints, one a line."""
    judge = _LISTING_COMMANDS.get(texts[0] or "") if texts else None
    return None if judge is None else judge(texts[1:])


def _git_lists(rest: list[str | None]) -> Shapes:
    name, *args = rest or [None]
    if name == "ls-files":
        return _pathspecs(args, _GIT_LISTS)
    if name in ("diff", "show", "diff-tree") and "--name-only" in args:
        if name == "show" and not {"--format=", "--pretty="} & set(args):
            return None
        flags = {
            t for t in args if t and re.fullmatch(r"--diff-filter=\w+|--(?:format|pretty)=", t)
        }
        if "--" in args:
            split = args.index("--")
            known = _only_flags(args[:split], _GIT_DIFFS | flags)
            return _pathspecs(args[split:], _GIT_DIFFS) if known else None
        return (LISTED,) if _only_flags(args, _GIT_DIFFS | flags) else None
    if name == "grep" and any(t and _is_listing_flag(t) for t in args):
        split = args.index("--") if "--" in args else len(args)
        return _pathspecs(args[split:], _GIT_LISTS) if _grep_flags(args[:split]) else None
    return None


def _is_listing_flag(text: str) -> bool:
    return bool(_LISTS_MATCHES.fullmatch(text)) or text in ("--files-with-matches", "--name-only")


def _grep_flags(args: list[str | None]) -> bool:
    return all(
        t is not None and (t[:1] != "-" or _GREP_FLAGS.fullmatch(t) or _is_listing_flag(t))
        for t in args
    )


def _only_flags(args: list[str | None], flags: frozenset[str] | set[str]) -> bool:
    """Whether all options are known; what is no certain text may be a commit at most."""
    return all(text is not None and (text in flags or text[:1] != "-") for text in args)


def _pathspecs(args: list[str | None], flags: frozenset[str]) -> Shapes:
    """The shapes of what git lists for these path specifications."""
    if not _only_flags(args, flags):
        return None
    specs = [text for text in args if text and text not in flags]
    if not specs or len(specs) > 4:
        return (LISTED,)
    return tuple(form for spec in specs for form in _pathspec(spec))


def _pathspec(spec: str) -> tuple[str, ...]:
    if not _RELATIVE.fullmatch(spec):
        return (LISTED,)
    if not re.search(r"[*?\[]", spec):
        return (spec, spec.rstrip("/") + "/" + LISTED)
    folder = re.split(r"[*?\[]", spec)[0].rpartition("/")
    tail = re.split(r"[*?\]]", spec)[-1]
    return (folder[0] + folder[1] + LISTED + (tail if tail[:1] == "." else ""),)


def _find(rest: list[str | None]) -> Shapes:
    starts: list[str] = []
    while rest and rest[0] is not None and not rest[0].startswith(("-", "(", "!")):
        starts.append(rest[0])
        rest = rest[1:]
    folders = rest[-4:-1] == ["-exec", "dirname", "{}"]
    rest = rest[:-4] if folders else rest
    if not all(text is not None and (text[:1] != "-" or text in _FIND_FLAGS) for text in rest):
        return None
    found = _below(starts or ["."], [""] if folders else _found_tails(rest))
    return (*found, *starts, ".") if folders and found else found


def _found_tails(rest: list[str | None]) -> list[str]:
    """How all names end that `-name '*.x' [-o -name '*.y']` finds."""
    names = {rest[i + 1] for i, text in enumerate(rest[:-1]) if text == "-name"}
    tails = {name[1:] for name in names if name and re.fullmatch(r"\*[\w-]*\.[\w.-]+", name)}
    either = [i for i, text in enumerate(rest) if text in ("-o", "-or")]
    joined = all(rest[i - 2 : i - 1] == rest[i + 1 : i + 2] == ["-name"] for i in either)
    # What is excluded by a path may be (`-not -path './x/*'`); what is excluded by name may not.
    excluded = [i for i, text in enumerate(rest) if text in ("-not", "!")]
    plain = all(rest[i + 1 : i + 2] in (["-path"], ["-wholename"]) for i in excluded)
    certain = joined and plain and "-prune" not in rest and len(tails) == len(names)
    return sorted(tails) if certain and tails else [""]


def _below(folders: list[str], tails: list[str]) -> Shapes:
    if not all(_RELATIVE.fullmatch(folder) for folder in folders) or len(folders) > 4:
        return None
    return tuple(f"{f.rstrip('/')}/{LISTED}{tail}" for f in folders for tail in tails)[:8]


def _grep(rest: list[str | None]) -> Shapes:
    """`grep -rl PATTERN [FOLDER…]`."""
    if not any(t and _is_listing_flag(t) for t in rest) or not _grep_flags(rest):
        return None
    operands = [text for text in rest if text and text[:1] != "-"][1:]
    folders = operands or ["."]
    if not all(_RELATIVE.fullmatch(folder) for folder in folders):
        return None
    found = shapes.of_patterns(tuple(folders)) or ()
    return (
        tuple(form for text in found for form in (text, f"{text.rstrip('/')}/{LISTED}"))[:8] or None
    )


def _rg(rest: list[str | None]) -> Shapes:
    flags = re.compile(r"-[linwFuS]+|--files|--files-with-matches|--(?:type|glob)=.*|-[tg].*")
    if not any(
        t in ("-l", "--files", "--files-with-matches") or (t and _is_listing_flag(t)) for t in rest
    ):
        return None
    if not all(t is not None and (t[:1] != "-" or flags.fullmatch(t)) for t in rest):
        return None
    taken = [i + 1 for i, t in enumerate(rest) if t in ("-g", "-t", "-T")]
    operands = [t for i, t in enumerate(rest) if t and t[:1] != "-" and i not in taken]
    folders = operands if "--files" in rest else operands[1:]
    return (LISTED,) if not folders else _below(folders, [""])


def _printf(rest: list[str | None]) -> Shapes:
    """Tell what `printf` prints of names with a line feed or NUL after each: the names."""
    if rest[:1] not in (["%s\\n"], ["%s\\0"]) or len(rest) < 2:
        return None
    known = tuple(text for text in rest[1:] if text and _RELATIVE.fullmatch(text))
    return shapes.of_patterns(known) if len(known) == len(rest) - 1 else None


def _packages(rest: list[str | None]) -> bool:
    """Whether `go list` prints only packages of the project."""
    if rest[:1] == ["-f"] and rest[1:2] and _IMPORT_PATHS.fullmatch(rest[1] or ""):
        rest = rest[2:]
    return bool(rest) and all(text and re.fullmatch(r"\./[\w./-]*", text) for text in rest)


def _ls(rest: list[str | None]) -> Shapes:
    flags = [text for text in rest if text and text.startswith("-")]
    if not all(re.fullmatch(r"-[1trSdv]+", flag) for flag in flags):
        return None
    paths = [text for text in rest if text is None or not text.startswith("-")]
    if paths and all(text and _TEMPORARY.fullmatch(text) for text in paths):
        # A pattern that matches a folder makes ls print what is in it, without the folder.
        files = shapes.of_patterns(tuple(text for text in paths if text))
        return None if files is None else (*files, LISTED)
    return (LISTED,) if all(text and _RELATIVE.fullmatch(text) for text in paths) else None


_LISTING_COMMANDS: dict[str, Callable[[list[str | None]], Shapes]] = {
    "git": _git_lists,
    "find": _find,
    "grep": _grep,
    "rg": _rg,
    "ls": _ls,
    "printf": _printf,
    "go": lambda rest: (LISTED,) if rest[:1] == ["list"] and _packages(rest[1:]) else None,
}
