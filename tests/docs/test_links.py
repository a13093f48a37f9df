"""Links between the files of the repository lead somewhere (the site's build checks docs/ too)."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s#]+)[^)]*\)")


@pytest.mark.parametrize("text", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_relative_links_lead_somewhere(text: Path) -> None:
    prose = _FENCE.sub("", text.read_text(encoding="utf-8"))
    targets = [target for target in _LINK.findall(prose) if "://" not in target]
    assert [target for target in targets if not (text.parent / target).exists()] == []
