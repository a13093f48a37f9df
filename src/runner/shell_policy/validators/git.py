"""git: paths that are protected, configuration that runs programs, states that are thrown away."""

import fnmatch
import re

from runner.shell_policy.context import CommandCall
from runner.shell_policy.kinds import check
from runner.shell_policy.paths import GUARDED
from runner.shell_policy.shell import shapes
from runner.shell_policy.shell.facts import ShellWord
from runner.shell_policy.validators.git_work import judge_work, leaves_out

_PATHSPEC_MAGIC = re.compile(r"^:(?:\([\w,:=-]*\)|[!^/])*")
_CREDENTIAL_KEY = re.compile(
    r"extraheader|password|token|secret|cookie|sslkey|sslcert|^credential\.|\.(?:insteadof|pushinsteadof|proxy)$"
    r"|^http\.[^.]*:",
    re.IGNORECASE,
)
_PLAIN_SECTION = re.compile(
    r"\^?(?:user|core|alias|branch|color|diff|merge|pull|push|init|commit|rebase|log|status|advice)\b"
)
_CONFIG_READS = frozenset(
    [
        "--get",
        "--get-all",
        "--get-regexp",
        "--list",
        "-l",
        "--show-origin",
        "--show-scope",
        "--name-only",
        "-z",
        "--null",
        "--local",
        "--global",
        "--system",
        "--worktree",
        "--type=bool",
        "--bool",
        "--int",
        "--includes",
        "--no-includes",
        "get",
        "list",
    ]
)


def _git(call: CommandCall) -> None:
    """Nothing beyond the table: -C is a project path and -c a harmless key."""


def _git_paths(call: CommandCall) -> None:
    """Refuse to stage, check out or remove what is protected."""
    for word in call.parsed.operands:
        known = word.choices or tuple(map(shapes.pattern, word.shapes))
        for text in known or (word.prefix,):
            if leaves_out(call, text):
                continue
            path = _PATHSPEC_MAGIC.sub("", text)
            _protected(call, path)
            if call.rule.name == "git rm" and path.strip("./*") == "":
                raise call.refuse("name the files; everything must not be removed.")
            if call.rule.name != "git diff" and path.startswith(("/", "~")):
                check(call, "project", ShellWord.literal(path), "the path")
            if call.rule.name == "git diff" and path.startswith(("/", "~", "../")):
                call.context.paths.project_file(path, call.cwd)
    judge_work(call)


def _protected(call: CommandCall, path: str) -> None:
    if call.rule.name == "git diff":
        return
    for part in path.casefold().split("/"):
        if _matches_guarded(call, part):
            raise call.refuse(f"{part} reaches a protected folder. Name the files instead.")
        if part in GUARDED and not (part in (".runner", ".autonoe") and _stages(call)):
            raise call.refuse(f"{part} is protected; leave it as it is.")


def _matches_guarded(call: CommandCall, part: str) -> bool:
    """Git expands patterns itself, and its `*` matches a leading dot."""
    if not re.search(r"[*?\[]", part) or not (part.startswith(".") or call.rule.name == "git rm"):
        return False
    return any(fnmatch.fnmatchcase(name, part) for name in GUARDED) and not _stages(call)


def _stages(call: CommandCall) -> bool:
    """status.json is committed by users, so adding and committing it is no change of it."""
    return call.rule.name in ("git add", "git commit")


def _commit(call: CommandCall) -> None:
    _git_paths(call)
    for word in call.parsed.values("-F", "--file"):
        if word.text != "-":
            check(call, "project", word, "the message file")


def _branch(call: CommandCall) -> None:
    """Listing always; creating, renaming and deleting merged branches in run."""
    reading = call.parsed.has(
        "--list",
        "-l",
        "--contains",
        "--merged",
        "--no-merged",
        "--points-at",
        "-a",
        "-r",
        "--show-current",
        "--no-contains",
        "--all",
        "--remotes",
    )
    if call.parsed.operands and not reading:
        call.run_only("creating a branch")
    if call.parsed.has("-f", "--force"):
        raise call.refuse("moving a branch by force throws commits away.")
    for name, _ in call.parsed.options:
        if name in _BRANCH_CHANGES:
            call.run_only(name)


_BRANCH_CHANGES = frozenset(
    [
        "-d",
        "--delete",
        "-m",
        "--move",
        "-c",
        "--copy",
        "-u",
        "--set-upstream-to",
        "-t",
        "--track",
        "--no-track",
        "--unset-upstream",
    ]
)


