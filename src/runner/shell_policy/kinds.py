"""What an option's value or an operand can be, and the check for each kind.

`text` anything · `number` digits with a sign or unit · `read` a path that is read · `tree` a
path that is searched through · `project` a path in the project (what is run, or steers what
runs) · `write` a path that is written · `remove` a path that is removed · `none` nothing ·
`url` an address on this machine · `@NAME` a value matching the list NAME of the profiles.
"""

import re

from runner.shell_policy.context import CommandCall
from runner.shell_policy.paths import is_endless, mentions_secret, outside_in, protected_in
from runner.shell_policy.patterns import check_glob, check_links, check_shape
from runner.shell_policy.shell import shapes
from runner.shell_policy.shell.facts import ShellWord

# A beginning that keeps a computed path in the project.
_OWN_FOLDER = re.compile(r"(?:\./)?\w[\w.-]*/")
# Folders that tools of the machine name in the environment.
_FROM_OUTSIDE = re.compile(
    r"\"?\$\{?(?:TMPDIR|GOPATH|GOROOT|VIRTUAL_ENV|CONDA_PREFIX|NVM_DIR|JAVA_HOME|CARGO_HOME|RUSTUP_HOME"
    r"|GITHUB_WORKSPACE)\}?(?:/[\w./-]*)?\"?"
)
_WILD = re.compile(r"[*?\[]")
_NUMBER = re.compile(r"[+-]?\d+(?:[.,:]\d+)*(?:[a-zA-Z%]{0,3})?")
# What runs the file that it is given.
_INTERPRETERS = frozenset(
    {
        "node",
        "python",
        "python3",
        "ruby",
        "php",
        "perl",
        "bun",
        "tsx",
        "ts-node",
        "bash",
        "sh",
        "deno",
    }
)
# Lists of what a tool only looks at or puts into its output: names may be computed.
_HARMLESS_LISTS = frozenset({"go-package", "go-ldflags"})
_DURATIONS = frozenset({"duration", "timeout"})
# Some tools fetch what they are to read (`xmllint http://…`).
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_PRODUCT = re.compile(r"\"?\$\(\( *(\d{1,9}) *\* *(\d{1,9}) *\)\)\"?")
_ENDING = re.compile(r"\.\w+\Z")
_SETTING = re.compile(r"[A-Za-z_][\w.]*[:+?]?=")
_LEAVES_OUT = re.compile(
    r"ignore|exclu|omit|skip|filter|without|^--?no|prune|^-x$|blacklist|deny", re.IGNORECASE
)
_PLAIN_VALUE = re.compile(r"[\w.-]+")
# What tools take in place of a file: an address, inline settings, a file of arguments.
_NOT_A_FILE = re.compile(
    r"://|^[@{]|^\w+:(?!:)(?=[/.])|[\"\x27]|^(?:data|file|git|pkg|npm|jsr|node|https?):"
)
# A text that is an absolute path, or one that leads out: no tool of a project needs it.
_PATH_AWAY = re.compile(
    r"(?:^|[=:;,])(?:~|\.\./|(?:file|data):|/(?:tmp|etc|usr|home|root|var|opt|dev|proc|mnt|srv|bin|sbin|lib|Users)(?:/|$))"
)
# `--report=json:$path`: what is computed is a path of its own.
_FORMAT = re.compile(r"^[a-z][\w-]*:$")
_LOOPBACK = re.compile(
    r"(?:(?:https?|wss?)://)?(?:localhost|127(?:\.\d{1,3}){3}|0\.0\.0\.0|\[::1\])(?::\d{1,5}|:)?"
    r"(?:[/?#][^@{}\[\]\\\s]*)?",
    re.IGNORECASE,
)
_LOOPBACK_PREFIX = re.compile(
    r"(?:https?://)?(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])(?:(?::\d{1,5})?[/?#][^@]*|:)",
    re.IGNORECASE,
)


def check(call: CommandCall, kind: str, word: ShellWord, what: str) -> None:
    """Refuse a value that is not of its kind.

    Args:
        call: the command the value belongs to.
        kind: one of the kinds listed above.
        word: the value.
        what: how the value is called in a message, e.g. `-o` or `the file`.
    """
    if kind == "text":
        if what.startswith("-") and _is_project_tool(call):
            _no_path(call, word, what)
        return
    if kind == "none":
        raise call.refuse(f"takes no arguments, but there is {word.source}.")
    if kind == "number":
        _number(call, word, what)
    elif kind == "url":
        check_url(call, word)
    elif kind.startswith("@"):
        _listed(call, kind[1:], word, what)
    else:
        _path(call, kind, word, what)


