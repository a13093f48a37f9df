"""find and xargs: which files are looked at, and what is run with them."""

import re

from runner.shell_policy.context import CommandCall
from runner.shell_policy.kinds import check
from runner.shell_policy.patterns import refuse_whole_tree
from runner.shell_policy.shell import shapes
from runner.shell_policy.shell.facts import ShellWord, SimpleCommand
from runner.shell_policy.shell.printed import printed
from runner.shell_policy.shell.values import Value

_FLAGS = frozenset(
    [
        "-print",
        "-print0",
        "-ls",
        "-prune",
        "-quit",
        "-empty",
        "-nouser",
        "-nogroup",
        "-readable",
        "-writable",
        "-executable",
        "-true",
        "-false",
        "-depth",
        "-d",
        "-mount",
        "-xdev",
        "-daystart",
        "-follow",
        "-noleaf",
        "-ignore_readdir_race",
        "-not",
        "-a",
        "-and",
        "-o",
        "-or",
        "-nowarn",
        "-warn",
        "!",
        "(",
        ")",
        ",",
    ]
)
_VALUES = frozenset(
    [
        "-name",
        "-iname",
        "-path",
        "-ipath",
        "-wholename",
        "-iwholename",
        "-regex",
        "-iregex",
        "-lname",
        "-ilname",
        "-type",
        "-xtype",
        "-size",
        "-mtime",
        "-mmin",
        "-atime",
        "-amin",
        "-ctime",
        "-cmin",
        "-maxdepth",
        "-mindepth",
        "-perm",
        "-user",
        "-group",
        "-uid",
        "-gid",
        "-links",
        "-inum",
        "-regextype",
        "-printf",
        "-used",
        "-newermt",
        "-newerat",
        "-newerct",
        "-fstype",
    ]
)
_PATTERNS = frozenset(["-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename"])
_FILES = frozenset(["-newer", "-anewer", "-cnewer", "-samefile"])
_PLAIN_NAME = re.compile(
    r"\*[\w-]*\.\w+~?|[\w-][\w.-]*\.\w+|__pycache__|\.DS_Store|node_modules|dist|coverage"
    r"|\.(?:pytest|mypy|ruff)_cache|\.next|\.turbo|\.nyc_output|\*\.egg-info"
)
_EXECUTES = frozenset({"-exec", "-execdir"})
_START_FLAGS = frozenset({"-H", "-L", "-P", "-E", "-X", "-s", "-x", "-O1", "-O2", "-O3"})
_FOUND = ShellWord(None, source="{}")
_FOUND_HERE = ShellWord(None, prefix="./", source="(files)", shapes=("./" + shapes.LISTED,))


def _find(call: CommandCall) -> None:
    words = list(call.args)
    starts: list[ShellWord] = []
    while words and words[0].text in _START_FLAGS:
        words.pop(0)
    while words and not _is_expression(words[0]):
        starts.append(_start(call, words.pop(0)))
    while words:
        _primary(call, words, starts)


def _is_expression(word: ShellWord) -> bool:
    text = word.choices[0] if word.choices else word.prefix
    return text.startswith("-") or text in ("(", ")", "!", ",")


def _start(call: CommandCall, word: ShellWord) -> ShellWord:
    if word.choices is None and not word.prefix and not word.numeric:
        raise call.refuse(f"{word.source} could turn into an expression. Write the folder out.")
    check(call, "tree", word, "the folder")
    return word


