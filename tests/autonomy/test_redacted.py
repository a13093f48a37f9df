"""What callers say of a credential is kept nowhere, and a repeated report is still the same."""

from pathlib import Path

import pytest
from tests.autonomy.plane import Client

from runner.credentials import Redactor

SECRET = "correct-horse-0123456789"


@pytest.fixture
def client(workspace: Path) -> Client:
    return Client(workspace, redact=Redactor({"A_TOKEN": SECRET}).text)


def stored(workspace: Path) -> str:
    files = [path for path in workspace.rglob("*") if path.is_file()]
    return "".join(path.read_text(encoding="utf-8", errors="replace") for path in files)


def test_a_note_is_kept_without_the_credential(client: Client, workspace: Path) -> None:
    client.start()
    step = client.next()["next_step"]
    client.next(client.report(step, "failure", note=f"it said {SECRET}"))
    assert SECRET not in stored(workspace)
    assert "it said [redacted: A_TOKEN]" in stored(workspace)


def test_the_identical_report_with_a_credential_gets_the_identical_answer(client: Client) -> None:
    client.start()
    step = client.next()["next_step"]
    report = client.report(step, "failure", note=SECRET)
    assert client.next(report) == client.next(report)


def test_a_review_from_outside_and_an_entry_are_kept_without_it(
    client: Client, workspace: Path
) -> None:
    step = client.at_gate()
    finding = {"severity": "low", "title": SECRET, "detail": f"see {SECRET}", "file": SECRET}
    client.ok(
        "review", "gate", phase_id=step["phase_id"], step_id=step["step_id"], verdict="fail",
        summary=f"no: {SECRET}", findings=[finding],
    )  # fmt: skip
    client.ok("journal", "add", title=SECRET, content=f"x {SECRET}")
    assert SECRET not in stored(workspace)


@pytest.mark.parametrize("bad", [SECRET, {"a": {"b": [SECRET]}}, 5, None])
def test_a_malformed_report_is_still_refused_as_such(client: Client, bad: object) -> None:
    client.start()
    assert client.refused("step", "report", last_step_result=bad) == "VALIDATION_ERROR"