def _is_project_tool(call: CommandCall) -> bool:
    """Whether a command, or the one it is a sub-command of, works on the project alone."""
    name = call.rule.name.partition(" ")[0]
    rule = call.context.rules.commands.get(name, call.rule)
    return "project" in (rule.workplace, call.rule.workplace) and name != "git"


def _no_path(call: CommandCall, word: ShellWord, what: str) -> None:
    """Refuse an option's text that is a path out of the project: many tools load or write it."""
    if word.choices is None and _FORMAT.search(word.prefix):
        raise call.refuse(f"write the path in {what} out, not {word.source}.")
    for text in word.choices or (word.prefix,):
        away = _PATH_AWAY.search(text) or outside_in(text, call.context.paths)
        if away and not re.search(r"[\s|*^$()]", text):
            raise call.refuse(f"{what} must not name a file outside the project: {text}.")


def refuse_embedded(call: CommandCall) -> None:
    """Refuse a protected path inside an option or a setting: most tools would write it.

    Whatever form it has (`-o PATH`, `--report=xml:PATH`, `-flp:a=1;logfile=PATH`, `NAME=PATH`). What
    a tool is told to leave out may have such a name, and what it only reads as well.
    """
    if not _is_project_tool(call) or call.rule.wrapper is not None:
        return
    before = ""
    for word in call.args:
        for text in word.choices or (word.prefix,):
            is_option = text.startswith(("-", "/")) or _SETTING.match(text) is not None
            option = text if is_option else before
            if not option or _LEAVES_OUT.search(option):
                continue
            found = protected_in(text)
            if found is not None and not _only_reads(call, option):
                raise call.refuse(f"{found} is protected; write somewhere else, such as reports/.")
        text = word.text or ""
        before = text if text.startswith("-") and "=" not in text else ""


def _only_reads(call: CommandCall, text: str) -> bool:
    name = text.partition("=")[0]
    option = call.rule.options.get(name)
    return option is not None and option.kind in ("read", "tree", "project")


def check_url(call: CommandCall, word: ShellWord) -> None:
    """Refuse every address that is not on this machine."""
    if word.choices is not None:
        good = all(_LOOPBACK.fullmatch(text) for text in word.choices)
    else:
        good = word.numeric or _LOOPBACK_PREFIX.match(word.prefix) is not None
        good = good and "@" not in word.prefix + word.source.partition("?")[0]
        if word.shapes:
            good = all(_LOOPBACK.fullmatch(shapes.filled(shape)) for shape in word.shapes)
    if not good or (word.glob and any(c in (word.prefix or "") for c in "{}")):
        raise call.refuse(
            f"{word.source or word.prefix}: only addresses on localhost are allowed. "
            "Ask a server that runs here; packages come through the package manager."
        )


def _number(call: CommandCall, word: ShellWord, what: str) -> None:
    if word.numeric:
        return
    if word.shapes and all(map(_numbers_only, word.shapes)):
        return
    if word.choices is None:
        if call.rule.unknown == "any":
            return
        raise call.refuse(f"{what} must be a number, and {word.source} is not known to be one.")
    if not all(_NUMBER.fullmatch(text) for text in word.choices):
        raise call.refuse(f"{what} must be a number, not {word.source}.")


def _numbers_only(shape: str) -> bool:
    texts = shapes.samples(shape)
    return bool(texts) and _NUMBER.fullmatch(texts[0]) is not None and shapes.COMMIT not in shape


def _listed(call: CommandCall, name: str, word: ShellWord, what: str) -> None:
    pattern = call.context.rules.lists.get(name)
    if pattern is None:
        raise call.refuse(f"the profiles have no list {name}.")
    texts = word.choices
    if name in _DURATIONS and word.numeric:
        texts = _computed(word)
    if name in _HARMLESS_LISTS and word.shapes and call.rule.name != "go install":
        texts = tuple(shapes.filled(shape) for shape in word.shapes)
    elif shapes.only(word.shapes, shapes.DIGITS):
        texts = tuple(map(shapes.filled, word.shapes))
    if not texts or word.glob:
        raise call.refuse(f"{what} must be written out, not {word.source or 'computed'}.")
    for text in texts:
        if not re.fullmatch(pattern, text, re.VERBOSE):
            hint = call.rule.instead or _plain_choices(pattern)
            raise call.refuse(f"{what} may not be {text}. {hint}".rstrip())


def _plain_choices(pattern: str) -> str:
    """The values of a list that names each of them."""
    values = pattern.split("|")
    return f"Allowed: {', '.join(values)}." if all(map(_PLAIN_VALUE.fullmatch, values)) else ""


