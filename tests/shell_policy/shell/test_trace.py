"""Against real bash: every program that it runs is one that the analysis listed.

The scripts are made of probes, programs in a scratch folder that only write down how they were
called, and of built-ins that touch nothing outside that folder. `PATH` holds nothing else.
"""

import os
import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.shell_policy.shell import ShellParseError, analyse, shapes
from runner.shell_policy.shell.facts import ShellScript, ShellWord, SimpleCommand

STORM = os.environ.get("RUNNER_STORM") == "1"
TOOLS = (
    "cat",
    "basename",
    "dirname",
    "ls",
    "seq",
    "find",
    "wc",
    "grep",
    "cut",
    "head",
    "sort",
    "date",
)
PROBES = ("pa", "pb", "pc", "pd")
VARIABLES = ("x", "y", "z", "n")
TEXTS = (
    "a",
    "b1",
    "-rf",
    "a b",
    "",
    "*",
    "sub/f1",
    "--opt=v",
    "{p,q}",
    "$x",
    "it`s",
    "5",
    "07",
    "#h",
)


def pick(rng: random.Random, *options: str) -> str:
    return rng.choice(options)


def quoted_text(rng: random.Random, depth: int) -> str:
    text = rng.choice(TEXTS)
    if rng.random() < 0.4:
        return "'" + text + "'"
    if rng.random() < 0.3:
        return "$'" + text + pick(rng, "", "\\t", "\\x41", "\\'") + "'"
    inner = text.replace("`", "\\`").replace("$", pick(rng, "\\$", "$"))
    return '"' + inner + (expansion(rng, depth) if rng.random() < 0.4 else "") + '"'


def expansion(rng: random.Random, depth: int) -> str:
    name = rng.choice(VARIABLES)
    simple = (
        f"${name}", f"${{{name}}}", f"${{{name}:-d}}", f"${{{name}%b*}}", f"${{#{name}}}",
        f"${{{name}:=e f}}", f"${{{name}+g}}", f"${{{name}/a/b}}", f"${{{name}##*/}}",
        "$1", "$@", "$*", "$#", "$?", f"${{{name}^^}}", "${arr[@]}", "${arr[0]}", "${#arr[@]}",
        '"${arr[@]:1}"', '"${@:2}"', '"${@:1:1}"', '"${@}"', "${@: -1}",
        f"${{{name}:1:2}}", f"${{{name}//[^0-9]/}}", f"${{{name}%1}}", f"${{{name}%.*}}",
        f"${{{name}#sub/}}", f'$(basename "${name}")', f"$(basename ${name} 1)",
        f'$(dirname "${name}")', "$(ls)", "$(ls sub)", "$(find sub -name '*1')", "$(seq 1 3)",
        "$(find . -name '*.q')", "$(wc -l < f1)", "$(grep -n l f1 | cut -d: -f1)", "$(date +%F)",
        "$(grep -c l f1)", "$(grep -rl l sub | head -1)", "$((n+1))",
    )  # fmt: skip
    if depth <= 0 or rng.random() < 0.6:
        return rng.choice(simple)
    inner = script(rng, depth - 2).rstrip("\n")
    forms = (
        f"$({inner}\n)",
        "`pa i`",
        f"$(( {arithmetic(rng)} ))",
        f"${{{name}:-$(pb q)}}",
        "$(pwd)",
        "$(cat <<'E'\nh i\nE\n)",
    )
    return rng.choice(forms)


def arithmetic(rng: random.Random) -> str:
    name = rng.choice(("n", "i", "k"))
    return rng.choice(("1+2", f"{name}+1", f"{name}=3", f"{name}++", "2>1?4:5", "-7", f"${name}*2"))


def word(rng: random.Random, depth: int) -> str:
    pieces: list[str] = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        kind = rng.random()
        if kind < 0.4:
            pieces.append(pick(rng, "a", "b1", "-rf", "f", "x=1", "sub", ".", "a\\ b", "\\$x", "0"))
        elif kind < 0.6:
            pieces.append(quoted_text(rng, depth))
        elif kind < 0.85:
            pieces.append(expansion(rng, depth))
        else:
            pieces.append(
                pick(
                    rng, "*", "f?", "[fg]*", "{a,b}", "{1..3}", "{a,'b c'}{d,$x}", "{a}", "{}", "~"
                )
            )
    return "".join(pieces)


