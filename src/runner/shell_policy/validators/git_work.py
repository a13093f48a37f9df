"""git commands that write the work tree: protected files stay, and so does uncommitted work.

Two rules. What a command would change below the protected folders (`.runner` and its like) is
found from what git holds of them in the revisions involved; where they are the same, or nothing,
any command may run. And what throws away work that no commit and no stash holds needs
--allow-destructive.
"""

import posixpath
import re
from dataclasses import dataclass

from runner.shell_policy.context import CommandCall
from runner.shell_policy.git_facts import INDEX, Guarded
from runner.shell_policy.paths import GUARDED
from runner.shell_policy.shell import shapes
from runner.shell_policy.shell.facts import ShellWord

_MAGIC = re.compile(r":(?:\(([\w,:=\s-]*)\)|([!^/]+):?|:)?")
_WILD = re.compile(r"[*?\[\\]")
_WHOLE = re.compile(r"(?:/\*{0,2})?")
_HEADER = re.compile(
    r"^(?:\+\+\+|---|diff --git|(?:rename|copy) (?:from|to))(?=\s).*?(?:[\s\"/])\.(?:runner|claude|autonoe|git)(?:[/\"\s]|$)",
    re.MULTILINE | re.IGNORECASE,
)
# A name in quotes whose plain letters are written as numbers: `"b/\056runner/x"`.
_CODED = re.compile(r"^(?:\+\+\+|---|diff --git|rename|copy).*\\[01][0-7]{2}", re.MULTILINE)
_GOES_ON = ("--continue", "--abort", "--skip", "--quit", "--show-current-patch", "--root")
_LOOKS_ONLY = ("--check", "--stat", "--numstat", "--summary", "--cached")
_RANGE = re.compile(r"(.*?)\.\.\.?(.*)")
_KEEP = (
    "this throws away work that is in no commit. Keep it with git stash push -- PATH (git stash pop "
    "brings it back) or a commit, or change the file back with an edit; --allow-destructive opens it."
)
_EXCLUDE = "Leave these files out: add -- . ':(top,exclude){}'."


@dataclass(frozen=True, slots=True)
class Pathspec:
    """One pathspec as git reads it: a path from the root of the project, perhaps a pattern.

    Attributes:
        path: normalized, relative to the project; "." is all of it; None when not known.
        excludes: whether it takes away from what the others match.
    """

    path: str | None
    excludes: bool

    @property
    def reaches(self) -> tuple[str, ...]:
        """The protected folders in which it could match a file."""
        if self.path is None or self.path == ".":
            return tuple(name for name in GUARDED if name != ".git")
        fixed = _WILD.split(self.path.casefold(), maxsplit=1)[0]
        if fixed == self.path.casefold():
            top = fixed.partition("/")[0]
            return (top,) if top in GUARDED else ()
        return tuple(n for n in GUARDED if n.startswith(fixed) or fixed.startswith(f"{n}/"))

    @property
    def is_one_file(self) -> bool:
        """Whether it is written out, and no pattern and not everything."""
        return self.path not in (None, ".") and not _WILD.search(self.path or "*")


def judge_work(call: CommandCall) -> None:
    """Refuse what would change protected files or throw away uncommitted work."""
    judge = _JUDGES.get(call.rule.name)
    if judge is not None:
        judge(call)


# ---------------------------------------------------------------- pathspecs


def pathspecs(call: CommandCall, words: tuple[ShellWord, ...]) -> list[Pathspec]:
    """Read pathspecs. A computed one may be anything."""
    found = [
        _pathspec(call, text)
        for word in words
        for text in word.choices or tuple(map(shapes.pattern, word.shapes)) or ("",)
    ]
    if call.parsed.has("--pathspec-from-file"):
        found.append(Pathspec(None, excludes=False))
    if found and all(one.excludes for one in found):
        found.append(Pathspec(".", excludes=False))
    return found


def leaves_out(call: CommandCall, text: str) -> bool:
    """Whether a pathspec takes away from what the others match (`:!x`)."""
    return text.startswith(":") and _pathspec(call, text).excludes


def _pathspec(call: CommandCall, text: str) -> Pathspec:
    if not text:
        return Pathspec(None, excludes=False)
    match = _MAGIC.match(text)
    if match is None or _is_literal(call):
        return Pathspec(_from_root(call, text), excludes=False)
    words = {word.strip() for word in (match[1] or "").split(",")}
    signs = match[2] or ""
    excludes = "exclude" in words or bool(set(signs) & set("!^"))
    path: str | None = text[match.end() :]
    path = _normal(path or ".") if "top" in words or "/" in signs else _from_root(call, path or ".")
    if words - {"", "top", "exclude", "icase", "glob", "literal"}:
        path = None  # attributes decide
    if excludes and "icase" not in words and path is None:
        path = ""
    return Pathspec(path, excludes=excludes)


