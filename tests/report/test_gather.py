"""The facts of a report are those of the files; what is wrong with a file is one of them."""

import json
import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from tests.autonomy.plane import START, write_status
from tests.report.bench import CANARY, Bench, paid

from runner.checkpoints.ledger import STASH, Checkpoint, CheckpointLedger
from runner.deliverables.model import Counts
from runner.deliverables.repository import StatusRepository
from runner.deliverables.spec_text import SpecText
from runner.deliverables.workspace import status_path
from runner.events import ExitReason, RunEnded, RunResult, StreamToolDenied, Waiting
from runner.marker import Instruction
from runner.records.agent_sessions import history_path
from runner.records.baseline import BaselineBook, BaselineRecord, Outcome, Result
from runner.records.receipts import command_hash, receipts_folder
from runner.records.spending import SpendBook
from runner.report.facts import Took

DENIED = StreamToolDenied("Bash", {"command": f"curl {CANARY}"}, "Not allowed.")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_finished_session_has_passed(bench: Bench) -> None:
    report = bench.finished().report()
    assert (report.outcome.state, report.problems) == ("passed", ())


def test_a_phase_that_a_review_alone_has_closed_is_named(bench: Bench) -> None:
    said = "No verification command was run for p1, p2: closed by review alone."
    assert bench.finished().report().outcome.detail == said


def test_what_is_closed_counts_as_passed(bench: Bench) -> None:
    report = bench.finished().report()
    assert (report.counts.passed, report.claimed, report.closed, report.remark) == (2, 2, 2, "")


def test_what_is_only_claimed_does_not_count_as_passed(bench: Bench) -> None:
    bench.client.start()
    bench.client.next(bench.client.report(bench.client.next()["next_step"]))
    report = bench.report()
    assert (report.counts.passed, report.claimed, report.closed) == (0, 1, 0)
    assert report.remark == " (1 claimed)"


def test_a_session_that_proved_nothing_needs_a_look(bench: Bench) -> None:
    report = bench.finished(gates_required=False).report()
    assert report.outcome.headline == "Claimed to be done; nothing was proved"


def test_deliverables_have_their_evidence(bench: Bench) -> None:
    report = bench.finished().report()
    evidence = report.deliverables[0].evidence
    assert evidence is not None
    assert (evidence.outcome, evidence.step_id[:5]) == ("success", "step_")


def test_phases_have_their_steps_in_order(bench: Bench) -> None:
    report = bench.finished().report()
    assert [step.type for step in report.phases[0].steps] == [
        "implement_task",
        "run_fidelity_gate",
    ]


def test_phases_have_their_reviews(bench: Bench) -> None:
    report = bench.finished().report()
    assert [(r.verdict, r.passed) for r in report.phases[0].reviews] == [("pass", True)]


def test_a_receipt_that_another_caller_handed_in_is_shown(tmp_path: Path) -> None:
    bench = Bench(tmp_path, commands={"p1": ["pytest -q"]}).finished()
    run = bench.report().phases[0].verifications[0]
    assert (run.accepted, [c.text for c in run.commands]) == (True, ["pytest -q"])


def test_a_receipt_that_was_changed_is_told(tmp_path: Path) -> None:
    bench = Bench(tmp_path, commands={"p1": ["pytest -q"]}).finished()
    receipt = next(receipts_folder(bench.project).glob("auto_*.json"))
    receipt.write_text(receipt.read_text().replace('"exit_code":0', '"exit_code": 0'))
    report = bench.report()
    assert "The verification receipt of p1 is missing or was changed." in report.problems


def test_what_a_verification_gave_and_can_not_be_read_is_told(tmp_path: Path) -> None:
    bench = Bench(tmp_path, commands={"p1": ["pytest -q"]}).finished()
    (receipt,) = bench.report().phases[0].verifications
    damaged = receipts_folder(bench.project) / receipt.step_id / "1" / "receipt.json"
    damaged.parent.mkdir(parents=True)
    damaged.write_text('{"issued_at"')
    told = f"What 1 verification of {receipt.step_id} gave can't be read."
    assert told in bench.report().problems


def test_costs_are_those_of_the_account(bench: Bench) -> None:
    bench.session(result=paid(0.5))
    bench.session(instruction=Instruction.REVIEW, task=None, result=paid(0.25))
    bench.client.start()
    report = bench.report()
    assert report.took == Took(0.75, 120.0, 2)
    assert report.phases[0].took == Took(0.75, 120.0, 2)
    assert report.deliverables[0].took == Took(0.5, 60.0, 1)