def _tag(call: CommandCall) -> None:
    reading = call.parsed.has(
        "-l",
        "--list",
        "-n",
        "--contains",
        "--merged",
        "--points-at",
        "--no-contains",
        "--no-merged",
    )
    if call.parsed.operands and not reading:
        call.run_only("creating a tag")


def _reflog(call: CommandCall) -> None:
    if call.parsed.operands and call.parsed.operands[0].text in ("expire", "delete", "drop"):
        raise call.refuse("entries of the reflog stay.")


def _remote_show(call: CommandCall) -> None:
    if call.parsed.operands and not call.parsed.has("-n"):
        raise call.refuse("add -n, so that the remote is not asked.")


def _clean(call: CommandCall) -> None:
    if not call.parsed.has("-n", "--dry-run", "-nd", "-ndx"):
        raise call.refuse("only a dry run (-n) is allowed; untracked files stay.")


def _strategy(call: CommandCall) -> None:
    if call.parsed.has("-i", "--interactive"):
        _no_editor(call)
    for word in call.parsed.values("-s", "--strategy"):
        if call.literal(word, "the strategy") not in (
            "ort",
            "recursive",
            "resolve",
            "ours",
            "octopus",
            "subtree",
        ):
            raise call.refuse("this strategy would run another program.")
    judge_work(call)


def _no_editor(call: CommandCall) -> None:
    """The list of steps is taken as it is: the policy lets GIT_SEQUENCE_EDITOR be nothing else."""
    names = {assignment.name for assignment in call.command.assignments}
    if "GIT_SEQUENCE_EDITOR" not in names:
        raise call.refuse("an editor would open. Write GIT_SEQUENCE_EDITOR=: before git.")


def _merge_file(call: CommandCall) -> None:
    if not call.parsed.has("-p", "--stdout"):
        raise call.refuse("add -p.")


def _config(call: CommandCall) -> None:
    """Reading any key that is no credential; writing a few harmless keys in run."""
    words = [
        call.literal(word, "the argument") if not _is_value(call, i) else ""
        for i, word in enumerate(call.args)
    ]
    keys = [
        text
        for text in words
        if text and not text.startswith("-") and text not in ("get", "list", "set")
    ]
    options = [text for text in words if text.startswith("-")]
    writes = (
        len(call.args) - len(options) - (1 if "get" in words[:1] else 0) > 1 or "set" in words[:1]
    )
    if (
        any(option not in _CONFIG_READS and option != "--add" for option in options)
        or "--add" in options
    ):
        raise call.refuse(
            "only reading, and setting user.name, user.email and a few more, is allowed."
        )
    _refuse_credentials(call, keys, options)
    if "--get-regexp" in options or not writes:
        return
    if "--get" in options or "--get-all" in options or "get" in words[:1]:
        return
    call.run_only("setting configuration")
    pattern = call.context.rules.lists["git-config-write"]
    if "--global" in options or "--system" in options or not keys:
        raise call.refuse("only the repository's own configuration may be set.")
    if not re.fullmatch(pattern, keys[0], re.VERBOSE):
        raise call.refuse(f"{keys[0]} could run programs; it must not be set.")


def _refuse_credentials(call: CommandCall, keys: list[str], options: list[str]) -> None:
    """Headers, helpers and addresses of the user's own configuration hold credentials."""
    words = [word.text for word in call.args]
    lists = {"-l", "--list", "--get-regexp"} & set(options) or words[:1] == ["list"]
    if lists and not {"--local", "--worktree"} & set(options) and not _is_plain_pattern(keys):
        raise call.refuse(
            "listing all settings would show credentials. Add --local, or name one: "
            "git config --get user.name."
        )
    if not lists and keys and _CREDENTIAL_KEY.search(keys[0]):
        raise call.refuse(f"{keys[0]} may hold a credential.")


def _is_plain_pattern(keys: list[str]) -> bool:
    """Whether a pattern asks for sections that hold no credentials, such as `^user`."""
    return bool(keys) and _PLAIN_SECTION.match(keys[0]) is not None


def _is_value(call: CommandCall, index: int) -> bool:
    """Whether an argument is the value of a setting, which may be computed."""
    return index > 0 and call.args[index].text is None and not call.args[index].splits


VALIDATORS = {
    "git": _git,
    "git-paths": _git_paths,
    "git-commit": _commit,
    "git-branch": _branch,
    "git-tag": _tag,
    "git-reflog": _reflog,
    "git-remote-show": _remote_show,
    "git-clean": _clean,
    "git-strategy": _strategy,
    "git-merge-file": _merge_file,
    "git-config": _config,
}