def _primary(call: CommandCall, words: list[ShellWord], starts: list[ShellWord]) -> None:
    word = words.pop(0)
    if word.glob:
        raise call.refuse(f"quote {word.source}; the shell would expand it.")
    name = call.literal(word, "the expression")
    if name in _FLAGS:
        return
    if name in _VALUES or name in _FILES:
        if not words:
            raise call.refuse(f"{name} needs a value.")
        value = words.pop(0)
        if value.splits and not value.numeric:
            raise call.refuse(f"quote {value.source}, so that it stays one word.")
        if value.glob:
            _pattern(call, name, value)
        if name in _FILES:
            check(call, "read", value, name)
        elif name in ("-name", "-iname", "-path"):
            call.context.paths.read(value.text or value.prefix, call.cwd)
        return
    if name in _EXECUTES:
        _execute(call, words, starts)
    elif name == "-delete":
        _delete(call, starts)
    else:
        raise call.refuse(
            f"{name} is not allowed. Use -name, -path, -type, -size, -mtime, -maxdepth, -prune, "
            "-print, or -exec with an allowed command."
        )


def _pattern(call: CommandCall, name: str, value: ShellWord) -> None:
    """`-name *.py` without quotes: further names that match make find stop with an error."""
    text = value.choices[0] if value.choices else ""
    if name not in _PATTERNS or text[:1] in ("-", "(", "!", ",") or not text:
        raise call.refuse(f"quote {value.source}; the shell would expand it.")
    if not (text[0].isalnum() or re.search(r"\.\w+$", text)):
        raise call.refuse(f"quote {value.source}; the shell would expand it.")


def _execute(call: CommandCall, words: list[ShellWord], starts: list[ShellWord]) -> None:
    inner: list[ShellWord] = []
    while words:
        word = words.pop(0)
        if word.text == ";" or (word.text == "+" and inner and inner[-1].text == "{}"):
            break
        inner.append(word)
    else:
        raise call.refuse("-exec must end with \\; or +.")
    if not inner or "{}" in (inner[0].text or "{}"):
        raise call.refuse("-exec needs a command written out.")
    found = _named_below(call, starts) or _found_below(call, starts)
    call.judge_inner(tuple(_fill(word, found) for word in inner))


def _named_below(call: CommandCall, starts: list[ShellWord]) -> ShellWord | None:
    """What {} is when files of one plain name are looked for (`-name __pycache__ -exec`)."""
    texts = [word.text or "" for word in call.args]
    for action in _EXECUTES & set(texts):
        if len(starts) == 1 and starts[0].text == "." and _plain_name(texts, action):
            name = texts[texts.index("-name") + 1]
            if _changes(texts[texts.index(action) + 1 :]):
                refuse_whole_tree(call.context.paths, name, call.refuse)
            return ShellWord((f"./*/{name}",), prefix="./", glob=True, source="{}")
    return None


def _found_below(call: CommandCall, starts: list[ShellWord]) -> ShellWord:
    """What {} certainly begins with: find's results begin with the folder it was given."""
    paths = call.context.paths
    folders = [text for word in starts for text in word.choices or ()]
    if any(paths.absolute(text, call.cwd) == paths.project for text in folders):
        return _FOUND_HERE
    if len(starts) == 1 and starts[0].text:
        return _below(starts[0].text)
    return _FOUND_HERE if not starts else _FOUND


def _below(folder: str) -> ShellWord:
    """Some paths below a folder. Below a folder of the project they may even be changed."""
    if folder.strip("./") == "":
        return _FOUND_HERE
    pattern = folder.rstrip("/") + "/*"
    return ShellWord((pattern,), prefix=folder.rstrip("/") + "/", glob=True, source="(files)")


def _fill(word: ShellWord, found: ShellWord) -> ShellWord:
    if word.text == "{}":
        return found
    if word.text and "{}" in word.text:
        before = word.text.partition("{}")[0]
        return ShellWord(
            None, prefix=before + (found.prefix if not before else ""), source=word.text
        )
    return word


def _delete(call: CommandCall, starts: list[ShellWord]) -> None:
    call.run_only("-delete")
    if not call.context.settings.allow_destructive:
        raise call.refuse("-delete needs --allow-destructive. Leave the files.")
    texts = [word.text or "" for word in call.args]
    if _plain_name(texts, "-delete"):
        if any(word.text in (".", "./") for word in starts) or not starts:
            refuse_whole_tree(call.context.paths, texts[texts.index("-name") + 1], call.refuse)
        for word in starts:
            check(call, "write", word, "the folder")
        return
    if not starts:
        raise call.refuse("-delete needs a folder below the project to search.")
    for word in starts:
        text = call.literal(word, "the folder")
        if text.strip("./") == "":
            raise call.refuse("-delete must name a folder below the project.")
        check(call, "remove", word, "the folder")