def test_tokens_are_told_by_model(bench: Bench) -> None:
    bench.session(result=paid(0.5, tokens=100))
    bench.session(result=paid(0.5, tokens=11))
    bench.client.start()
    (use,) = bench.report().models
    assert (use.model, use.sessions, use.input_tokens) == ("claude-sonnet-9", 2, 111)


def test_tokens_are_told_by_phase_and_model(bench: Bench) -> None:
    bench.session(instruction=Instruction.INITIALIZER, phase=None, task=None)
    bench.session(phase="p1", result=paid(0.5, tokens=7))
    bench.session(phase="p2", task="B-001", result=paid(0.5, tokens=11))
    bench.session(phase="p2", task="B-001", result=paid(0.5, tokens=13))
    bench.client.start()
    report = bench.report()
    told = [[(use.sessions, use.input_tokens) for use in p.models] for p in report.phases]
    assert told == [[(1, 7)], [(2, 24)]]
    assert [use.input_tokens for use in report.models_outside] == [100]


def test_a_session_that_was_killed_has_no_end(bench: Bench) -> None:
    bench.session(killed=True)
    bench.client.start()
    assert bench.report().sessions[0].outcome is None


def test_sessions_of_old_runners_are_told_by_their_cost_alone(bench: Bench) -> None:
    bench.session(kept=False)
    bench.client.start()
    report = bench.report()
    assert (report.took.cost_usd, report.recorded, report.sessions) == (0.5, False, ())


def test_refused_calls_are_told_without_credentials(bench: Bench) -> None:
    bench.session(denied=(DENIED,))
    bench.client.start()
    report = bench.report()
    assert report.denied_total == 1
    assert CANARY not in repr(report)
    assert "[redacted]" in report.denials[0].input


def test_a_wait_is_told_among_the_events(bench: Bench) -> None:
    bench.tell([Waiting(3600.0, "usage limit")])
    bench.client.start()
    assert "Up to 1:00:00 h: usage limit" in [event.text for event in bench.report().events]


def test_the_last_run_says_why_it_ended(bench: Bench) -> None:
    result = RunResult("run", ExitReason.MAX_ITERATIONS, "Max iterations reached", "s", Counts())
    bench.tell([RunEnded(result)])
    bench.client.start()
    outcome = bench.report().outcome
    assert (outcome.state, outcome.detail) == ("stopped", "Max iterations reached")


def test_a_paused_session_says_which_command_goes_on(bench: Bench) -> None:
    bench.client.start()
    bench.client.ok("session", "pause", session_id=bench.client.session_id)
    commands = [need.command for need in bench.report().needs]
    assert f"runner session resume --session-id {bench.client.session_id}" in commands


def test_a_blocked_deliverable_says_what_a_person_does(tmp_path: Path) -> None:
    bench = Bench(tmp_path, blocked=["B-001"])
    bench.client.start()
    assert any("Blocked: B-001." in need.text for need in bench.report().needs)


def test_an_older_session_has_its_own_agent_sessions(bench: Bench) -> None:
    bench.session(at=START - timedelta(minutes=5), result=paid(0.5))
    bench.client.start()
    first = bench.client.session_id
    bench.client.ok("session", "end", session_id=first)
    bench.client.clock.wait(hours=1)
    bench.session(at=START + timedelta(minutes=50), result=paid(0.25))
    bench.client.start()
    reports = [bench.report(first), bench.report()]
    assert [report.took.cost_usd for report in reports] == [0.5, 0.25]
    assert [report.took_over_all.cost_usd for report in reports] == [0.75, 0.75]
    assert reports[0].other_sessions == (bench.client.session_id,)


@pytest.mark.parametrize(
    ("path", "content"),
    [
        (".runner/status.json", "no json"),
        (".runner/autonomy/spend.json", "{}"),
        (".runner/autonomy/agent-sessions.jsonl", "no json\n"),
    ],
)
def test_a_damaged_file_is_named(bench: Bench, path: str, content: str) -> None:
    bench.session()
    bench.finished()
    (bench.project / path).write_text(content)
    assert any(path in problem for problem in bench.report().problems)


@pytest.mark.parametrize(
    "path",
    [
        ".runner/status.json",
        ".runner/autonomy/spend.json",
        ".runner/autonomy/agent-sessions.jsonl",
    ],
)
def test_a_folder_in_a_files_place_is_named(bench: Bench, path: str) -> None:
    bench.finished()
    (bench.project / path).unlink(missing_ok=True)
    (bench.project / path).mkdir()
    assert any(path in problem for problem in bench.report().problems)