def _is_literal(call: CommandCall) -> bool:
    """Whether git takes `:` and wildcards as they are, so that nothing is left out by them."""
    options = any(word.text == "--literal-pathspecs" for word in call.command.words)
    return options or any(
        one.name == "GIT_LITERAL_PATHSPECS"
        for command in call.context.script
        for one in command.assignments
    )


def _from_root(call: CommandCall, text: str) -> str | None:
    """The path relative to the project, without following links: git does not."""
    if call.cwd is None or any((word.text or "").startswith("-C") for word in call.command.words):
        return None
    paths = call.context.paths
    whole = posixpath.normpath(posixpath.join(paths.project, call.cwd, text))
    if whole == paths.project:
        return "."
    if not whole.startswith(paths.project.rstrip("/") + "/"):
        return None
    return whole.removeprefix(paths.project.rstrip("/") + "/")


def _normal(text: str) -> str:
    return posixpath.normpath(text)


def _unprotected(call: CommandCall, specs: list[Pathspec]) -> list[str]:
    """The protected folders that pathspecs reach and do not leave out."""
    left_out = {
        name
        for one in specs
        if one.excludes and one.path is not None
        for name in GUARDED
        if one.path.startswith(name) and _WHOLE.fullmatch(one.path[len(name) :])
    }
    wanted = [name for one in specs if not one.excludes for name in one.reaches]
    if not specs:
        wanted = [name for name in GUARDED if name != ".git"]
    present = {".runner", *_present(call)}
    return [name for name in dict.fromkeys(wanted) if name in present - left_out]


def _present(call: CommandCall) -> set[str]:
    """The protected folders that the project or its index has."""
    facts = call.context.paths.facts
    indexed = facts.guarded_files(INDEX)
    names = {one.name.casefold() for one in facts.entries(facts.project)}
    if indexed is None:
        return set(GUARDED)
    return names | {path.partition("/")[0].casefold() for path, _ in indexed}


# ---------------------------------------------------------------- the two rules


def _keeps_work(call: CommandCall, specs: list[Pathspec] | None = None) -> None:
    """Refuse to throw away work, unless the paths are files that are not there."""
    settings = call.context.settings
    if settings.allow_destructive and call.context.mode == "run":
        return
    paths = call.context.paths
    wanted = [one for one in specs or () if not one.excludes]
    if wanted and all(
        one.is_one_file and not paths.facts.exists(posixpath.join(paths.project, one.path or "."))
        for one in wanted
    ):
        return
    raise call.refuse(_KEEP)


def _overwrites(call: CommandCall, specs: list[Pathspec], source: str) -> None:
    """Refuse pathspecs with which files of `source` would replace protected ones."""
    reached = _unprotected(call, specs)
    if not reached:
        return
    facts = call.context.paths.facts
    held, indexed = facts.guarded_files(source), facts.guarded_files(INDEX)
    if held == indexed == frozenset():
        return
    if held is not None and held == indexed and facts.guarded_unchanged():
        return
    raise call.refuse(
        f"this would write {reached[0]}, which is protected. {_EXCLUDE.format(reached[0])}"
    )


def _switches(call: CommandCall, words: tuple[ShellWord, ...], base: str = "HEAD") -> None:
    """Refuse to bring in a revision whose protected files differ from those of `base`."""
    for word in words:
        for text in word.choices or ("",):
            start, end = base, text
            match = _RANGE.fullmatch(text)
            if match is not None:
                start, end = match[1] or "HEAD", match[2] or "HEAD"
            _compare(call, start, end, text or word.source)


def _compare(call: CommandCall, start: str, end: str, shown: str) -> None:
    facts = call.context.paths.facts
    before = facts.guarded_files(start)
    after = facts.guarded_files(end) if end else None
    if after is None and before == frozenset() == facts.guarded_files(INDEX):
        _compare_made(call, before, end)  # computed, or a name that is still to come
        return
    if before is None or before != after:
        raise call.refuse(
            f"{shown} holds other files in a protected folder ({_difference(before, after)}), and "
            "this would write them. Take over what you need with git show "
            f"{shown}:PATH, or leave the branch to the user."
        )