def _computed(word: ShellWord) -> tuple[str, ...]:
    """A number that is computed: the product when it is written out, else some number."""
    factors = _PRODUCT.fullmatch(word.source)
    return (str(int(factors[1]) * int(factors[2])) if factors else "1",)


def _path(call: CommandCall, kind: str, word: ShellWord, what: str) -> None:
    if word.choices is None and word.shapes:
        for shape in word.shapes:
            _shaped_path(call, kind, shape)
        return
    if word.choices is None:
        _unknown_path(call, kind, word, what)
        return
    for text in word.choices:
        if text == "-" and kind in {"read", "tree", "write", "project"}:
            continue
        if word.glob or (call.rule.data.get("globs") == "own" and _WILD.search(text)):
            check_glob(call.context.paths, kind, text, call.cwd, call.refuse)
            if kind in {"write", "remove"}:
                check_links(
                    call.context.paths,
                    text,
                    call.cwd,
                    lambda path: check_path(call, kind, path),
                    call.refuse,
                )
        check_path(call, kind, text)


def _shaped_path(call: CommandCall, kind: str, shape: str) -> None:
    """Check a path with holes; without one it is a path like any other."""
    if shape in ("", "-"):
        return
    name = call.rule.name.partition(" ")[0]
    if kind == "project" and name in _INTERPRETERS and not _ENDING.search(shape):
        raise call.refuse("only files with one known ending (such as *.py) may be run like this.")
    if not shapes.HOLE.search(shape):
        check_path(call, kind, shape)
        return
    check_shape(
        call.context.paths, kind, shape, call.cwd,
        check=lambda path: check_path(call, kind, path), refuse=call.refuse,
    )  # fmt: skip


def check_path(call: CommandCall, kind: str, text: str) -> None:
    """Apply the path policy to one known path; an empty one names nothing."""
    paths = call.context.paths
    if not text and kind in {"read", "write", "remove"}:
        return
    if kind in {"read", "tree"} and _ADDRESS.match(text):
        raise call.refuse(f"{text}: only files are allowed, no addresses.")
    if kind == "read":
        if is_endless(text) and call.rule.data.get("endless") != "ok":
            raise call.refuse(f"{text} never ends. Use head -c.")
        if not (is_endless(text) and call.rule.data.get("endless") == "ok"):
            paths.read(text, call.cwd)
    elif kind == "tree":
        paths.read_tree(text, call.cwd)
    elif kind == "project":
        if _NOT_A_FILE.search(text.partition("::")[0]):
            raise call.refuse(
                f"{text} is not plainly a file of the project: no address, no settings, no "
                "list of further arguments. Write ./ before an unusual name."
            )
        paths.refuse_guarded(text.partition("::")[0].rstrip("/"), text)
        paths.project_file(text, call.cwd)
    elif kind == "write":
        paths.write(text, call.cwd)
    elif kind == "remove":
        paths.remove(text, call.cwd)
    else:
        raise call.refuse(f"the profiles use an unknown kind, {kind}.")


def _unknown_path(call: CommandCall, kind: str, word: ShellWord, what: str) -> None:
    if mentions_secret(word.source):
        raise call.refuse(f"{word.source} may hold credentials.")
    if word.prefix.startswith("/dev/fd/") and kind not in {"remove", "project"}:
        return  # a process substitution; what it runs is judged by itself
    if kind in {"read", "tree"}:
        _unknown_read(call, word, what)
        return
    if kind == "project" and call.rule.unknown == "any":
        return
    if kind == "project" and word.prefix and "/" in word.prefix and not word.splits:
        check_path(call, kind, word.prefix.rpartition("/")[0] or "/")
        return
    if word.numeric and kind == "project":
        return
    raise call.refuse(f"{what} must be a path written out, not {word.source or 'computed'}.")


def _unknown_read(call: CommandCall, word: ShellWord, what: str) -> None:
    """A path that no rule knows anything of (from a file's text, decoded, glued together)."""
    if word.numeric or (_OWN_FOLDER.match(word.prefix) and not call.context.private):
        return
    names_only = call.rule.data.get("shows") == "names" and not call.context.private
    if not names_only and not _FROM_OUTSIDE.fullmatch(word.source):
        raise call.refuse(
            f"{word.source or what} could be any file of this machine. Write the path out, put a "
            "folder of the project before it (src/$name), or take the names straight from "
            "git ls-files, find, grep -l, ls or a pattern."
        )
    if word.prefix.startswith(("/", "~", ".")):
        check_path(call, "read", word.prefix)
