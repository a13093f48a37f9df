"""Texts with holes: what loops, listings and numbers leave known of a word."""

import fnmatch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.shell_policy.shell import analyse, shapes
from runner.shell_policy.shell.facts import ShellWord
from runner.shell_policy.shell.limits import ShellParseError
from runner.shell_policy.shell.shapes import COMMIT, DIGITS, LISTED, NAME, PLACE, SIGNED

NAMES = st.text(alphabet="ab.x_-", min_size=1, max_size=6).filter(lambda name: name[0] not in ".-")
ENDINGS = st.sampled_from([".py", ".test.ts", ".", ".x", "b"])


def argument(text: str) -> ShellWord:
    """The last argument of the command `cmd`."""
    found = [one for one in analyse(text).commands if one.words and one.words[0].text == "cmd"]
    return found[-1].words[-1]


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ('for f in src/*.py; do cmd "$f"; done', f"src/{NAME}.py"),
        ('for f in src/*.py; do cmd "${f%.py}.ts"; done', f"src/{NAME}.ts"),
        ('for f in src/*.py; do cmd "${f##*/}"; done', f"{NAME}.py"),
        ('for f in src/*.tar.gz; do cmd "${f%.*}"; done', f"src/{NAME}.tar"),
        ('for d in */; do cmd "${d%/}/x"; done', f"{NAME}/x"),
        ('a=(src/*.py); cmd "${a[@]}"', f"src/{NAME}.py"),
        ('n=$(wc -l < f); cmd "${n},+5p"', f"{DIGITS},+5p"),
        ('n=$(grep -n x f | head -1 | cut -d: -f1); cmd "${n}p"', f"{DIGITS}p"),
        ('f() { local n=$(wc -l < f); cmd "${n}p"; }; f', f"{DIGITS}p"),
        ('cmd "$((n - 1))p"', f"{SIGNED}p"),
        ("cmd -j$(nproc)", f"-j{DIGITS}"),
        ("cmd $(git merge-base main HEAD)..HEAD", f"{COMMIT}..HEAD"),
        ('h=$(git log -1 --format=%h); cmd "$h"', COMMIT),
        ("for f in $(git ls-files '*.py'); do cmd \"$f\"; done", f"{LISTED}.py"),
        ("git diff --name-only | grep '\\.ts$' | while read -r f; do cmd \"$f\"; done", f"{LISTED}.ts"),
        ("while read -r f; do cmd \"$f\"; done < <(find src -name '*.js')", f"src/{LISTED}.js"),
        ("mapfile -t a < <(git ls-files '*.rb'); cmd \"${a[@]}\"", f"{LISTED}.rb"),
        ('h=$(git rev-parse --show-toplevel); cmd "$h/x"', f"{PLACE}/x"),
        ('cmd "$(npm root)/react/x.js"', f"{PLACE}/react/x.js"),
        ('cmd "$(which node)"', PLACE),
        ('show() { cmd "$@"; }; show src/*.py', f"src/{NAME}.py"),
    ],
)  # fmt: skip
def test_what_is_known_of_a_computed_word_is_kept(text: str, shape: str) -> None:
    assert argument(text).shapes == (shape,)


@pytest.mark.parametrize(
    "text",
    [
        'for f in src/*.py; do cmd "${f/a/b}"; done', 'for f in *; do read f; cmd "$f"; done',
        'cmd "$f"; for f in *; do :; done', 'n=$(cat n); cmd "${n}p"', 'cmd "$(ls -a)"',
        'n=$(grep -n x f g | cut -d: -f1); cmd "${n}p"', 'cmd "$(ls /etc)"', 'cmd "$(ls ../x)"',
        'h=$(git log -1 --format=%s); cmd "$h"',
        'cmd "$(git diff --name-only --line-prefix=/etc/)"', 'cmd "$(git show --name-only)"',
        'git ls-files | sed s,^,/etc/, | while read -r f; do cmd "$f"; done',
        'git ls-files | while read -r f; do read -r f < g; cmd "$f"; done',
        'git ls-files | while read -r a f; do cmd "$f"; done', 'cmd "$(find / -name x)"',
        'cmd "$(which -a x)"', 'cmd "$(which /etc/x)"', 'cmd "$(npm root --prefix /x)"',
        'cmd "$(python3 -c "import os; print(os.environ)")"', 'show() { cmd "$1"; }; show $x',
        'cmd "$(basename "$x")"', 'cmd "$(date +/etc/%Y)"', 'cmd "$(find . -printf /etc/%f)"',
    ],
)  # fmt: skip
def test_what_is_not_certain_has_no_shape(text: str) -> None:
    assert argument(text).shapes == ()


def test_a_computed_part_of_a_path_may_be_empty() -> None:
    word = argument('for f in src/*.py; do cmd "out/$(basename "$f")"; done')
    assert set(word.shapes) == {f"out/{NAME}.py", "out/"}


def test_text_that_looks_like_a_hole_is_none() -> None:
    assert argument(f'for f in *; do cmd "$f{LISTED}"; done').shapes == ()


def test_a_value_of_either_kind_has_both_shapes() -> None:
    word = argument('for f in src/*.py docs/*.md; do cmd "$f"; done')
    assert set(word.shapes) == {f"src/{NAME}.py", f"docs/{NAME}.md"}


@given(NAMES, ENDINGS, ENDINGS)
def test_a_removed_ending_leaves_what_still_fits(name: str, ending: str, removed: str) -> None:
    forms = shapes.edited("%", removed, (f"d/{NAME}{ending}",))
    result = f"d/{name}{ending}".removesuffix(removed)
    assert forms is None or any(fnmatch.fnmatchcase(result, shapes.pattern(f)) for f in forms)


@given(NAMES, st.lists(NAMES, max_size=3), ENDINGS)
def test_the_last_part_of_what_fits_still_fits(name: str, folders: list[str], ending: str) -> None:
    forms = shapes.last_part(("/".join([*folders, NAME + ending]),))
    assert forms is not None
    assert all(fnmatch.fnmatchcase(name + ending, shapes.pattern(form)) for form in forms)


def test_numbers_are_tried_with_and_without() -> None:
    assert set(shapes.samples(f"{DIGITS},{DIGITS}p")) == {"7,7p", "7,p", ",7p", ",p"}


def test_names_have_no_samples() -> None:
    assert shapes.samples(f"{NAME}p") == ()


def test_too_many_holes_have_no_samples() -> None:
    assert shapes.samples(DIGITS * 4) == ()


def test_a_function_that_hides_which_is_refused() -> None:
    with pytest.raises(ShellParseError, match="takes the name of the command `which`"):
        analyse('which() { echo /etc/x; }; cmd "$(which x)"')