def redirection(rng: random.Random) -> str:
    return pick(
        rng, ">out", "2>&1", ">&2", "2>/dev/null", "</dev/null", ">>out", "<<<'h s'", "&>out",
        ">&-", ">&-a", "<&-", "{fd}>out", ">| out",
    )  # fmt: skip


def simple(rng: random.Random, depth: int) -> str:
    kind = rng.random()
    name = rng.choice(VARIABLES)
    if kind < 0.16:
        return f"{name}{pick(rng, '=', '=', '+=')}{word(rng, depth)}"
    if kind < 0.36:
        return builtin(rng, depth, name)
    words = [rng.choice(PROBES)] + [word(rng, depth) for _ in range(rng.randrange(4))]
    if rng.random() < 0.15:
        words.insert(0, pick(rng, "x=q", "command", "y='a b'", "IFS=1"))
    if rng.random() < 0.2:
        words.insert(rng.randrange(len(words) + 1), redirection(rng))
    if rng.random() < 0.06:
        words[-1] += "\\\n" + pick(rng, "", "tail", " more")
    if rng.random() < 0.06:
        body = pick(rng, "one $x", "two `pa hd`", "three\\\nfour", "$(pb hd)", "plain 'q")
        return " ".join(words) + f" <<{pick(rng, 'EOF', '-EOF')}\n{body}\nEOF"
    return " ".join(words)


def builtin(rng: random.Random, depth: int, name: str) -> str:
    return pick(
        rng,
        "arr=(a 'b c' $x)", "arr+=(k)", f"arr=({word(rng, depth)})", "arr[0]=v",
        f"read -r {name} y <<< 'r1 r2 r3'", f'read {name} <<< "$x"', f"printf -v {name} '%s' pv",
        f"export {name}={word(rng, depth)}", f"declare {name}=dv", f"unset {name}", "unset 'arr[0]'",
        f"cd {pick(rng, 'sub', 'nosuch', '..', '.', 'sub/deep')}", "cd - >/dev/null", "cd",
        f"set -- {word(rng, depth)} s2", "shift", f"(( {arithmetic(rng)} ))", "true", "false", ":",
        "let n=n+1", f'[ -n "{expansion(rng, depth)}" ]', f"[[ {name} == a* ]]", "set -e", "set -f",
        f"eval 'pa ev; {name}=E'", f'eval "{name}=e2; pb \\${name}"', "trap 'pc tr \"$x\"' EXIT",
        "mapfile -t arr <<< $'l1\\nl 2'", f"local {name}=l", f"IFS={pick(rng, ',', 'b', '5')}",
        f"{{ {name}=g; }} | pa", "cd nosuch || return; pa r",
        "cd nosuch || exit --help; pa x", "x=${y:=gy} pb", "set -e; cd sub; pb se", "f1 || cd sub",
        "exit", "return", "break", "continue", "f1", "f1 a $y", "f2 'q r'", "f3 pa a $x", "f3 pb",
        "f4 l pa a", "f4 $y pc b", f'f3 pa "{word(rng, 0)}"', "mapfile -t arr < <(ls)",
        "wait", "readonly ro=1", "[[ $x =~ ^(a|b1) ]]", f"getopts ab {name} -a -b",
    )  # fmt: skip


