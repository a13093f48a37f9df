"""Reviews: what is handed in, what is written down, what comes back; signed evidence."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.autonomy.plane import Client, write_status

from runner.autonomy.store.documents import file_part
from runner.autonomy.store.trust import Trust

Json = dict[str, Any]
FINDING = {
    "severity": "major",
    "title": "No\ntests",
    "detail": "Nothing\x1b[31m tests it.",
    "deliverableId": "A-001",
    "file": "src/a.py",
}


def _review(client: Client, step: Json, **fields: Any) -> Json:
    named = {"phase_id": step["phase_id"], "step_id": step["step_id"]}
    return client.ok("review", "gate", **({"verdict": "fail"} | named | fields))


def _document(client: Client, review: Json) -> str:
    path: str = review["review_path"]
    return (client.workspace / path).read_text(encoding="utf-8")


def test_a_review_is_written_down_where_the_contract_says(client: Client) -> None:
    step = client.at_gate()
    review = _review(client, step)
    assert review["review_path"] == (
        f".runner/autonomy/reviews/{client.session_id}-p1-{review['gate_attempt_id']}.md"
    )
    assert review["gate_attempt_id"] in _document(client, review)


def test_the_document_says_what_was_found_on_plain_lines(client: Client) -> None:
    review = _review(client, client.at_gate(), summary="Half done.", findings=[FINDING])
    text = _document(client, review)
    assert "# Review of p1: fail" in text
    assert "Half done." in text
    assert "### 1. major: No tests" in text
    assert "- deliverable: A-001\n- file: `src/a.py`" in text
    assert "\x1b" not in text


def test_the_reviewers_own_account_is_noted_and_not_believed(client: Client) -> None:
    review = _review(client, client.at_gate(), review_path="/etc/passwd")
    assert "own account: `/etc/passwd`" in _document(client, review)
    assert review["review_path"].startswith(".runner/autonomy/reviews/")


def test_every_attempt_keeps_its_document(client: Client) -> None:
    step = client.at_gate()
    paths = {_review(client, step)["review_path"] for _ in range(3)}
    assert all((client.workspace / path).exists() for path in paths)
    assert len(paths) == 3


def test_the_gate_names_the_document_of_the_review_that_counted(client: Client) -> None:
    step = client.at_gate()
    _review(client, step, verdict="fail")
    report = client.reviewed(step, "pass")
    client.next(report)
    path = client.state()["phase_gates"]["p1"]["review_path"]
    assert report["gate_attempt_id"] in path


def test_a_review_that_cannot_be_written_changes_nothing(client: Client) -> None:
    step = client.at_gate()
    folder = client.workspace / ".runner/autonomy/reviews"
    folder.write_text("", encoding="utf-8")
    before = client.session_file().read_bytes()
    named = {"phase_id": "p1", "step_id": step["step_id"], "verdict": "pass"}
    assert client.refused("review", "gate", **named) == "STATE_UNWRITABLE"
    assert client.session_file().read_bytes() == before


def test_a_link_in_the_reviews_place_leads_nowhere(client: Client, tmp_path: Path) -> None:
    step = client.at_gate()
    target = tmp_path / "elsewhere"
    target.mkdir()
    (client.workspace / ".runner/autonomy/reviews").symlink_to(target)
    named = {"phase_id": "p1", "step_id": step["step_id"], "verdict": "pass"}
    assert client.refused("review", "gate", **named) == "STATE_UNWRITABLE"
    assert list(target.iterdir()) == []


def test_a_review_stands_in_the_journal_before_it_counts(client: Client) -> None:
    review = _review(client, client.at_gate())
    entry = client.journal()[-1]
    assert (entry["title"], entry["data"]["verdict"]) == ("Review made", "fail")
    assert review["gate_evidence_token"] not in json.dumps(entry)


@pytest.mark.parametrize("phase", ["../../etc", "Phase 1: ü", "a" * 200, "p/1"])
def test_a_phase_with_any_name_gets_a_safe_file(client: Client, phase: str) -> None:
    write_status(client.workspace, {phase: ["A-001"]})
    client.start()
    step = client.next(client.report(client.next()["next_step"]))["next_step"]
    review = _review(client, step)
    path = (client.workspace / review["review_path"]).resolve()
    assert path.parent == (client.workspace / ".runner/autonomy/reviews").resolve()
    assert path.exists()


def test_different_names_get_different_files() -> None:
    names = ["a/b", "a_b", "a:b", "A" * 100, "A" * 101, ""]
    assert len({file_part(name) for name in names}) == len(names)
    assert all(len(file_part(name)) <= 80 for name in names)


def test_no_token_is_stored_anywhere(client: Client) -> None:
    step = client.at_gate()
    report = client.reviewed(step)
    client.next(report)
    tokens = [report["gate_evidence_token"], report["step_proof"]]
    files = [path for path in client.workspace.rglob("*") if path.is_file()]
    stored = [path.read_text(encoding="utf-8") for path in files]
    assert not any(token in text for token in tokens for text in stored)


def test_what_a_session_left_goes_with_it(client: Client) -> None:
    step = client.at_gate()
    review = _review(client, step)
    client.ok("session", "end")
    client.clock.wait(days=8)
    client.plane.maintain()
    assert not (client.workspace / review["review_path"]).exists()
    anchors = Trust(client.workspace.parent / "key").anchors(client.workspace)
    assert anchors.read(client.session_id) is None


# Signed evidence


@pytest.fixture
def strict(workspace: Path) -> Client:
    return Client(workspace, signed_evidence=True)


def _rotate(client: Client) -> str:
    return client.plane.rotate_evidence_key()


def test_signed_evidence_names_its_key_and_passes(strict: Client) -> None:
    step = strict.at_gate()
    review = _review(strict, step, verdict="pass")
    assert review["gate_evidence_key_id"] in review["gate_evidence_token"]
    evidence = {k: review[k] for k in ("gate_attempt_id", "gate_evidence_token")}
    report = strict.report(step, "failure") | {"outcome": "success"} | evidence
    assert strict.next(report)["next_step"]["task_id"] == "B-001"


def test_evidence_of_a_retired_key_is_good_until_it_expires(strict: Client) -> None:
    report = strict.reviewed(strict.at_gate())
    new = _rotate(strict)
    assert strict.next(report)["next_step"]["task_id"] == "B-001"
    step = strict.next(strict.report(strict.ok("step", "replay")["next_step"]))["next_step"]
    assert _review(strict, step)["gate_evidence_key_id"] == new


def test_evidence_of_a_key_that_is_gone_is_refused(strict: Client) -> None:
    report = strict.reviewed(strict.at_gate())
    (strict.workspace.parent / "key" / "evidence-keys.json").unlink()
    assert strict.refused("step", "next", last_step_result=report) == "INVALID_GATE_EVIDENCE"


def test_evidence_said_to_be_signed_after_its_key_was_retired_is_refused(strict: Client) -> None:
    step = strict.at_gate()
    report = strict.reviewed(step)
    path = strict.workspace.parent / "key" / "evidence-keys.json"
    ring = json.loads(path.read_text(encoding="utf-8"))
    ring["keys"][0]["retired_at"] = "2026-01-01T00:00:00Z"
    path.write_text(json.dumps(ring), encoding="utf-8")
    assert strict.refused("step", "next", last_step_result=report) == "INVALID_GATE_EVIDENCE"


def test_another_keys_name_does_not_verify(strict: Client) -> None:
    report = strict.reviewed(strict.at_gate())
    prefix, _, signature = report["gate_evidence_token"].rpartition(".")
    assert prefix
    forged = report | {"gate_evidence_token": f"ges.{_rotate(strict)}.{signature}"}
    assert strict.refused("step", "next", last_step_result=forged) == "INVALID_GATE_EVIDENCE"


def test_a_changed_signature_does_not_verify(strict: Client) -> None:
    report = strict.reviewed(strict.at_gate())
    token = report["gate_evidence_token"]
    forged = report | {"gate_evidence_token": token[:-1] + ("A" if token[-1] != "A" else "B")}
    assert strict.refused("step", "next", last_step_result=forged) == "INVALID_GATE_EVIDENCE"


def test_signed_evidence_is_good_when_signing_is_no_longer_required(strict: Client) -> None:
    report = strict.reviewed(strict.at_gate())
    plain = Client(strict.workspace, strict.clock)
    assert plain.next(report)["next_step"]["task_id"] == "B-001"
