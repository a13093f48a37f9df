"""Write the configuration of the documentation site: `python tools/navigation.py FILE`.

SECTIONS sets the order of the pages; a page that it does not name goes to the end of «Explanation», so that
a new page is never lost. Decisions are grouped as in their index, `docs/decisions/README.md`; one that the
index does not list yet follows after the groups.
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
        "notifications.md",
        "recordings.md",
        "supervisor-runbook.md",
        "migration.md",
        "releasing.md",
    ),
    "Reference": (
        "reference/commands.md",
        "configuration.md",
        "reference/exit-codes.md",
        "events.md",
        "error-codes.md",
        "status-json.md",
        "design/contract.md",
        "contract-reference.md",
        "scripted-model.md",
        "observability.md",
    ),
    "Explanation": (
        "glossary.md",
        "design/design.md",
        "control-plane.md",
        "verification-and-review.md",
        "security.md",
        "sandbox.md",
        "boundaries.md",
        "receipt-gap-analysis.md",
        "design/sources.md",
    ),
}
"""Pages that do not exist (yet) are left out."""

START = ("index.md", "tutorial.md")
INDEX = "decisions/README.md"
Entry = tuple[str, "str | list[Entry]"]
"""A title, and its page or what is below it."""

_HEADING = re.compile(r"^# (.+)$", re.MULTILINE)
_NUMBER = re.compile(r"^\d+[.:]? ")
_GROUP = re.compile(r"^## (.+)$|^- \[\d{4}\]\(([^)]+)\)", re.MULTILINE)


_THEME = """\
[project.theme]
language = "en"
font = false            # none is fetched from anybody's server
features = ["navigation.indexes", "navigation.footer", "navigation.top"]

[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"
toggle = { icon = "lucide/sun", name = "Switch to dark" }

[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"
toggle = { icon = "lucide/moon", name = "Switch to light" }
""".splitlines()


def pages() -> list[str]:
    """Return every page, relative to the folder of the documentation."""
    return sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


def title(page: str) -> str:
    """Return a page's first heading without its markup."""
    found = _HEADING.search((DOCS / page).read_text(encoding="utf-8"))
    return found[1].replace("`", "") if found else page


def groups() -> dict[str, list[str]]:
    """Return the groups of the index of decisions, each with its pages."""
    found: dict[str, list[str]] = {}
    for group, page in _GROUP.findall((DOCS / INDEX).read_text(encoding="utf-8")):
        if group:
            found[group] = []
        else:
            found[list(found)[-1]].append(f"decisions/{page}")
    return found


def navigation(existing: Sequence[str]) -> list[Entry]:
    """Return (title, page) and (section, what is in it) in the order of the site."""

    def entries(wanted: Iterable[str]) -> list[Entry]:
        return [(title(page), page) for page in wanted if page in existing]

    decisions = [page for page in existing if page.startswith("decisions/")]
    named = {*START, *decisions, *(page for part in SECTIONS.values() for page in part)}
    rest = [page for page in existing if page not in named]
    sections: list[Entry] = entries(START)
    for name, part in SECTIONS.items():
        more = rest if name == "Explanation" else ()
        sections.append((name, entries((*part, *more))))
    return [*sections, ("Decisions", _decisions(decisions))]


def _decisions(existing: Sequence[str]) -> list[Entry]:
    by_group = groups()
    listed = {INDEX, *(page for pages in by_group.values() for page in pages)}
    new = [page for page in existing if page not in listed]
    inside: list[Entry] = [
        (group, [_numbered(page) for page in pages if page in existing])
        for group, pages in by_group.items()
    ]
    return [("By subject", INDEX), *inside, *map(_numbered, new)]


def _numbered(page: str) -> Entry:
    return f"{Path(page).name[:4]} {_NUMBER.sub('', title(page))}", page


def configuration(docs: str, site: str) -> str:
    """Return the configuration: TOML, whose strings are written as JSON writes them."""
    lines = [
        "[project]",
        'site_name = "runner"',
        'site_description = "Drives Claude until every deliverable of a SPEC.md passes"',
        f"docs_dir = {json.dumps(docs)}",
        f"site_dir = {json.dumps(site)}",
        "use_directory_urls = false",
        'extra_css = ["stylesheets/site.css"]',
        "nav = [",
    ]
    for name, inner in navigation(pages()):
        lines.append(f"  {{ {json.dumps(name, ensure_ascii=False)} = {_toml(inner)} }},")
    return "\n".join([*lines, "]", "", *_THEME, ""])


def _toml(inner: str | list[Entry]) -> str:
    if isinstance(inner, str):
        return json.dumps(inner)
    parts = (
        f"{{ {json.dumps(name, ensure_ascii=False)} = {_toml(below)} }}" for name, below in inner
    )
    return f"[{', '.join(parts)}]"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(configuration("docs", "build/site"), encoding="utf-8")