def test_a_missing_journal_is_named(bench: Bench) -> None:
    bench.finished()
    bench.client.journal_file.unlink()
    assert "The session's journal is missing or empty." in bench.report().problems


def test_a_damaged_session_still_has_a_report(bench: Bench) -> None:
    bench.session()
    bench.finished()
    bench.client.session_file().write_text("no json")
    report = bench.report()
    assert (report.outcome.state, report.counts.passed) == ("attention", 2)
    assert not any(phase.known for phase in report.phases)
    assert any("damaged" in problem for problem in report.problems)


def test_a_copy_of_a_finished_project_is_not_told_as_failed(bench: Bench, tmp_path: Path) -> None:
    bench.session()
    bench.finished()
    copy = Bench(tmp_path / "copy")
    shutil.rmtree(copy.project)
    shutil.copytree(bench.project, copy.project)
    report = copy.report(bench.client.session_id)
    assert (report.outcome.state, report.needs[0].text[:26]) == (
        "attention",
        "If this is no copy of the ",
    )


@pytest.mark.parametrize("rubbish", ["null", "[]", "7", '"x"', '{"at": 5}', '{"event": "x"}'])
def test_rubbish_in_the_history_is_passed_over(bench: Bench, rubbish: str) -> None:
    bench.session()
    bench.client.start()
    with history_path(bench.project).open("a") as file:
        file.write(f"{rubbish}\n")
    bench.session()
    assert len(bench.report().sessions) == 2


@pytest.mark.parametrize("field", ["number", "tokens", "seconds", "cost_usd", "outcome", "text"])
@pytest.mark.parametrize("value", [None, [], {}, "x", -1, 1e400, 10**400, True])
def test_no_value_in_the_history_upsets_a_report(bench: Bench, field: str, value: object) -> None:
    bench.session()
    bench.client.start()
    lines = [json.loads(line) for line in history_path(bench.project).read_text().splitlines()]
    lines[-1][field] = value
    history_path(bench.project).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert len(bench.report().sessions) == 1


@pytest.mark.parametrize("field", ["at", "entry_type", "title", "content", "data"])
@pytest.mark.parametrize("value", [None, [], {}, "x" * 5000, 7])
def test_no_value_in_the_journal_upsets_a_report(bench: Bench, field: str, value: object) -> None:
    bench.finished()
    lines = [json.loads(line) for line in bench.client.journal_file.read_text().splitlines()]
    for line in lines:
        line[field] = value
    bench.client.journal_file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert bench.report().counts.passed == 2


def test_a_long_run_is_bounded_and_says_so(bench: Bench) -> None:
    bench.client.start()
    (history_path(bench.project)).parent.mkdir(exist_ok=True)
    head = {"at": "2026-03-01T12:00:01+00:00", "run": "r", "command": "run"}
    with history_path(bench.project).open("w") as file:
        for number in range(2000):
            started = {"event": "session_started", "instruction": "coding", "model": "m"}
            ended = {"event": "session_ended", "outcome": "completed", "text": "x" * 500}
            file.writelines(
                f"{json.dumps({**head, **line, 'number': number})}\n" for line in (started, ended)
            )
    report = bench.report()
    assert len(report.sessions) == 1500
    assert "500 older agent sessions" in report.cuts


def test_a_long_journal_is_bounded_and_counted(bench: Bench) -> None:
    bench.finished()
    line = json.loads(bench.client.journal_file.read_text().splitlines()[1])
    with bench.client.journal_file.open("a") as file:
        file.writelines(f"{json.dumps({**line, 'seq': seq})}\n" for seq in range(100, 5100))
    phase = bench.report().phases[0]
    assert (len(phase.steps), phase.steps_total) == (40, 5002)


