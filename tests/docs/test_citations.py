"""What comments and pages cite exists: sections of the design documents, sources, decisions."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DESIGN = ROOT / "docs/design"
DECISIONS = {path.name[:4] for path in (ROOT / "docs/decisions").glob("[0-9]*.md")}
_SECTIONS = re.compile(r"\b(DESIGN|CONTRACT) ((?:§\d+(?:, | and )?)+)")
_SUBSECTION = re.compile(r"\b(DESIGN|CONTRACT) §\d+ «([^»]+)»")
_SOURCE = re.compile(
    r"\b[Ss]eeds? (00\d)((?:[ ,]+(?:and )?(?:§[\d.]*\d|«[^»]+»|WS\d|section \d+|decision \d+|A\.\d))*)"
)
_PLACE = re.compile(r"§[\d.]*\d|«[^»]+»|WS\d|section \d+|decision \d+|A\.\d")
_STREAM = re.compile(r"\bWS\d\b")
_DECISION = re.compile(r"\bADR-(\d{4})\b")
_OTHER_FORM = re.compile(r"(?<!000, )\b(?:ADR \d+|[Dd]ecision \d+|decisions/\d{4}(?![\d-]))")


def texts() -> Iterator[tuple[str, str]]:
    """Yield the place and the text of every file that may cite something."""
    for folder, pattern in (("src", "*.py"), ("docs", "*.md"), ("tests", "*.py"), ("docker", "*")):
        for path in sorted((ROOT / folder).rglob(pattern)):
            if path.is_file() and path != Path(__file__):
                yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


CITING = dict(texts())


def cited(pattern: re.Pattern[str]) -> Iterator[tuple[str, re.Match[str]]]:
    for place, text in CITING.items():
        # A citation may be broken over two lines, in a comment too.
        for found in pattern.finditer(re.sub(r"\s*\n\s*#?\s*", " ", text)):
            yield place, found


def headings(document: str) -> set[str]:
    text = (DESIGN / f"{document.lower()}.md").read_text(encoding="utf-8")
    return set(re.findall(r"^#+ (?:(\d+)\. .*|.*)$", text, re.MULTILINE)) | set(
        re.findall(r"^#+ (?:\d+\. )?(.+)$", text, re.MULTILINE)
    )


def sources() -> dict[str, str]:
    """Return the part of sources.md about each source."""
    text = (DESIGN / "sources.md").read_text(encoding="utf-8")
    parts = re.split(r"^## Seed (\d+): .*$", text, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


@pytest.mark.parametrize("document", ["DESIGN", "CONTRACT"])
def test_cited_sections_exist(document: str) -> None:
    known = headings(document)
    wanted = [
        (place, number)
        for place, found in cited(_SECTIONS)
        if found[1] == document
        for number in re.findall(r"\d+", found[2])
    ]
    wanted += [(place, found[2]) for place, found in cited(_SUBSECTION) if found[1] == document]
    assert wanted
    assert [one for one in wanted if one[1] not in known] == []


def test_cited_sources_are_described() -> None:
    known = sources()
    wanted = [
        (place, found[1], locator)
        for place, found in cited(_SOURCE)
        for locator in (_PLACE.findall(found[2]) or [""])
    ]
    wanted += [(place, "003", found[0]) for place, found in cited(_STREAM)]
    assert wanted
    missing = [one for one in wanted if not re.search(rf"{re.escape(one[2])}(?!\d)", known[one[1]])]
    assert missing == []


def test_cited_decisions_exist() -> None:
    wanted = [(place, found[1]) for place, found in cited(_DECISION)]
    assert wanted
    assert [one for one in wanted if one[1] not in DECISIONS] == []


def test_decisions_are_cited_in_one_form() -> None:
    others = [
        (place, found[0])
        for place, found in cited(_OTHER_FORM)
        if place != "docs/design/sources.md"  # decision 17 of another document
    ]
    assert others == [], "cite as ADR-nnnn"


def test_decisions_are_numbered_without_gaps() -> None:
    assert sorted(DECISIONS) == [f"{number:04}" for number in range(1, len(DECISIONS) + 1)]
