"""Write the configuration of the documentation site: `python tools/navigation.py FILE`.

The order of the pages stands here; a page that no section names goes to the end of «Explanation», so that
a new page is never lost, and decisions are listed by their numbers.
"""

import json
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"

SECTIONS: dict[str, tuple[str, ...]] = {
    "How-to": (
        "how-to/install.md",
        "how-to/laptop.md",
        "how-to/ci.md",
        "how-to/docker.md",
        "how-to/overnight.md",
        "how-to/report.md",
        "how-to/cloud-image.md",
        "github-action.md",
        "docker.md",
        "notifications.md",
        "recordings.md",
        "supervisor-runbook.md",
        "migration.md",
        "releasing.md",
    ),
    "Reference": (
        "reference/commands.md",
        "reference/configuration.md",
        "reference/error-codes.md",
        "reference/events.md",
        "configuration.md",
        "events.md",
        "error-codes.md",
        "status-json.md",
        "contract-reference.md",
        "scripted-model.md",
        "observability.md",
    ),
    "Explanation": (
        "control-plane.md",
        "verification-and-review.md",
        "security.md",
        "sandbox.md",
        "boundaries.md",
    ),
}
"""Pages that are not there (yet) are left out."""

START = ("index.md", "tutorial.md")
_HEADING = re.compile(r"^# (.+)$", re.MULTILINE)


def pages() -> list[str]:
    """Return every page, relative to the folder of the documentation."""
    return sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


def title(page: str) -> str:
    """Return a page's first heading without its markup."""
    found = _HEADING.search((DOCS / page).read_text(encoding="utf-8"))
    return found[1].replace("`", "") if found else page


def navigation(existing: Sequence[str]) -> list[tuple[str, str | list[tuple[str, str]]]]:
    """Return (title, page) and (section, its pages) in the order of the site."""

    def entries(wanted: Iterable[str]) -> list[tuple[str, str]]:
        return [(title(page), page) for page in wanted if page in existing]

    decisions = [page for page in existing if page.startswith("decisions/")]
    named = {*START, *decisions, *(page for part in SECTIONS.values() for page in part)}
    rest = [page for page in existing if page not in named]
    sections: list[tuple[str, str | list[tuple[str, str]]]] = [*entries(START)]
    for name, part in SECTIONS.items():
        more = rest if name == "Explanation" else ()
        sections.append((name, entries((*part, *more))))
    numbered = [(f"{Path(page).name[:4]} {name}", page) for name, page in entries(decisions)]
    return [*sections, ("Decisions", numbered)]


def configuration(docs: str, site: str) -> str:
    """Return the configuration: TOML, whose strings are written as JSON writes them."""
    lines = [
        "[project]",
        'site_name = "runner"',
        'site_description = "Drives Claude until every deliverable of a SPEC.md passes"',
        f"docs_dir = {json.dumps(docs)}",
        f"site_dir = {json.dumps(site)}",
        "use_directory_urls = false",
        "nav = [",
    ]
    for name, inner in navigation(pages()):
        lines.append(f"  {{ {json.dumps(name, ensure_ascii=False)} = {_toml(inner)} }},")
    lines += [
        "]",
        "",
        "[project.theme]",
        'language = "en"',
        'features = ["navigation.indexes"]',
        "",
    ]
    return "\n".join(lines)


def _toml(inner: str | list[tuple[str, str]]) -> str:
    if isinstance(inner, str):
        return json.dumps(inner)
    parts = (
        f"{{ {json.dumps(name, ensure_ascii=False)} = {json.dumps(page)} }}" for name, page in inner
    )
    return f"[{', '.join(parts)}]"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(configuration("docs", "build/site"), encoding="utf-8")
