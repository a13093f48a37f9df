"""What the analysis says of commands, words, directories and variables."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.shell_policy.shell import ShellParseError, analyse, tainted
from runner.shell_policy.shell.facts import ShellWord, SimpleCommand
from runner.shell_policy.shell.values import FRESH


def commands(text: str) -> list[SimpleCommand]:
    return list(analyse(text, variables={"HOME": "/home/u"}).commands)


def named(text: str, name: str) -> SimpleCommand:
    """The last command with this name."""
    return [one for one in commands(text) if one.words and one.words[0].text == name][-1]


def names(text: str) -> list[str | None]:
    return [one.words[0].text for one in commands(text) if one.words]


def arguments(text: str) -> list[ShellWord]:
    return list(named(text, "cmd").words[1:])


def texts(text: str) -> list[str | None]:
    return [word.text for word in arguments(text)]


@pytest.mark.parametrize(
    "text",
    [
        "EVIL", "ls; EVIL", "ls\nEVIL", "ls & EVIL", "ls && EVIL", "ls || EVIL", "ls | EVIL",
        "ls |& EVIL", "! EVIL", "time EVIL", "(EVIL)", "{ EVIL; }", "f() { EVIL; }", "E\\VIL",
        "function f { EVIL; }", "if EVIL; then ls; fi", "if ls; then EVIL; fi", "'EV'IL", '"EVIL"',
        "if ls; then :; elif EVIL; then :; fi", "if ls; then :; else EVIL; fi", "EV\\\nIL",
        "while EVIL; do :; done", "until ls; do EVIL; done", "for i in a; do EVIL; done",
        "for ((i=0; i<1; i++)); do EVIL; done", "select x in a; do EVIL; done", "$'\\x45VIL'",
        "case x in a) EVIL;; esac", "case x in a) ls;& b) EVIL;; esac", "coproc EVIL",
        "coproc N { EVIL; }", "echo $(EVIL)", "echo `EVIL`", 'echo "$(EVIL)"', "cat <(EVIL)",
        "ls > >(EVIL)", "echo ${x:-$(EVIL)}", 'echo "${x%"$(EVIL)"}"', "x=$(EVIL)", "x=$(EVIL) ls",
        "a=($(EVIL))", "cat <<E\n$(EVIL)\nE", "cat <<< `EVIL`", "[[ $(EVIL) == x ]]", "> f EVIL",
        "case $(EVIL) in *) ;; esac", "[[ x =~ $(EVIL) ]]", "eval EVIL", "eval 'ls; EVIL'",
        "trap 'EVIL' EXIT", "exit; EVIL", "echo `echo \\`EVIL\\``", "ls # x\nEVIL", "f() if EVIL; then :; fi",
        "cat <<A <<'B'\na\nA\nb\nB\nEVIL", "echo $'\\''; EVIL #'", "echo \"$'\"; EVIL #'\"",
        "echo ${x:-'}; no #'}; EVIL", "echo {a,$(EVIL)}", "declare -A m=([a]=$(EVIL))",
        "while read -r l; do :; done < <(EVIL)", "export X=$(EVIL)", "ls 2>&1&EVIL", "ls &>/dev/null&EVIL",
    ],
)  # fmt: skip
def test_a_command_is_found_in_every_place(text: str) -> None:
    assert "EVIL" in names(text)


@pytest.mark.parametrize(
    "text",
    ["echo EVIL", "echo 'a; EVIL'", "# EVIL", "cat <<'E'\n$(EVIL)\nE", "echo \\; EVIL", "x=EVIL"],
)
def test_data_is_not_a_command(text: str) -> None:
    assert "EVIL" not in names(text)


@pytest.mark.parametrize(
    "text", ["$x", '"$SHELL" -c x', "/bin/l?", "$(echo ls)", "${a[0]} x", "~x/y"]
)
def test_a_command_name_that_is_not_static_has_no_text(text: str) -> None:
    assert commands(text)[-1].words[0].text is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cmd {a,b}{1..3}", ["a1", "a2", "a3", "b1", "b2", "b3"]),
        ("cmd -{x,y}", ["-x", "-y"]),
        ("cmd x{01..03}y", ["x01y", "x02y", "x03y"]),
        ("cmd {3..1} {a..c} {1..5..2}", ["3", "2", "1", "a", "b", "c", "1", "3", "5"]),
        ("cmd {a,{b,c}} '{a,b}' {} {a} HEAD@{1}", ["a", "b", "c", "{a,b}", "{}", "{a}", "HEAD@{1}"]),
        ("cmd a\\ b 'c d'\"e\" $'f\\tg'", ["a b", "c de", "f\tg"]),
        ("cmd ~ ~/x '~' a~", ["/home/u", "/home/u/x", "~", "a~"]),
        ('x="a b"; cmd $x "$x" p$x', ["a", "b", "a b", "pa", "b"]),
        ('x=; cmd $x "$x"', [""]),
        ('a=(x "y z"); cmd "${a[@]}"', ["x", "y z"]),
        ('set -- a b; shift; cmd "$@" $1 $2', ["b", "b"]),
        ("f=d/n.py; cmd ${f%.py} ${f##*/} ${f%/*}", ["d/n", "n.py", "d"]),
        ("cmd \"$(cat <<'E'\na $b\nE\n)\"", ["a $b"]),
        ("find . >&--delete; cmd >&-x", ["x"]),
        ("cmd a#b \\#c # d", ["a#b", "#c"]),
    ],
)  # fmt: skip
def test_words_become_what_bash_makes_of_them(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


def test_a_loop_variable_has_the_values_of_the_list() -> None:
    (word,) = arguments("for d in a b; do cmd $d; done")

    assert word.choices == ("a", "b")
    assert not word.splits


def test_branches_join() -> None:
    (word,) = arguments("x=a; if ls; then x=b; fi; cmd p/$x")

    assert set(word.choices or ()) == {"p/b", "p/a"}
    assert word.prefix == "p/"


def test_an_unquoted_unknown_value_splits_and_has_no_prefix() -> None:
    (word,) = arguments("cmd src/$x")

    assert (word.choices, word.prefix, word.splits) == (None, "", True)


def test_a_quoted_unknown_value_keeps_its_prefix() -> None:
    (word,) = arguments('cmd "src/$x"')

    assert (word.choices, word.prefix, word.splits) == (None, "src/", False)


@pytest.mark.parametrize("text", ['cmd "$*"', 'x=$@; cmd "$x"', 'a=(1 2); cmd "${a[*]}"'])
def test_a_list_that_is_joined_is_not_one_of_its_elements(text: str) -> None:
    (word,) = arguments("set -- a b; " + text)

    assert word.choices is None
    assert not word.numeric


def test_a_glob_is_marked_and_keeps_its_prefix() -> None:
    first, second = arguments("cmd src/*.py '*.py'")

    assert (first.glob, first.prefix, first.text) == (True, "src/", None)
    assert (second.glob, second.text) == (False, "*.py")


@pytest.mark.parametrize(
    "text", ["$((x+1))", "$#", "$?", "${#x}", "$(wc -l <f)", "$(date +%s)", "$!"]
)
def test_what_can_only_be_a_number_is_numeric(text: str) -> None:
    (word,) = arguments(f'cmd "{text}"')

    assert word.numeric


@pytest.mark.parametrize("text", ["$x", "$(wc -l f)", "$(cat f)", "$1", "$(date)", "${x:-5}"])
def test_what_may_be_a_text_is_not_numeric(text: str) -> None:
    (word,) = arguments(f'cmd "{text}"')

    assert not word.numeric


@pytest.mark.parametrize(
    "text",
    [
        "f() { cmd $x; }; x=b; f", "x=a; f() { x=b; }; f; cmd $x", "x=a; trap 'cmd $x' EXIT; x=b",
        "x=a; for i in 1 2; do cmd $x; x=b; done", "x=a; while ls; do x=b; continue; done; cmd $x",
        "x=a; y && x=b; cmd $x", "x=a; case $y in 1) x=b;; esac; cmd $x", "x=a; eval x=b; cmd $x",
        "x=a; printf -v x b; cmd $x", "x=a; read x; cmd $x", "x=a; x=${y:=b}; cmd $x",
        "readonly x=b; x=a; declare x=a; cmd $x", "x=a; export x=b; cmd $x", "x=a; y=x; read $y; cmd $x",
        "x=; y=${x:=b} ls; cmd $x", "x=a; . f; cmd $x",
    ],
)  # fmt: skip
def test_a_value_given_elsewhere_is_not_overlooked(text: str) -> None:
    found = [one.words[1] for one in commands(text) if one.words and one.words[0].text == "cmd"]

    assert any(word.choices is None or "b" in word.choices for word in found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cmd", (".",)),
        ("cd src && cmd", ("src",)),
        ("cd src; cmd", ("src", ".")),
        ("cd src || exit 1; cmd", ("src",)),
        ("cd src || return; cmd", ("src", ".")),
        ("cd src || exit --help; cmd", ("src", ".")),
        ("set -e; cd src; cmd", ("src",)),
        ("set -e; { cd src && ls; }; cmd", ("src", ".")),
        ("set -e; x=$(cd src; cmd)", ("src", ".")),
        ("(cd src); cmd", (".",)),
        ("cd src && (cd a && ls); cmd", ("src", ".")),
        ("cd src & cmd", (".",)),
        ("cd a && cd ../b && cmd", ("b",)),
        ("cd /tmp/x && cmd", ("/tmp/x",)),
        ("cd && cmd", ("/home/u",)),
        ("cd ~/p && cmd", ("/home/u/p",)),
        ("if cd src; then cmd; fi", ("src",)),
        ("! cd src || cmd", ("src",)),
        ("for d in a b; do (cd $d && cmd); done", ("a", "b")),
        ("command cd src && cmd", ("src",)),
        ('cd "$x" && cmd', None),
        ("cd - && cmd", None),
        ("cd *x && cmd", None),
        ("cd -P x && cmd", None),
        ("CDPATH=/; cd x && cmd", None),
        ("for d in a b; do cmd; cd $d; done", None),
        ("f() { cd /; }; f; cmd", None),
        ("f() { cmd; }; cd x; f", None),
        ("popd && cmd", None),
    ],
)
def test_the_working_directory_is_followed(text: str, expected: tuple[str, ...] | None) -> None:
    found = named(text, "cmd")

    assert found.cwds == expected
    assert found.cwd == (expected[0] if expected is not None and len(expected) == 1 else None)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("PATH=x", "PATH"), ("PATH=x ls", "PATH"), ("export PATH=x", "PATH"), ("read PATH", "PATH"),
        ("for PATH in a; do :; done", "PATH"), ("printf -v PATH x", "PATH"), ("mapfile PATH", "PATH"),
        ("getopts a PATH", "PATH"), ("select PATH in a; do :; done", "PATH"), ("unset PATH", "PATH"),
        ("wait -p PATH", "PATH"), ("((PATH=1))", "PATH"), ("echo $((PATH++))", "PATH"),
        ("echo ${PATH:=x}", "PATH"), ("coproc PATH { ls; }", "PATH"), ("exec {PATH}>f", "PATH"),
        ("declare -x PATH=x", "PATH"), ("readonly PATH=x", "PATH"), ("PATH+=x", "PATH"),
        ("let PATH=1", "PATH"), ("read -a PATH", "PATH"), ("read -rp '' PATH", "PATH"),
        ("eval PATH=x", "PATH"), ("x=PATH; read $x", "PATH"), ("BASH_CMDS[ls]=x", "BASH_CMDS"),
        ("command export PATH=x", "PATH"), ("builtin read PATH", "PATH"),
    ],
)  # fmt: skip
def test_every_way_to_assign_is_reported(text: str, name: str) -> None:
    assert name in {one.name for found in commands(text) for one in found.assignments}


@pytest.mark.parametrize(
    "text",
    [
        "echo $(($(cat f)))", "x=$(cat f); echo $((x))", "x='a[$(E)]'; ((x))", "read x; ((x+1))",
        "x=$(cat f); echo ${a[x]}", "x=$(cat f); echo ${s:x}", "x=$(cat f); [[ $x -eq 1 ]]",
        "f() { echo $(($1)); }", "test -v 'a[$(E)]'", '[ -v "$x$1" ]', "x=$(cat f); [ $x = 1 ]",
        "printf -v 'a[$(E)]' x", "read 'a[$(E)]'", "unset 'a[$(E)]'", "declare 'a[$(E)]=1'",
        "declare -i n; read n", 'let "$(cat f)"', "declare -n r=x", "echo ${x@P}", "echo ${!x}",
        "mapfile -C E x", "cd() { ls; }", "shopt -s lastpipe", "shopt -s expand_aliases", "set -k",
        "set +B", "set -o posix", "root='a[$(E)]'; echo $((USER))", "f() { :; }; unset -f f",
        "declare -a a='($(E))'", "trap 'cd /tmp' DEBUG", "x=cd; y && x=ls; $x /",
        "x=$(cat f); a[x]=1", "for i in $(cat f); do ((i)); done", "_=ls; echo $((_))",
    ],
)  # fmt: skip
def test_data_that_bash_would_evaluate_is_refused(text: str) -> None:
    with pytest.raises(ShellParseError):
        analyse(text)


@pytest.mark.parametrize(
    "text",
    [
        "x=5; echo $((x * 2))", "i=0; while ((i < 3)); do ((i++)); done", "[ $? -eq 0 ]", "((n++))",
        "n=$(wc -l < f | tr -d ' '); t=$((t + n))", "N=$(jq '.a | length' f); echo $((N*100/7))",
        "until [[ $((++n)) -ge 3 ]]; do :; done", "x=${y//[^0-9]/}; ((x))", '[ "$x" -gt 3 ]',
        'declare -A m=([k]=1); for k in "${!m[@]}"; do echo "${m[$k]}"; done', "((10#$x))",
        "arr=(a b); echo ${arr[i]} ${arr[-1]}", "[[ -v x ]]", 'test -n "$1"',
    ],
)  # fmt: skip
def test_everyday_arithmetic_is_understood(text: str) -> None:
    assert analyse(text).commands is not None


def test_a_here_document_is_known_standard_input() -> None:
    found = named("bash <<'E'\nrm x\nE", "bash")

    assert found.stdin == "rm x\n"
    assert not found.piped


def test_a_pipe_and_the_background_are_marked() -> None:
    first, second = commands("ls | cmd &")

    assert (first.piped, second.piped) == (False, True)
    assert first.background
    assert second.background


def test_redirections_of_a_group_reach_the_commands_in_it() -> None:
    found = named("{ ls; cmd; } < in > out", "cmd")

    assert [(one.operator, one.target.text) for one in found.redirections] == [
        ("<", "in"),
        (">", "out"),
    ]


def test_functions_are_named() -> None:
    assert analyse("f() { :; }; function g { f; }; g").functions == {"f", "g"}


@pytest.mark.parametrize(
    "text",
    [
        "(f() { :; }); f",
        "if x; then f() { :; }; fi; f",
        "x && f() { :; }; f",
        "f; f() { :; }",
        "g() { f; }; g; f() { :; }",
        "trap 'f' EXIT; f() { :; }",
        "f() { :; } & f",
        "for i in a; do f() { :; }; done; f",
    ],
)
def test_a_function_that_may_not_be_defined_is_not_named(text: str) -> None:
    assert "f" not in analyse(text).functions


def test_functions_may_call_each_other_before_they_are_defined() -> None:
    assert analyse("g() { f; }; f() { :; }; g").functions == {"f", "g"}


def test_a_file_of_a_pattern_keeps_the_patterns_prefix() -> None:
    (word,) = arguments('for f in src/*.py; do cmd "$f"; done')

    assert (word.choices, word.prefix, word.splits) == (None, "src/", False)


def test_a_nested_script_does_not_trust_what_it_is_given() -> None:
    outer = named("n=$(cat f); cmd", "cmd")

    with pytest.raises(ShellParseError):
        analyse("echo $((n))", scope=outer.scope)


def test_a_tainted_name_is_not_trusted() -> None:
    with pytest.raises(ShellParseError):
        analyse("echo $((n))", scope=tainted({}, ["n"]))


def test_after_a_change_of_ifs_nothing_unquoted_is_known() -> None:
    (word,) = arguments("x=a5b; IFS=5; cmd $x")

    assert (word.choices, word.splits) == (None, True)


SCRIPTS = st.sampled_from(
    [
        "ls; {}", "{}; ls", "ls && {}", "( {} )", "if ls; then {}; fi", "f() {{ {}; }}", "x=$( {} )",
        "for i in a; do {}; done", 'echo "$( {} )"', "cat <( {} )", "eval '{}'", "ls | {}", "ls\n{}",
    ]
)  # fmt: skip


@given(st.lists(SCRIPTS, max_size=5))
@settings(max_examples=60, deadline=None)
def test_a_command_is_found_however_deep(frames: list[str]) -> None:
    text = "EVIL"
    for frame in frames:
        if "'" not in text or "'" not in frame:
            text = frame.format(text)

    assert "EVIL" in names(text)


@given(st.text(alphabet="ab-*$ {},~'\"\\`;#\n", max_size=12))
@settings(max_examples=150, deadline=None)
def test_any_text_survives_single_quotes(value: str) -> None:
    quoted = "'" + value.replace("'", "'\\''") + "'"

    assert texts(f"cmd {quoted}") == [value]


@pytest.mark.parametrize(
    "text",
    [
        'f() { "$@"; }; f EVIL', 'f() { "$@"; }; f ls; f EVIL', 'f() { "$@"; }; g() { f "$@"; }; g EVIL',
        'f() { shift; "$@"; }; f ls EVIL', 'f() { local l="$1"; shift; "$@"; }; f a EVIL',
        'f() { "$@"; }; trap "f EVIL" EXIT', 'f() { "$@"; }; eval "f EVIL"', '(f() { "$@"; }; f EVIL)',
        'f() { "$1"; }; f EVIL', 'f() { for c in "$@"; do "$c"; done; }; f EVIL',
        'f() { "${@:2}"; }; f ls EVIL', "a=(ls EVIL); unset 'a[0]'; \"${a[@]}\"", 'f() { "${@:0}"; }; f x',
        'f() { "$@"; }; echo "$(f EVIL)"', 'f() { "$@"; }; f ls | f EVIL', 'f() { "${@:-EVIL}"; }; f',
    ],
)  # fmt: skip
def test_what_a_function_is_given_to_run_is_found(text: str) -> None:
    assert "EVIL" in names(text) or None in names(text)


def test_a_function_runs_exactly_what_its_calls_give_it() -> None:
    assert names('f() { "$@"; }; f pa x; f pb') == ["pa", "pb", "f", "f"]


def test_a_function_without_a_call_has_unknown_parameters() -> None:
    assert names('f() { "$@"; }') == [None]


def test_a_trap_knows_what_was_set_before_it() -> None:
    assert texts("x=a; trap 'cmd $x' EXIT") == ["a"]


def test_what_a_trap_finds_unset_is_empty_or_what_is_set_later() -> None:
    (word,) = arguments("trap 'cmd \"$x\"' EXIT; x=a")
    assert set(word.choices or ()) == {"", "a"}


@pytest.mark.parametrize(
    "text",
    ["f() { f | f & }; f", "f() { f & }; f", "f() { g | cat; }; g() { f; }; f", "f() { { f; } & }; f"],
)  # fmt: skip
def test_a_function_that_starts_itself_beside_itself_is_refused(text: str) -> None:
    with pytest.raises(ShellParseError, match="starts itself"):
        analyse(text)


def test_a_function_may_call_itself_in_sequence() -> None:
    assert "ls" in names("f() { [ $# -eq 0 ] && return; ls; shift; f; }; f a b")


def test_positional_parameters_that_are_told_are_known() -> None:
    found = analyse(
        'cmd "$2" "$1"', arguments=(ShellWord.literal("a"), ShellWord.literal("b"))
    ).commands

    assert [word.text for word in found[-1].words] == ["cmd", "b", "a"]


@pytest.mark.parametrize(
    ("text", "reader"),
    [("cmd | head", "head"), ("cmd x | tail | head", "tail"), ("cmd", ""), ("(cmd) | head", ""),
     ("cmd | { head; }", ""), ("echo $(cmd) | head", ""), ("head | cmd", "")],
)  # fmt: skip
def test_a_command_knows_what_reads_its_output(text: str, reader: str) -> None:
    assert named(text, "cmd").feeds == reader


@pytest.mark.parametrize(
    ("text", "empty"),
    [('d=$(mktemp -d) && cmd "$d/"', False), ('set -e; d=$(mktemp -d); cmd "$d/"', False),
     ('d=$(mktemp -d); cmd "$d/"', True), ('! d=$(mktemp -d) && cmd "$d/"', True),
     ('d=$(mktemp -d)$(true) && cmd "$d/"', True), ('local d=$(mktemp -d) && cmd "$d/"', True)],
)  # fmt: skip
def test_a_temporary_folder_is_there_after_its_success(text: str, empty: bool) -> None:
    (word,) = arguments(text)
    assert any(FRESH in choice for choice in word.choices or (FRESH,)) == empty


def test_an_extended_pattern_is_understood_in_a_condition() -> None:
    assert names("[[ $x == @(a|b)* ]] && ls")[-1:] == ["ls"]


def test_process_ids_that_a_loop_collects_are_numbers() -> None:
    text = 'for i in a b; do sleep 1 & pids+=($!); done; for p in "${pids[@]}"; do cmd "$p"; done'
    assert arguments(text)[0].numeric