def _changes(texts: list[str]) -> bool:
    """Whether the command that find runs may change the files that it is given."""
    return texts[:1] not in (
        ["grep"],
        ["cat"],
        ["wc"],
        ["ls"],
        ["head"],
        ["tail"],
        ["echo"],
    ) and not (texts[:1] == ["sed"] and not any(text.startswith("-i") for text in texts))


def _plain_name(texts: list[str], action: str) -> bool:
    """Whether only files with a plain name or ending are deleted (`-name '*.pyc' -delete`)."""
    if texts.count("-name") != 1 or {"-o", "-or", ","} & set(texts):
        return False
    excluded = [index for index, text in enumerate(texts) if text in ("!", "-not")]
    if any(texts[index + 1 : index + 2] != ["-path"] for index in excluded):
        return False
    if texts.index("-name") > texts.index(action):
        return False
    name = texts[texts.index("-name") + 1]
    return _PLAIN_NAME.fullmatch(name) is not None


def _xargs(call: CommandCall) -> None:
    """Judge what xargs runs with unknown words added; the wrapper's own check covers the rest."""
    inner = call.parsed.operands
    if not inner:
        return
    replaced = [value.text for value in call.parsed.values("-I")]
    if replaced:
        marker = replaced[-1]
        if not marker or marker in (inner[0].text or ""):
            raise call.refuse("-I needs a plain marker that is not the command.")
        fed = _fed(call)
        words = tuple(_replace(word, marker, fed) for word in inner)
    else:
        words = (*inner, _fed(call))
    call.judge_inner(words)


def _fed(call: CommandCall) -> ShellWord:
    """What the pipe feeds: file names or process ids when their producer is known.

    No file may be created whose name begins with a dash, so listed names are no options.
    """
    pipeline = _pipeline(call)
    texts = [word.text for word in pipeline[0].words] if pipeline else []
    if texts[:1] == ["pgrep"] or (texts[:1] == ["lsof"] and "-t" in str(texts[1:])):
        return ShellWord(None, numeric=True, source="(processes)")
    if not pipeline or call.parsed.has("-a", "--arg-file"):
        return ShellWord(None, splits=True, source="what xargs gets")
    found = printed([[Value.of(word) for word in command.words] for command in pipeline])
    if found is not None and found.shapes:
        return ShellWord(None, source="(files)", shapes=found.shapes or ())
    return ShellWord(None, splits=True, source="what xargs gets")


def _pipeline(call: CommandCall) -> list[SimpleCommand]:
    """The commands that feed this one."""
    script = call.context.script
    position = next((i for i, c in enumerate(script) if c.source == call.command.source), 0)
    found: list[SimpleCommand] = []
    while position > 0 and script[position].piped:
        position -= 1
        found.insert(0, script[position])
    return found


def _replace(word: ShellWord, marker: str, fed: ShellWord) -> ShellWord:
    text = word.text
    if text is None or marker not in text:
        return word
    forms = tuple(text.replace(marker, shape) for shape in fed.shapes)
    return ShellWord(None, prefix=text.partition(marker)[0], source=text, shapes=forms)


def _tail(call: CommandCall) -> None:
    """Following a file ends where something ends it."""
    ended = call.command.background or re.match(r"g?timeout\s", call.command.source)
    if call.parsed.has("-f", "-F", "--follow") and not ended:
        raise call.refuse(
            "following a file never ends. Read its last lines, or use timeout 10 tail -f."
        )


VALIDATORS = {"tail": _tail, "find": _find, "xargs": _xargs}
