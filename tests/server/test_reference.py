"""The documents that are made from the code are what the code makes now."""

import re
from pathlib import Path

import pytest

from runner.autonomy.codes import ErrorCode
from runner.autonomy.commands.session_config import REMOVAL_TARGET
from runner.autonomy.enums import FailureReason, LoopSignal, PauseReason
from runner.server.reference import DOCUMENTS
from runner.server.reference.contract import contract_document
from runner.server.reference.error_codes import MEANINGS
from runner.server.routes import LEGACY

DOCS = Path(__file__).parents[2] / "docs"
RUNBOOK = (DOCS / "supervisor-runbook.md").read_text(encoding="utf-8")
MIGRATION = (DOCS / "migration.md").read_text(encoding="utf-8")


VARYING = re.compile(
    r"(?<=_)[0-9A-Z]{26}\b"  # ids
    r"|\d{4}-\d\d-\d\dT[\d:.+]+"  # times
    r"|(?<=_)[\w-]{43}\b"  # tokens
    r'|(?<="cursor": )"[\w-]+"'
    r"|(?<=seconds\": )[\d.]+"
    r"|(?<=seconds_in_phase\": )[\d.]+"
)


def _fixed(text: str) -> str:
    """Return what does not depend on how often the clock was read and ids were made."""
    return VARYING.sub("…", text)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_is_current(name: str) -> None:
    text = (DOCS / name).read_text(encoding="utf-8")
    assert _fixed(text) == _fixed(DOCUMENTS[name]()), "run `python -m runner.server.reference`"


def test_a_document_is_the_same_every_time() -> None:
    assert contract_document() == contract_document()


def test_every_code_has_a_meaning() -> None:
    assert set(MEANINGS) == set(ErrorCode)


@pytest.mark.parametrize("word", [*LoopSignal, *PauseReason, *FailureReason])
def test_the_runbook_says_what_to_do(word: str) -> None:
    assert f"| `{word}` |" in RUNBOOK


@pytest.mark.parametrize(("tool", "name"), LEGACY)
def test_the_migration_notes_name_what_replaces_a_former_name(tool: str, name: str) -> None:
    assert f"| `{name}` | `{LEGACY[tool, name].shape}` |" in MIGRATION


def test_the_migration_notes_name_the_version_of_the_removal() -> None:
    assert f"**{REMOVAL_TARGET}**" in MIGRATION


@pytest.mark.parametrize("name", ["supervisor-runbook.md", "migration.md", *DOCUMENTS])
def test_links_between_documents_lead_somewhere(name: str) -> None:
    text = (DOCS / name).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (DOCS / target).exists(), target
