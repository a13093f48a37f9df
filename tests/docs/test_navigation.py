"""The site's navigation, and the index of decisions that it is made from."""

import runpy
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
NAVIGATION: dict[str, Any] = runpy.run_path(str(ROOT / "tools/navigation.py"))
DECISIONS = sorted(
    path.relative_to(ROOT / "docs").as_posix()
    for path in (ROOT / "docs/decisions").glob("[0-9]*.md")
)


def listed() -> list[str]:
    return [page for pages in NAVIGATION["groups"]().values() for page in pages]


def leaves(entries: Any) -> list[str]:
    return [
        page
        for _, below in entries
        for page in ([below] if isinstance(below, str) else leaves(below))
    ]


def test_every_decision_is_in_the_index_once() -> None:
    assert sorted(listed()) == DECISIONS, "add it to a group of docs/decisions/README.md"


def test_every_page_is_in_the_navigation_once() -> None:
    pages = NAVIGATION["pages"]()
    assert sorted(leaves(NAVIGATION["navigation"](pages))) == pages