def compound(rng: random.Random, depth: int) -> str:
    def inner() -> str:
        return script(rng, depth - 1).rstrip("\n")

    name = rng.choice(VARIABLES)
    kind = rng.randrange(16)
    if kind == 0:
        return f"if {inner()}\nthen {inner()}\nelse {inner()}\nfi"
    if kind == 1:
        return f"for {name} in {word(rng, depth)} {word(rng, 0)}; do\n{inner()}\ndone"
    if kind == 2:
        return f"for ((i=0; i<2; i++)); do {inner()}\ndone"
    if kind == 3:
        count = f"k{depth}"
        return f"{count}=0; while (( {count}++ < 2 )); do {inner()}\ndone"
    if kind == 4:
        return f"( {inner()}\n)"
    if kind == 5:
        return "{ " + inner() + "\n} " + pick(rng, "", "2>/dev/null", "<<< gs", "| pa")
    if kind == 6:
        return (
            f"case {word(rng, 0)} in a*|b) {inner()}\n;{pick(rng, ';', '&', ';&')} (*) pb cs;; esac"
        )
    if kind == 7:
        return f"while read -r {name}; do {inner()}\ndone <<< $'w1 a\\nw2'"
    if kind == 8:
        return f"pa {pick(rng, '<', '>')}( {inner()}\n)"
    if kind == 9:
        return f"{inner()}\n! pb n && {simple(rng, 0)} || {simple(rng, 0)}"
    if kind == 10:
        return f"for {name}; do {inner()}\ndone"
    if kind == 12:
        listing = pick(rng, "ls", "ls sub", "find sub -name '*1'", "grep -l l f1 g", "ls | sort")
        return f"{listing} | while read -r {name}; do {inner()}\ndone"
    if kind == 13:
        return (
            f"for {name} in {pick(rng, 'sub/*', '*.q', 'f? g', './*1', '*/')}; do {inner()}\ndone"
        )
    if kind == 14:
        return f"while read -r {name}; do {inner()}\ndone < <(ls sub)"
    if kind == 11:
        return f"time {simple(rng, 0)}"
    return f"coproc {{ {inner()}\n}}\nwait"


def command(rng: random.Random, depth: int) -> str:
    if depth > 0 and rng.random() < 0.3:
        return compound(rng, depth)
    return simple(rng, depth)


def script(rng: random.Random, depth: int) -> str:
    text = ""
    for _ in range(rng.choice((1, 1, 2, 3))):
        one = command(rng, depth)
        last_line = one.rpartition("\n")[2]
        if last_line == "EOF":
            text += one + "\n"
        else:
            text += one + pick(rng, "\n", "; ", "\n", " # c\n", " && ", " | ", " &\n", " || ")
    if not text.endswith("\n"):
        text += command_tail(rng)
    return text


def command_tail(rng: random.Random) -> str:
    return rng.choice(PROBES) + " end\n"


def whole(rng: random.Random) -> str:
    functions = ""
    for name in ("f1", "f2"):
        if rng.random() < 0.4:
            body = script(rng, 1).replace("f1", "pd").replace("f2", "pd")
            functions += f"{name}() {{ {body}}}\n"
    if rng.random() < 0.3:
        functions += pick(rng, 'f3() { "$@"; }\n', 'f3() { pd "$1" "$#"; "$@" | pd; }\n')
        functions += pick(
            rng, 'f4() { local m="$1"; shift; "$@"; }\n', 'f4() { shift; f3 "$@"; }\n'
        )
    return functions + script(rng, 3)


def fits(shape: str, arg: str) -> bool:
    """Whether a text fits a shape, read in the widest way that the documentation allows."""
    holes = {
        shapes.DIGITS: r"[0-9\s]*", shapes.SIGNED: r"[-0-9\s]*", shapes.NAME: "[^/]*",
        shapes.LISTED: "(?!/).*", shapes.COMMIT: "[^/-]?.*",
    }  # fmt: skip
    pattern = "".join(holes.get(char) or re.escape(char) for char in shape)
    return re.fullmatch(pattern, arg, re.DOTALL) is not None


def one_arg(word_: ShellWord, arg: str) -> bool:
    """Whether the argument is one that the word may become (one of)."""
    if word_.glob:
        if word_.choices is not None and arg in word_.choices:
            return True
        return arg.startswith("" if word_.splits else word_.prefix)
    if word_.choices is not None:
        return arg in word_.choices
    if word_.numeric:
        lines = arg.split()
        return all(line.lstrip("-" if word_.signed else "").isdigit() for line in lines)
    if word_.shapes and not word_.splits:
        return any(fits(shape, arg) for shape in word_.shapes)
    if word_.shapes and all(shape[:1] not in ("/", "-", "~") for shape in word_.shapes):
        # Cut at its blanks, a relative path remains one.
        return not arg.startswith("/")
    return word_.splits or arg.startswith(word_.prefix)


def matches(words: tuple[ShellWord, ...], args: list[str]) -> bool:
    """Whether the words can become exactly these arguments."""
    reachable = {0}
    for one in words:
        following: set[int] = set()
        for start in reachable:
            if not (one.splits or one.glob):
                if start < len(args) and one_arg(one, args[start]):
                    following.add(start + 1)
                continue
            following.add(start)
            end = start
            while end < len(args) and one_arg(one, args[end]):
                end += 1
                following.add(end)
        reachable = following
    return len(args) in reachable


