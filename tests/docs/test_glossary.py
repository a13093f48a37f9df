"""The glossary defines each term once, and has those that the code is built on."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs/glossary.md").read_text(encoding="utf-8")
TERMS = [
    term
    for term in re.findall(r"^\| ([^|]+?) \|", PAGE, re.MULTILINE)
    if term not in ("term", "---")
]


def test_each_term_is_defined_once() -> None:
    assert sorted({term for term in TERMS if TERMS.count(term) > 1}) == []


@pytest.mark.parametrize(
    "term",
    [
        "spec", "deliverable", "phase", "agent session", "autonomous session", "iteration", "step",
        "gate", "receipt", "posture", "profile", "plan", "clean room", "checkpoint", "sandbox",
        "claimed", "verified", "closed",
    ],
)  # fmt: skip
def test_a_term_is_defined(term: str) -> None:
    assert term in TERMS
