"""Texts with holes: what is known of a value that is neither one of a few texts nor unknown.

A hole is one private character that stands for any text of its kind. So the name of a file that
a loop takes from `src/*.py` is `src/`, NAME, `.py`, and the script of `sed -n "${n}p"` is DIGITS, `p`.
"""

from __future__ import annotations

import itertools
import re

from runner.shell_policy.shell.limits import MAX_VALUE

Shapes = tuple[str, ...] | None

DIGITS = "\ue002"
"""A decimal number, or nothing."""
SIGNED = "\ue003"
"""A decimal number that may be negative, or nothing."""
NAME = "\ue004"
"""What `*` matches in a file name: any text, but no `/`, and no dot where the name begins."""
LISTED = "\ue005"
"""A relative path that a tool listed from the project: no option, and it never goes upwards."""
COMMIT = "\ue006"
"""What git prints for a commit: a hash or the name of a branch or tag, or nothing."""
PLACE = "\ue007"
"""A path where a tool says that something is installed, or nothing: to be read, never changed."""
REST = "\ue008"
"""What is left of a name whose beginning was taken away: it may begin like a hidden file or an option."""

HOLES = DIGITS + SIGNED + NAME + LISTED + COMMIT + PLACE + REST
HOLE = re.compile(f"[{HOLES}]")
_PRIVATE = re.compile("[\ue000-\ue00f]")
_MAX_SHAPES = 8
_MAX_SAMPLED = 3
_SAMPLES = {DIGITS: ("7", ""), SIGNED: ("7", "-7", ""), COMMIT: ("0badc0de", "")}
_BRACKET = re.compile(r"\[[!^]?\]?[^\]/]*\]")
_PATTERN = re.compile(r"[?*]+")
_ODD = re.compile(r"[\\\[\]]|[@+!]\(")


def plain(texts: tuple[str, ...]) -> Shapes:
    """Known texts as shapes; unknown if one holds what stands for a hole."""
    if len(texts) > _MAX_SHAPES or any(map(_PRIVATE.search, texts)):
        return None
    return texts


def of_patterns(patterns: tuple[str, ...]) -> Shapes:
    """What a match of a glob pattern looks like (or the pattern itself, without a match)."""
    return None if any(map(_PRIVATE.search, patterns)) else of_matches(patterns)


def of_matches(forms: Shapes) -> Shapes:
    """The same for a pattern that has holes itself."""
    if forms is None or len(forms) > _MAX_SHAPES:
        return None
    found = tuple(_PATTERN.sub(NAME, _BRACKET.sub("*", text)) for text in forms)
    return None if any(map(_ODD.search, found)) else found


def beginning(shape: str) -> str:
    """What the text certainly begins with."""
    return HOLE.split(shape, maxsplit=1)[0]


def united(left: Shapes, right: Shapes) -> Shapes:
    """The shapes of a value that may be either."""
    if left is None or right is None:
        return None
    both = tuple(sorted({*left, *right}))
    return both if len(both) <= _MAX_SHAPES else None


def product(parts: list[Shapes]) -> Shapes:
    """The shapes of several values one after another."""
    texts: tuple[str, ...] = ("",)
    for part in parts:
        if part is None or len(texts) * len(part) > _MAX_SHAPES:
            return None
        texts = tuple(text + other for text in texts for other in part)
    small = sum(map(len, texts)) <= MAX_VALUE
    return texts if small and any(map(HOLE.search, texts)) else None


def only(forms: tuple[str, ...], holes: str) -> bool:
    """Whether there are shapes, and all their holes are of these kinds."""
    return bool(forms) and all(hole in holes for text in forms for hole in HOLE.findall(text))


def samples(shape: str) -> tuple[str, ...]:
    """Texts that stand for all that fit, where only the kind of a character matters.

    None when there are too many holes, or one that can't be sampled.
    """
    holes = HOLE.findall(shape)
    if len(holes) > _MAX_SAMPLED or any(hole not in _SAMPLES for hole in holes):
        return ()
    pieces = HOLE.split(shape)
    return tuple(
        pieces[0] + "".join(map("".join, zip(chosen, pieces[1:], strict=True)))
        for chosen in itertools.product(*(_SAMPLES[hole] for hole in holes))
    )


def filled(shape: str) -> str:
    """One ordinary text that fits."""
    digits = re.sub(f"[{DIGITS}{SIGNED}]", "7", shape)
    return HOLE.sub("x", digits.replace(COMMIT, "0badc0de"))


def pattern(shape: str) -> str:
    """The glob pattern that matches all that fit."""
    return HOLE.sub("*", shape)


def edited(operator: str, fixed: str, forms: Shapes) -> Shapes:
    """`${x%fixed}` and `${x#fixed}`, where it is certain what is taken away."""
    if forms is None:
        return None
    if operator in ("%", "%%"):
        certain = all(_ends_certainly(text, fixed) for text in forms)
        return tuple(text.removesuffix(fixed) for text in forms) if certain else None
    if not all(beginning(text).startswith(fixed) for text in forms):
        return None
    found = tuple(text.removeprefix(fixed) for text in forms)
    if fixed.endswith("/"):
        return found
    return tuple(REST + text[1:] if text.startswith(NAME) else text for text in found)


def stays(form: str, operator: str, taken: str) -> bool:
    """Whether something is left of a text after such an edit.

    What `*` stands for before a taken `.` or `/` is not nothing: no pattern matches a hidden file there.
    """
    hidden = operator[0] == "%" and taken[:1] in (".", "/") and REST not in form
    return hidden or bool(HOLE.sub("", form))


def _ends_certainly(text: str, fixed: str) -> bool:
    """Whether it is certain that the text ends so, or that it does not."""
    tail = HOLE.split(text)[-1]
    return tail.endswith(fixed) or not fixed.endswith(tail)


def last_part(forms: Shapes) -> Shapes:
    """`basename x` and `${x##*/}`."""
    found = tuple(text.rstrip("/").rpartition("/")[2] for text in forms or ())
    return found if found and all(found) else None


def first_part(forms: Shapes) -> Shapes:
    """`dirname x`: what stands before the last name."""
    found: list[str] = []
    for text in forms or ():
        head, slash, tail = text.rstrip("/").rpartition("/")
        if COMMIT in tail or PLACE in tail or not tail or tail.count(LISTED) > 1:
            return None
        found.append((head or "/") if slash else ".")
        if LISTED in tail:
            # What is listed may lie deeper.
            found.append(head + slash + tail.partition(LISTED)[0] + LISTED)
    return tuple(found) or None


def all_may_be_empty(forms: tuple[str, ...]) -> bool:
    """Whether each is a hole that stands for nothing as well."""
    return all(text in (DIGITS, SIGNED, COMMIT, PLACE) for text in forms)


def all_visible(forms: Shapes) -> bool:
    """Whether each certainly holds more than blanks, so that a word is left when it is split."""
    return forms is not None and all(HOLE.sub("", text).strip() for text in forms)


def counted(shape: str) -> bool:
    """Whether nothing but numbers is unknown in a text."""
    return set(HOLE.findall(shape)) <= {DIGITS}
