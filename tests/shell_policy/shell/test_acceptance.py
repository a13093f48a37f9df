"""What is understood, what is refused, and that bash itself agrees. Nothing is ever run."""

import contextlib
import json
import os
import random
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.shell_policy.shell import ShellParseError, analyse
from runner.shell_policy.shell.compound import parse
from runner.shell_policy.shell.limits import AnalysisBudget

STORM = os.environ.get("RUNNER_STORM") == "1"
COMMANDS: dict[str, list[str]] = json.loads(
    (Path(__file__).parent / "data" / "commands.json").read_text(encoding="utf-8")
)
PIECES = (
    "'", '"', "`", "$(", ")", "$((", "))", "${", "}", "{", "\\", ";", "&", "|", "&&", "||", ";;",
    "<", ">", "<<", "<<E", "EOF", "<(", ">(", ">&", "-", "#", "[[", "]]", "if", "then", "fi",
    "do", "done", "case", "in", "esac", "!", "=(", "a=", "[", "]", "((", "time", "coproc",
    "function", "f()", "$", "@", "*", "~", ",", "..", "for", "x", "<<-", "<<<", "$'", '$"', "|&",
    "&>", "1", "{fd}>", "x[", "else", "\n", "\\\n", " ", "\t", "\r", "E\nb\nE\n", "if ", "do ",
    "]] ", "! ",
)  # fmt: skip


def accepts(text: str) -> bool:
    try:
        parse(text, AnalysisBudget(), set())
    except ShellParseError:
        return False
    return True


def bash_objects(text: str) -> str:
    """What bash says about the text without running it; "" when it has no objection."""
    done = subprocess.run(
        ["/bin/bash", "-n", "-c", "--", text],
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=20,
        check=False,
    )
    return done.stderr or ("" if done.returncode == 0 else "failed")


def mutated(rng: random.Random, pool: list[str]) -> str:
    text = rng.choice(pool)
    for _ in range(rng.randrange(1, 5)):
        at = rng.randrange(len(text) + 1)
        kind = rng.random()
        if kind < 0.4:
            text = text[:at] + rng.choice(PIECES) + text[at:]
        elif kind < 0.65:
            text = text[:at] + text[at + rng.randrange(1, 4) :]
        elif kind < 0.85:
            other = rng.choice(pool)
            start = rng.randrange(len(other) + 1)
            text = text[:at] + other[start : start + rng.randrange(1, 12)] + text[at:]
        else:
            text += rng.choice(("\n", " ; ", " && ")) + rng.choice(pool)
    return text


def check_against_bash(seed: str, count: int) -> None:
    rng = random.Random(seed)  # noqa: S311
    pool = [*COMMANDS["everyday"], *COMMANDS["hostile"]]
    accepted = 0
    for _ in range(count):
        text = mutated(rng, pool)
        if accepts(text):
            accepted += 1
            assert bash_objects(text) == "", repr(text)
    assert accepted > count / 4


def test_nearly_every_everyday_command_is_understood() -> None:
    refused = [text for text in COMMANDS["everyday"] if not accepts(text)]

    assert len(refused) <= len(COMMANDS["everyday"]) * 0.005, refused


@pytest.mark.parametrize("text", COMMANDS["not_shell"])
def test_what_is_not_shell_is_refused(text: str) -> None:
    with pytest.raises(ShellParseError):
        analyse(text)


@pytest.mark.parametrize(
    "text",
    [
        "echo a\rEVIL",
        "ls # a\rEVIL",
        "ls\u00a0x",
        "ls\u2028x",
        "ls \x1b[0m",
        "echo \ud800",
        "ls &\\\n& EVIL",
        "ls 1\\\n>out",
        "i\\\nf true; then ls; fi",
        "PA\\\nTH=/tmp",
        "$\\\n(ls)",
        "cat <<EOF\nEO\\\nF\nEOF\n",
        "cat <<'EOF'\nx\nEOF\r\nEVIL\nEOF\n",
        "cat <<EOF",
        "(cat <<EOF)\nx\nEOF",
        "echo $({ cat <<EOF\nx\nEOF\n}; EVIL)",
        "echo $(cat <<EOF | cat; EVIL\nx\nEOF\n)",
        "echo $(cat <<EOF\nx\nEOF\nls; EVIL &\n)",
        "echo $[1+1]",
        "[[ -e> f ]]",
        "[[ -e&& x ]]",
        "[[ (-e) ]]",
        "[[ x && -f< f ]]",
        "echo $((1) )",
        "((a) )",
        "ls @(a|b)",
        "!(ls)",
        'echo "${x:-\'}"',
        "echo ${x:-{}}",
        "echo {a,b",
        "echo {a..}",
        "echo $'\\c?'",
        "{a[$x]}>out",
        "for ((i=0;i<1)); do ls; done",
        "echo x > {fd}>y",
        "if() { ls; }",
        "echo $z{a,b}c",
        "arr=()arr+=(x)",
        "function ls{ ls; }",
        "while ! do ls; done",
        "declare - >&A m=(x)",
        "f() ls",
        "a=(b) ls (c)",
        "case x in a) ls",
        "[[ a b ]]",
        "let x=(1)",
        "a[1 2]=3",
    ],
)
def test_what_can_be_read_in_two_ways_is_refused(text: str) -> None:
    with pytest.raises(ShellParseError):
        analyse(text)


def test_a_refusal_says_where_and_what_to_do() -> None:
    with pytest.raises(ShellParseError) as caught:
        analyse("ls; echo 'x")

    assert caught.value.position == 9
    assert caught.value.hint


def test_bash_accepts_what_is_accepted() -> None:
    check_against_bash("short", 250)


@pytest.mark.storm
@pytest.mark.timeout(1800)
@pytest.mark.skipif(not STORM, reason="long: set RUNNER_STORM=1")
def test_bash_accepts_what_is_accepted_in_a_storm() -> None:
    check_against_bash(os.environ.get("RUNNER_STORM_SEED", "storm"), 40_000)


@given(st.lists(st.sampled_from([*PIECES, "ls", "x", "EVIL", "=", "0"]), max_size=40).map("".join))
@settings(max_examples=1500 if STORM else 150, deadline=None)
def test_no_text_raises_anything_else(text: str) -> None:
    with contextlib.suppress(ShellParseError):
        analyse(text)


@given(st.text(max_size=60))
@settings(max_examples=1500 if STORM else 100, deadline=None)
def test_no_character_raises_anything_else(text: str) -> None:
    with contextlib.suppress(ShellParseError):
        analyse(text)
