"""The written audit of proofs and receipts names tests that exist."""

import re
from pathlib import Path

HERE = Path(__file__).parent
DOCUMENT = HERE.parents[1] / "docs" / "receipt-gap-analysis.md"


def test_every_test_that_the_audit_names_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", DOCUMENT.read_text(encoding="utf-8")))
    texts = (path.read_text(encoding="utf-8") for path in HERE.glob("test_*.py"))
    defined = set(re.findall(r"^def (test_\w+)\(", "\n".join(texts), re.MULTILINE))
    assert named
    assert named - defined == set()
