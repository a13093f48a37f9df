"""Links between the files of the repository lead somewhere (the site's build checks docs/ too)."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
TEXTS = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s#]+)[^)]*\)")
_ANCHOR = re.compile(r"\]\(([^)\s#:]*)#([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def prose(text: Path) -> str:
    """Return what stands outside of the code blocks."""
    return _FENCE.sub("", text.read_text(encoding="utf-8"))


def relative_targets(text: Path) -> list[str]:
    return [target for target in _LINK.findall(prose(text)) if "://" not in target]


def anchors(text: Path) -> set[str]:
    """Return the names that the forge and the site give to the headings."""
    plain = (re.sub(r"[^\w\s-]", "", heading).strip() for heading in _HEADING.findall(prose(text)))
    return {re.sub(r"[\s]+", "-", heading).lower() for heading in plain}


@pytest.mark.parametrize("text", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_relative_links_lead_somewhere(text: Path) -> None:
    assert [to for to in relative_targets(text) if not (text.parent / to).exists()] == []


@pytest.mark.parametrize("text", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_anchors_are_headings(text: Path) -> None:
    wanted = [(text.parent / page if page else text, name)
              for page, name in _ANCHOR.findall(prose(text))]  # fmt: skip
    assert [name for page, name in wanted if name not in anchors(page)] == []


@pytest.mark.parametrize("text", sorted(DOCS.rglob("*.md")), ids=lambda path: path.name)
def test_pages_of_the_site_link_to_pages_of_the_site(text: Path) -> None:
    targets = [(text.parent / to).resolve() for to in relative_targets(text)]
    assert [to for to in targets if not to.is_relative_to(DOCS)] == []
