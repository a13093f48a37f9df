"""No text, however large or odd, is worked on for long: the bounds are counts, so they hold."""

import pytest

from runner.shell_policy.shell import ShellParseError, analyse
from runner.shell_policy.shell.limits import MAX_BYTES

SIZE = MAX_BYTES - 1


def filled(text: str) -> str:
    return (text * (SIZE // len(text) + 1))[:SIZE]


@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000, "a;" * 500_000, filled("$("), filled("("), filled("a;"), filled("a "),
        filled("{a,b}"), filled("{a,"), filled("cat <<E\n"), filled("`a \\`b "), filled("${a:-"),
        filled("[[ ( "), filled(">a "), filled("a|"), filled("$a"), filled("a+=$a;"), "{1..999999999}",
        filled("if a; then x=1;"), filled("f() { "), filled("<("), filled("'a'"), "echo " + filled("\\a"),
        filled("y && x=$x$RANDOM;"), "eval '" + filled("a;")[:-10] + "'", "a{1..5000}" + "b{c}" * 20_000,
        ";".join(f"y && a{i}={i}" for i in range(5000)),
    ],
)  # fmt: skip
def test_what_is_too_much_is_refused(text: str) -> None:
    with pytest.raises(ShellParseError):
        analyse(text)


@pytest.mark.parametrize("text", ["a" * 100_000, "'" + "a\n" * 50_000 + "'", "# " + "x" * 100_000])
def test_what_is_large_but_simple_is_understood(text: str) -> None:
    assert analyse(text).functions == frozenset()