def _compare_made(call: CommandCall, before: Guarded, name: str) -> None:
    """Refuse a name that the same script gives to a revision with protected files."""
    facts = call.context.paths.facts
    for command in call.context.script:
        texts = [word.text or "" for word in command.words]
        if name and texts[:1] == ["git"] and name in texts:
            for text in texts[2:]:
                held = None if text == name else facts.guarded_files(text)
                if held is not None and held != before:
                    raise call.refuse(
                        f"{name} would be {text}, which holds files in a protected folder "
                        f"({_difference(before, held)}). Leave this branch to the user."
                    )


def _difference(before: Guarded | None, after: Guarded | None) -> str:
    if before is None or after is None:
        return "as far as can be told"
    return min(path for path, _ in before ^ after)


# ---------------------------------------------------------------- one function for each command


def _split(call: CommandCall) -> tuple[tuple[ShellWord, ...], tuple[ShellWord, ...] | None]:
    """The operands before `--` and those behind it (None without `--`)."""
    operands = call.parsed.operands
    texts = [word.text for word in call.args]
    if "--" not in texts:
        return operands, None
    behind = len(texts) - texts.index("--") - 1
    return operands[: len(operands) - behind], operands[len(operands) - behind :]


def _is_path(call: CommandCall, word: ShellWord) -> bool:
    """Whether git takes a word for a path rather than a branch: there is such a file."""
    if any(hole in shape for shape in word.shapes for hole in (shapes.NAME, shapes.LISTED)):
        return True
    for text in word.choices or ("",):
        one = _pathspec(call, text)
        root = call.context.paths.project
        if not one.is_one_file or text.startswith(":"):
            return bool(text) and text != "-"
        if call.context.paths.facts.exists(posixpath.join(root, one.path or ".")):
            return True
    return False


def _checkout(call: CommandCall) -> None:
    if call.parsed.has("-f", "--force"):
        _keeps_work(call)
    before, behind = _split(call)
    creates = call.parsed.has("-b", "-B", "--orphan")
    if behind is None and not creates and before:
        first = before[:1] if not _is_path(call, before[0]) else ()
        behind = before[len(first) :] or None
        before = first
    if behind or call.parsed.has("--pathspec-from-file"):
        specs = pathspecs(call, behind or ())
        _keeps_work(call, specs)
        _overwrites(call, specs, _source(before))
        return
    _switches(call, before[:1])


def _source(words: tuple[ShellWord, ...]) -> str:
    return (words[0].text or "?") if words else INDEX


def _switch(call: CommandCall) -> None:
    _switches(call, call.parsed.operands)
    facts = call.context.paths.facts
    held = (facts.guarded_files("HEAD"), facts.guarded_files(INDEX))
    if call.parsed.has("--orphan") and held != (frozenset(), frozenset()):
        raise call.refuse(
            "--orphan removes all files that git tracks, protected ones among them. Use git checkout "
            "--orphan, which leaves them."
        )


def _restore(call: CommandCall) -> None:
    staged = call.parsed.has("-S", "--staged")
    if staged and not call.parsed.has("-W", "--worktree"):
        return
    specs = pathspecs(call, call.parsed.operands)
    _keeps_work(call, specs)
    given = call.parsed.values("-s", "--source")
    _overwrites(call, specs, _source(tuple(given)) if given else "HEAD" if staged else INDEX)


def _reset(call: CommandCall) -> None:
    if call.parsed.has("--keep"):
        _switches(call, call.parsed.operands)


def _rm(call: CommandCall) -> None:
    if call.parsed.has("--cached", "-n", "--dry-run"):
        return
    specs = pathspecs(call, call.parsed.operands)
    if call.parsed.has("-f", "--force"):
        _keeps_work(call, specs)
    _overwrites(call, specs, INDEX)
    reached = _unprotected(call, specs)
    if reached and call.context.paths.facts.guarded_files(INDEX) != frozenset():
        raise call.refuse(f"this would remove {reached[0]}, which is protected. Name the files.")


def _mv(call: CommandCall) -> None:
    if call.parsed.has("-f", "--force") and not call.parsed.has("-n", "--dry-run"):
        _keeps_work(call)