def unwrapped(command_: SimpleCommand) -> tuple[ShellWord, ...]:
    words = command_.words
    while words and words[0].text == "command":
        words = words[1:]
    return words


def listed(found: ShellScript, args: list[str], cwd: str) -> bool:
    """Whether one of the commands covers a program that was run, and where it was run."""
    for one in found.commands:
        here = one.cwds is None or cwd in one.cwds
        if here and matches(unwrapped(one), args):
            return True
    return False


class Scratch:
    """A folder in which scripts of probes are run."""

    def __init__(self, root: Path) -> None:
        self.logs = root / "logs"
        self.logs.mkdir(parents=True)
        self.runs = 0
        self.bin = root / "bin"
        self.start = root / "start"
        self.bin.mkdir(parents=True)
        recorder = '#!/bin/sh\nprintf "%s\\0" "$PWD" "${0##*/}" "$@" "<end>" >> "$PROBE_LOG"\n'
        for name in PROBES:
            (self.bin / name).write_text(recorder + "echo o1 'o 2'\n")
            (self.bin / name).chmod(0o755)
        for name in TOOLS:
            (self.bin / name).symlink_to(shutil.which(name) or f"/bin/{name}")
        (self.start / "sub" / "deep").mkdir(parents=True)
        for name in ("f1", "g", "-x", "sub/f1", "a b.q", "c.q", "sub/.h1", "sub/-y1"):
            (self.start / name).write_text("l\nm l\n")

    def run(self, text: str) -> list[list[str]]:
        """Run a script; the calls it made, each with the folder first."""
        self.runs += 1
        # A file for each run: what an earlier script left in the background writes to its own.
        log = self.logs / str(self.runs)
        log.touch()
        environment = {
            "PROBE_LOG": str(log),
            "PATH": str(self.bin),
            "HOME": str(self.start),
            "FUNCNEST": "5",
            "LC_ALL": "C.UTF-8",
        }
        limited = 'ulimit -t 1 -f 200; exec /bin/bash -c "$1"'
        try:
            subprocess.run(
                ["/bin/bash", "-c", limited, "limited", text],
                cwd=self.start, env=environment, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=5, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return []
        records = log.read_bytes().decode(errors="replace").split("<end>\0")
        # What follows the last mark was cut off by the limits.
        return [record.split("\0")[:-1] for record in records[:-1]]

    def relative(self, folder: str) -> str:
        path = Path(folder)
        return str(path.relative_to(self.start)) if path.is_relative_to(self.start) else folder


def unlisted(scratch: Scratch, text: str) -> tuple[list[list[str]], int] | None:
    """The calls that the analysis missed and how many there were; None for a refused script."""
    try:
        found = analyse(text, variables={"HOME": str(scratch.start)})
    except ShellParseError:
        return None
    calls = scratch.run(text)
    missed = [
        call
        for call in calls
        if not listed(found, call[1:], scratch.relative(call[0]))
        and not listed(found, call[1:], call[0])
        and not listed(found, call[1:], os.path.relpath(call[0], scratch.start))
    ]
    return missed, len(calls)


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    return Scratch(tmp_path)


def seeds(count: int) -> Iterator[random.Random]:
    base = int(os.environ.get("RUNNER_STORM_SEED", "1"))
    for number in range(count):
        yield random.Random(f"{base}/{number}")  # noqa: S311


def check(scratch: Scratch, count: int) -> None:
    understood = calls = 0
    for rng in seeds(count):
        text = whole(rng)
        result = unlisted(scratch, text)
        if result is not None:
            missed, made = result
            assert not missed, f"{text}\nran {missed}"
            understood += 1
            calls += made
    assert understood > count / 4
    assert calls > count / 2


def test_every_program_that_bash_runs_is_listed(scratch: Scratch) -> None:
    check(scratch, 120)


@pytest.mark.storm
@pytest.mark.timeout(1800)
@pytest.mark.skipif(not STORM, reason="long: set RUNNER_STORM=1")
def test_every_program_that_bash_runs_is_listed_in_a_storm(scratch: Scratch) -> None:
    check(scratch, int(os.environ.get("RUNNER_STORM_COUNT", "20000")))