def test_a_project_outside_of_which_a_link_leads_is_not_left(bench: Bench, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("# top secret\n")
    (bench.project / "SPEC.md").symlink_to(secret)
    (bench.project / ".runner-note.md").symlink_to(secret)
    assert "top secret" not in repr(bench.finished().report())


def test_looking_writes_nothing(bench: Bench) -> None:
    bench.session()
    bench.finished()
    before = {path: path.read_bytes() for path in bench.project.rglob("*") if path.is_file()}
    bench.report()
    after = {path: path.read_bytes() for path in bench.project.rglob("*") if path.is_file()}
    assert after == before


def test_deprecated_deliverables_are_told_last(bench: Bench) -> None:
    path = write_status(bench.project, {"p1": ["A-001", "A-002"]})
    document = json.loads(path.read_text())
    document["deliverables"][0]["deprecatedAt"] = "2026-03-01"
    path.write_text(json.dumps(document))
    bench.client.start()
    assert [(d.id, d.status) for d in bench.report().deliverables] == [
        ("A-002", "pending"),
        ("A-001", "deprecated"),
    ]


def test_what_a_killed_session_cost_is_counted(bench: Bench) -> None:
    bench.session(result=paid(0.5))
    book = SpendBook(bench.project)
    document = json.loads(book.path.read_text())
    document |= {"open_session_usd": 0.25, "open_session": {"instruction": "coding"}, "sessions": 2}
    book.path.write_text(json.dumps(document))
    bench.client.start()
    assert bench.report().took.cost_usd == 0.75


def test_without_an_account_costs_are_those_of_the_history(bench: Bench) -> None:
    bench.session(result=paid(0.5))
    SpendBook(bench.project).path.unlink()
    bench.client.start()
    assert bench.report().took == Took(0.5, 60.0, 1)


def test_problems_name_files_by_their_place_in_the_project(bench: Bench) -> None:
    bench.finished()
    (bench.project / ".runner/autonomy/spend.json").write_text("{}")
    (problem,) = bench.report().problems
    assert problem.startswith(".runner/autonomy/spend.json ")


def test_a_session_that_was_lost_before_is_a_problem(bench: Bench) -> None:
    bench.client.start()
    lost = bench.client.session_id
    shutil.rmtree(bench.project / ".runner" / "autonomy")
    bench.client.start()
    [problem] = bench.report().problems
    assert problem.startswith(f"The session {lost} was live when it vanished")


def test_changed_verification_commands_are_a_problem(bench: Bench) -> None:
    bench.client.start()
    write_status(bench.project, {"p1": ["A-001"], "p2": ["B-001"]}, commands={"p1": ["make"]})
    # Gaining commands is a change of structure as well; this is about what is told.
    [problem] = bench.report().problems
    assert "verification commands of p1 were changed" in problem


def test_verification_that_passed_before_the_work_is_a_problem(bench: Bench) -> None:
    bench.finished()
    file = StatusRepository(status_path(bench.project)).load()
    assert file is not None
    done = file.active[0]
    result = Result("make", "tree:1", Outcome.PASSES, 0, "")
    results = {(command_hash("make"), "tree:1"): result}
    BaselineBook(bench.project).write(BaselineRecord(results, {done.id: (("make",), "tree:1")}))
    [problem] = bench.report().problems
    assert problem == (
        f"The verification of {done.id} passed before the work began; proves nothing by itself"
    )


def test_an_edited_spec_is_the_first_thing_that_needs_a_person(bench: Bench) -> None:
    (bench.project / "SPEC.md").write_text("# one\n", encoding="utf-8")
    spec = SpecText(bench.project)
    spec.note(spec.digest())
    (bench.project / "SPEC.md").write_text("# two\n", encoding="utf-8")
    assert bench.finished().report().needs[0].command == "runner sync"


def test_what_no_longer_passes_after_a_session_is_not_told_as_passed(bench: Bench) -> None:
    bench.finished()
    path = bench.project / ".runner" / "status.json"
    path.write_text(path.read_text().replace('"passed": true', '"passed": false'))
    report = bench.report()
    assert report.outcome.state == "stopped"
    assert [need.command for need in report.needs] == ["runner run"]


def test_what_was_rolled_back_is_not_told_as_passed(bench: Bench) -> None:
    bench.finished()
    ledger = CheckpointLedger(bench.project)
    ledger.prepare()
    ledger.add(Checkpoint(STASH, "stash-1", STASH, "a" * 40, "b" * 40, "refs/x", "now"))
    report = bench.report()
    assert report.outcome.state == "stopped"
    assert [need.command for need in report.needs] == ["runner run"]


@pytest.mark.parametrize("command", ["pause", "end"])
def test_where_runs_work_it_is_a_run_that_goes_on(bench: Bench, command: str) -> None:
    (bench.project / "SPEC.md").write_text("# one\n", encoding="utf-8")
    spec = SpecText(bench.project)
    spec.note(spec.digest())
    if command == "end":
        bench.client.start()
        bench.client.ok("session", "end", session_id=bench.client.session_id)
    else:
        bench.client.start(stop_on_phase_completion=True)
        data = bench.client.next()
        while (step := data["next_step"]) is not None and step["type"] != "pause":
            data = bench.client.next(bench.client.report(step))
    assert [need.command for need in bench.report().needs] == ["runner run"]
