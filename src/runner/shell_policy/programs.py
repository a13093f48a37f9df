"""From a command's first word to the rule that governs it: names, tool paths, own scripts."""

import itertools
import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from runner.shell_policy.context import Context
from runner.shell_policy.decision import ALL_PROFILES, PolicyRefusalError
from runner.shell_policy.profiles import load_rules
from runner.shell_policy.shell.facts import Redirection, SimpleCommand
from runner.shell_policy.table import CommandRule

_SYSTEM_BIN = frozenset({"/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"})
# Folders in a project where package managers put the tools that its lock file names.
_TOOL_FOLDERS = re.compile(
    r"(?:^|/)(?:\.?v?env|\.venv[\w.-]*|venv[\w.-]*)/bin$|node_modules/\.bin$|vendor/bin$"
)
_BINSTUBS = frozenset({"rails", "rspec", "rake", "rubocop", "bundle", "console", "phpunit", "pest"})
_WRAPPERS = {"gradlew": "gradle", "mvnw": "mvn"}
_SCRIPT = re.compile(r"[\w./+@-]*\.(?:sh|bash)|(?:[\w./-]*/)?bin/dev")
# The script that starts the development server (seed 001), which a check needs as well.
_SERVERS = frozenset({"bin/dev.sh", "bin/dev"})
_BUILT = re.compile(r"(?:\./)?(?:[\w.-]+/)*target/(?:debug|release)/[\w-]+")
# What the project's own build puts there, and its own executable scripts: in run they are no
# more than the interpreter or the compiler that the agent may call on its own files anyway.
_OWN_OUTPUT = re.compile(
    r"\./(?:[\w-][\w.-]*/)*(?:bin|build|dist)/(?:[\w-][\w.-]*/)*[\w-]+|\./(?:[\w-][\w.-]*/)*[\w-]+\.py"
)
_COMPILERS = frozenset((
    "go", "gcc", "g++", "cc", "c++", "clang", "clang++", "rustc", "gfortran", "ghc", "swiftc",
    "nim", "crystal", "zig", "ld", "dart", "ocamlfind", "kotlinc", "scalac",
))  # fmt: skip
# What may name a program in /tmp that was compiled there, besides running it: it changes nothing of it.
_LOOKERS = frozenset((
    "ls", "file", "size", "nm", "objdump", "readelf", "ldd", "strip", "chmod", "rm", "echo",
    "test", "[", "[[", "stat", "wc", "du", "sha256sum", "md5sum", "printf",
))  # fmt: skip
# What puts files into a folder without naming each of them, or makes a folder the working directory.
_MANY_FILES = frozenset((
    "cp", "mv", "ln", "install", "rsync", "tar", "unzip", "7z", "cpio", "find", "xargs", "cd",
    "pushd", "git", "curl", "wget",
))  # fmt: skip
_SHELLS = frozenset({"sh", "bash", "dash", "zsh"})
_SHELL_WRITES = re.compile(r">\s*/|\b(?:cp|mv|ln|install|rsync|tar|unzip|dd|tee|cd)\s")
_OUTPUT_OPTION = re.compile(r"(?:-o[:=]?|--out[:=]|-femit-bin=)(.+)")
_WRAPPING = frozenset({"env", "hyperfine", "gdb", "lldb"})
_CHECKING = re.compile(
    r"(?:.*[._/-])?(?:tests?|check|checks|verify|lint|e2e|smoke|spec)(?:[._-].*)?"
)


@dataclass(frozen=True, slots=True)
class OwnScript:
    """A script or program of the project itself."""

    path: str


@dataclass(frozen=True, slots=True)
class OwnProgram:
    """A program under /tmp that a compiler earlier in the same script has put there."""

    path: str


Found = CommandRule | OwnScript | OwnProgram | None


def find_program(context: Context, name: str, cwd: str | None) -> Found:
    """Return the rule for a command name, a script of the project, or None for an extra command.

    Raises:
        RefusedError: nothing allows this command.
    """
    if "/" in name:
        return _by_path(context, name, cwd)
    rule = context.rules.commands.get(name)
    if name in context.settings.extra_commands(context.mode) and not (rule and rule.destructive):
        return None
    if rule is None:
        _refuse_other_profile(context, name)
        raise PolicyRefusalError(
            "command:unknown",
            f"{name} is not an allowed command. Use an allowed tool, a script of the project, or "
            "have it added to allowCommands in agent.json.",
        )
    return rule


def _refuse_other_profile(context: Context, name: str) -> None:
    """Tell a command that agent.json's `profile` leaves out from one that nobody knows."""
    if set(context.settings.profiles) >= set(ALL_PROFILES):
        return
    found = load_rules(ALL_PROFILES).commands.get(name)
    if found is not None:
        raise PolicyRefusalError(
            "command:unknown",
            f"{name} belongs to the profile {found.profile}, and agent.json names only "
            f"{', '.join(context.settings.profiles) or 'base'}. Use their tools, or have it added "
            "to profile there.",
        )


def is_checking_script(path: str) -> bool:
    """Whether a script's name says that it tests or checks (allowed in read-only sessions)."""
    if path.removeprefix("./") in _SERVERS:
        return True
    stem = PurePosixPath(path).stem
    if re.search(r"fix|update|write|generate|snapshot", stem.casefold()):
        return False
    return _CHECKING.fullmatch(stem.casefold()) is not None


def check_own_script(context: Context, path: str, cwd: str | None) -> None:
    """Refuse a script outside the project, and in sync one that may change files."""
    context.paths.project_file(path, cwd)
    context.paths.refuse_guarded(path, path)
    if context.mode == "sync" and not is_checking_script(path):
        raise PolicyRefusalError(
            "script:read-only",
            f"{path} may change files, and this session is read-only. Run the tests instead.",
        )