def _stash(call: CommandCall) -> None:
    """`git stash`, `stash push`, `stash save`: what goes into the stash leaves the work tree."""
    is_push = call.rule.name == "git stash push"
    if call.rule.name == "git stash" and call.parsed.operands:
        return  # judged by the sub-command
    specs = pathspecs(call, call.parsed.operands) if is_push else []
    reached = _unprotected(call, specs)
    if not reached:
        return
    takes_all = call.parsed.has("-u", "--include-untracked", "-a", "--all")
    if takes_all or not call.context.paths.facts.guarded_unchanged():
        raise call.refuse(
            f"this would take {reached[0]} away, which is protected. Use git stash push "
            f"{'-u ' if takes_all else ''}-- . ':(top,exclude){reached[0]}'."
        )


def _unstash(call: CommandCall) -> None:
    if call.context.paths.facts.guarded_stashed():
        raise call.refuse(
            "a stash holds files of a protected folder, and this would write them. Look at it with "
            "git stash show -p, and change the files yourself."
        )
    if call.rule.name == "git stash branch":
        _switches(call, (ShellWord.literal("stash^1"),))


def _drop(call: CommandCall) -> None:
    _keeps_work(call)


def _merge(call: CommandCall) -> None:
    """Merge and rebase: without a revision it is the upstream branch."""
    _no_return(call)
    words = (*call.parsed.operands, *call.parsed.values("--onto"))
    if not words and not call.parsed.has(*_GOES_ON):
        words = (ShellWord.literal("@{upstream}"),)
    _switches(call, words)


def _pick(call: CommandCall) -> None:
    """cherry-pick and revert: what the named commits changed."""
    _no_return(call)
    for word in call.parsed.operands:
        for text in word.choices or ("",):
            if _RANGE.fullmatch(text):
                _switches(call, (ShellWord.literal(text),))
                continue
            for number in _mainlines(call):
                _compare(call, f"{text}^{number}" if text else "HEAD", text, text or word.source)


def _mainlines(call: CommandCall) -> list[str]:
    """Which parents a merge commit is compared with; the first where none is given."""
    return [word.text or "2" for word in call.parsed.values("-m", "--mainline")] or ["1"]


def _no_return(call: CommandCall) -> None:
    for option in ("--abort", "--skip"):
        settings = call.context.settings
        if call.parsed.has(option) and not settings.allow_destructive:
            raise call.refuse(
                f"{option} sets the work tree back, and edits since then are lost; that needs "
                "--allow-destructive. Resolve the conflict and use --continue, or --quit, which "
                "leaves the files as they are."
            )


def _apply(call: CommandCall) -> None:
    """Patches: those whose text is known must not name a protected folder."""
    _no_return(call)
    if call.parsed.has(*_LOOKS_ONLY) and not call.parsed.has("--apply", "--index"):
        return
    paths = call.context.paths
    texts = [call.command.stdin or ""]
    inputs = [one.target for one in call.command.redirections if one.operator == "<"]
    for word in (*call.parsed.operands, *inputs):
        for text in word.choices or ():
            path = paths.absolute(text, call.cwd)
            texts.append((paths.facts.text(path) if path is not None else None) or "")
    if any(_HEADER.search(text) or _CODED.search(text) for text in texts):
        raise call.refuse("the patch changes a protected folder. Take that part out.")


_BISECTS = ("start", "good", "bad", "skip", "old", "new", "reset")


def _bisect(call: CommandCall) -> None:
    """Each step checks a commit out; of those between the named ones nothing is known."""
    if not call.parsed.has("--no-checkout"):
        _switches(call, _split(call)[0])


def _add(call: CommandCall) -> None:
    """What is ignored below `.runner` is this machine's record, and belongs in no commit."""
    if call.parsed.has("-f", "--force"):
        specs = pathspecs(call, call.parsed.operands)
        reached = _unprotected(call, specs) if specs else []
        if reached:
            raise call.refuse(f"-f would add what {reached[0]} ignores. Leave -f out.")


_JUDGES = {
    "git checkout": _checkout,
    "git switch": _switch,
    "git restore": _restore,
    "git reset": _reset,
    "git rm": _rm,
    "git mv": _mv,
    "git add": _add,
    "git stash": _stash,
    "git stash push": _stash,
    "git stash save": _stash,
    "git stash pop": _unstash,
    "git stash apply": _unstash,
    "git stash branch": _unstash,
    "git stash drop": _drop,
    "git merge": _merge,
    "git rebase": _merge,
    "git cherry-pick": _pick,
    "git revert": _pick,
    "git apply": _apply,
    "git am": _apply,
    **{f"git bisect {name}": _bisect for name in _BISECTS},
}

VALIDATORS = {"git-work": judge_work}