def _compiled_outside(context: Context, name: str) -> bool:
    """Whether a program under /tmp can only be what this script compiles from the project.

    A compiler writes it before it is first run, nothing else of the script writes it, and there
    is no file of somebody else in its place, which would be run when compiling fails.
    """
    path = context.paths.absolute(name, ".")
    if not name.startswith("/") or path != name or path != posixpath.normpath(name):
        return False
    if not context.paths.in_scratch(path):
        return False
    written = False
    for command in context.script:
        if any(name in _places(one.target.choices or (name,)) for one in _outputs(command)):
            return False
        texts = [word.text for word in command.words]
        first = texts[0] if texts else None
        if first in _COMPILERS and first not in context.functions and name in _written(texts):
            written = True
        elif (not written and name in texts) or _fills(context, command, name):
            return False
    return written and not context.paths.facts.is_foreign(path)


def _fills(context: Context, command: SimpleCommand, name: str) -> bool:
    """Whether a command could put something else there: it names the file or a folder above."""
    texts = [text for word in command.words for text in word.choices or ()]
    first = texts[0] if texts else None
    if (_wraps(context, first) or first in _SHELLS) and first not in _MANY_FILES:
        # What it runs: a word of its own, or a text for a shell.
        first = next((text for text in texts[1:] if text in _MANY_FILES), None)
        if first is None:
            return any(_SHELL_WRITES.search(text) for text in texts[1:])
    if first in _LOOKERS:
        return False
    places = _places(text for word in command.words[1:] for text in word.choices or ())
    above = places & {str(parent) for parent in PurePosixPath(name).parents}
    return name in places or bool(above and first in _MANY_FILES)


def _places(texts: Iterable[str]) -> set[str]:
    """The same places however they are written (`/tmp/./x`, `//tmp/x`, `of=/tmp/x`)."""
    plain = [re.sub(r"^(?:of=|-\w|--[\w-]+=)?/+", "/", text) for text in texts]
    return {posixpath.normpath(text) for text in plain if text}


def _outputs(command: SimpleCommand) -> list[Redirection]:
    return [one for one in command.redirections if ">" in one.operator]


def _written(texts: list[str | None]) -> set[str]:
    """What `-o FILE`, `-oFILE`, `-o:FILE`, `--out:FILE` or `-femit-bin=FILE` name."""
    found = {text for option, text in itertools.pairwise(texts) if option == "-o" and text}
    for text in texts:
        match = _OUTPUT_OPTION.fullmatch(text or "")
        found |= {match[1]} if match else set()
    return found


def _wraps(context: Context, name: str | None) -> bool:
    rule = context.rules.commands.get(name or "")
    return rule is not None and (rule.wrapper is not None or rule.name in _WRAPPING)


def _by_path(context: Context, name: str, cwd: str | None) -> CommandRule | OwnScript | OwnProgram:
    folder, _, base = posixpath.normpath(name).rpartition("/")
    commands = context.rules.commands
    if name.startswith("/") and folder in _SYSTEM_BIN and base in commands:
        return commands[base]
    inside = context.paths.absolute(folder or ".", cwd)
    if inside is not None and not context.paths.inside(inside):
        if context.mode == "run" and _compiled_outside(context, name):
            return OwnProgram(name)
        raise PolicyRefusalError(
            "command:outside",
            f"{name} is not in the project. Use the project's own programs; compile to /tmp and run "
            "it from there in one command (gcc -o /tmp/x x.c && /tmp/x).",
        )
    if base == "configure" and folder in ("", ".") and name.startswith("./"):
        return commands["configure"]
    if base in _WRAPPERS and folder in ("", ".") and _WRAPPERS[base] in commands:
        return commands[_WRAPPERS[base]]
    is_tool = _TOOL_FOLDERS.search(folder) or (folder == "bin" and base in _BINSTUBS)
    if is_tool and base in commands and commands[base].profile != "base":
        return commands[base]
    if _SCRIPT.fullmatch(name) or _BUILT.fullmatch(name):
        return OwnScript(name)
    own = _OWN_OUTPUT.fullmatch(name) or _just_built(context, name) or _at_root(context, name, cwd)
    if own and context.mode == "run" and not is_tool:
        return OwnScript(name)
    raise PolicyRefusalError(
        "command:path",
        f"{name} can't be run by its path. Call a tool by its name, or a script of the project "
        "ending in .sh.",
    )


def _at_root(context: Context, name: str, cwd: str | None) -> bool:
    """Whether `./NAME` is there: a program that an earlier command built, like `bin/NAME`."""
    path = context.paths.absolute(name, cwd)
    plain = re.fullmatch(r"\./\w[\w.-]*", name) is not None
    return plain and path is not None and context.paths.facts.exists(path)


def _just_built(context: Context, name: str) -> bool:
    """Whether a compiler earlier in the same script writes this file (`go build -o app`)."""
    wanted = name.removeprefix("./")
    for command in context.script:
        texts = [word.text for word in command.words]
        if texts[:2] == ["go", "build"] and "-o" not in texts:
            # Without -o it is named after the folder of the package.
            last = texts[-1] or ""
            if last.startswith("./") and last.rpartition("/")[2] == wanted and "/" not in wanted:
                return True
        if texts and texts[0] in _COMPILERS and "-o" in texts[:-1]:
            output = texts[texts.index("-o") + 1]
            if output is not None and output.removeprefix("./") == wanted:
                return True
    return False
