"""`runner status`: where a project stands, without touching it."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from tests.cli.phases import row

from runner.autonomy.assembly import open_control_plane
from runner.checkpoints.ledger import STASH, Checkpoint, CheckpointLedger
from runner.cli.main import run_command_line
from runner.cli.status_view import StatusView, status_lines, status_object
from runner.deliverables.model import Deliverable, Status, StatusFile
from runner.deliverables.repository import StatusRepository
from runner.events import RunEvent, SessionStarted, Waiting
from runner.marker import Instruction
from runner.records.agent_sessions import HistoryKeeper
from runner.records.baseline import BaselineBook, BaselineRecord, Outcome, Result
from runner.records.effort import Effort, Purpose
from runner.records.plan_reviews import PlanBook, PlanRecord, PlanStage, plan_digest
from runner.records.receipts import command_hash
from runner.records.run_lock import run_lock
from runner.records.spending import Spend, SpendBook


def _item(name: str, **fields: Any) -> dict[str, Any]:
    return {
        "id": name,
        "description": f"What {name} does",
        "acceptanceCriteria": ["it works"],
        "passed": False,
        **fields,
    }


PLAN: dict[str, Any] = {
    "specId": "my-app",
    "createdAt": "2026-11-20",
    "updatedAt": "2026-11-21",
    "phases": [{"id": "phase-1", "title": "Foundations"}],
    "deliverables": [
        _item("UI-001", passed=True, phase="phase-1"),
        _item("UI-002", blocked=True, phase="phase-1"),
        _item("UI-003", phase="later", dependsOn=["UI-002", "UI-001"]),
        _item("UI-004", phase="later"),
        _item("UI-000", phase="later", deprecatedAt="2026-11-21"),
    ],
}


class Project:
    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys

    @property
    def file(self) -> Path:
        return self.folder / ".runner" / "status.json"

    def plan(self, document: Any) -> None:
        self.file.parent.mkdir(exist_ok=True)
        self.file.write_text(document if isinstance(document, str) else json.dumps(document))

    def ask(self, *arguments: str) -> tuple[int, str, str]:
        code = run_command_line(["status", "-p", str(self.folder), *arguments])
        said = self._capsys.readouterr()
        return code, said.out, said.err

    def text(self) -> str:
        code, out, err = self.ask()
        assert (code, err) == (0, "")
        return out

    def report(self) -> dict[str, Any]:
        assert run_command_line(["report", "-p", str(self.folder), "--json"]) == 0
        found: dict[str, Any] = json.loads(self._capsys.readouterr().out)
        return found

    def object(self) -> dict[str, Any]:
        code, out, err = self.ask("--json")
        assert (code, err) == (0, "")
        found: dict[str, Any] = json.loads(out)
        return found


@pytest.fixture
def project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    folder = tmp_path / "app"
    folder.mkdir()
    return Project(folder, capsys)


def test_the_whole_picture(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.folder)
    project.plan(PLAN)
    assert project.text() == (
        "my-app: 1 of 4 passed (1 claimed, not proved), 1 blocked, 2 pending, 1\n"
        "deprecated\n"
        "Planned; no step of the work has begun. No run is at work.\n"
        "Next: runner run\n"
        "      Go on where the work stopped.\n"
        "Or:   runner run\n"
        "      Blocked: UI-002. Agents note what is missing in .runner-note.md; then set\n"
        '      "blocked": false in .runner/status.json and run again.\n'
        "planned 2026-11-20, last change 2026-11-21\n"
        "\n"
        "phase-1: Foundations  (1 of 2 claimed)\n"
        "  [DONE]    UI-001  What UI-001 does\n"
        "  [BLOCKED] UI-002  What UI-002 does\n"
        "\n"
        "later  (0 of 2 claimed)\n"
        "  [PENDING] UI-003  What UI-003 does\n"
        "                    waits for UI-002\n"
        "  [PENDING] UI-004  What UI-004 does\n"
        "\n"
        "Next deliverable: UI-004 What UI-004 does\n"
        "What is blocked needs what its reason or .runner-note.md names; after that set\n"
        '"blocked": false in .runner/status.json, and `runner run` tries it again.\n'
    )


def test_what_its_verification_does_not_prove_is_named(project: Project) -> None:
    command = "make test"
    item = _item("UI-001", passed=True, verification=[command])
    project.plan({**PLAN, "deliverables": [item, _item("UI-002", verification=["lint"])]})
    result = Result(command, "tree:1", Outcome.PASSES, 0, "2026-11-20T00:00:00Z")
    BaselineBook(project.folder).write(
        BaselineRecord(
            {(command_hash(command), "tree:1"): result}, {"UI-001": ((command,), "tree:1")}
        )
    )
    said = "its verification passed before the work: no proof"
    assert project.text().count(said) == 1
    (items,) = (p["deliverables"] for p in project.object()["phases"] if p["deliverables"])
    assert [item["passed_before_work"] for item in items] == [True, False]


def test_one_object_for_programs(project: Project) -> None:
    project.plan(PLAN)
    found = project.object()
    phases, needs = found.pop("phases"), found.pop("needs")
    assert {need["command"] for need in needs} == {f"runner run --project-dir {project.folder}"}
    assert found == {
        "type": "status",
        "spec_id": "my-app",
        "project_dir": str(project.folder),
        "planned": True,
        "complete": False,
        "state": "stopped",
        "headline": "Planned; no step of the work has begun",
        "waiting": None,
        "plan_review": None,
        "spec_changed": False,
        "created_at": "2026-11-20",
        "updated_at": "2026-11-21",
        "deliverables": {
            "total": 4,
            "passed": 1,
            "blocked": 1,
            "pending": 2,
            "claimed": 1,
            "verified": 0,
            "closed": 0,
        },
        "deprecated": ["UI-000"],
        "next": "UI-004",
        "run": None,
        "session": None,
        "spent_usd": 0.0,
    }
    assert [(p["id"], p["title"], p["passed"], p["total"]) for p in phases] == [
        ("phase-1", "Foundations", 1, 2),
        ("later", "later", 0, 2),
    ]
    assert phases[1]["deliverables"][0] == {
        "id": "UI-003",
        "description": "What UI-003 does",
        "status": "pending",
        "blocked_reason": None,
        "waits_for": ["UI-002"],
        "passed_before_work": False,
        "cost_usd": 0.0,
        "agent_seconds": 0.0,
        "agent_sessions": 0,
    }


@pytest.mark.parametrize(
    ("items", "outlook"),
    [
        ([_item("A", passed=True)], "All achievable deliverables passed; nothing is left to do."),
        (
            [_item("A", passed=True), _item("B", blocked=True)],
            "Partly passed: what is not blocked has passed; a person is needed for the rest.",
        ),
        ([_item("A", blocked=True)], "Everything is blocked: a person is needed."),
        (
            [_item("A", blocked=True), _item("B", dependsOn=["A"])],
            "Nothing can be worked on: what is pending waits for what has not passed.",
        ),
        (
            [_item("A", deprecatedAt="2026-11-21")],
            "No deliverable is active: there is nothing to do.",
        ),
        ([], "No deliverable is active: there is nothing to do."),
        ([_item("A")], "Next deliverable: A What A does"),
    ],
)
def test_what_is_next(items: list[dict[str, Any]], outlook: str, project: Project) -> None:
    project.plan({"deliverables": items})
    assert outlook in project.text().splitlines()


def test_before_the_plan_it_says_how_to_start(project: Project) -> None:
    assert project.text() == (
        "app: nothing is planned yet.\n"
        "Next: `runner init` writes an example SPEC.md; replace it, then `runner run`.\n"
    )


def test_with_a_specification_it_says_how_to_plan(project: Project) -> None:
    (project.folder / "SPEC.md").write_text("# App")
    assert "`runner run` plans" in project.text()


def test_before_the_plan_the_object_is_the_same(project: Project) -> None:
    found = project.object()
    assert (found["planned"], found["spec_id"], found["next"]) == (False, "app", None)
    assert set(found["deliverables"].values()) == {0}


def test_a_run_at_work_is_shown(project: Project) -> None:
    with run_lock(project.folder):
        assert "A run is at work: process " in project.text()


def test_a_run_at_work_is_told_to_programs(project: Project) -> None:
    with run_lock(project.folder):
        assert set(project.object()["run"]) == {"pid", "host", "since"}


NOW = datetime.now(UTC)


def _told(project: Project, *events: RunEvent) -> None:
    project.plan(PLAN)
    keeper = HistoryKeeper(
        project.folder, "run", lambda _: None, clean=lambda value: value, now=lambda: NOW
    )
    for event in events:
        keeper(event)


CODING = SessionStarted(5, Instruction.CODING, 3, "sonnet", task_id="UI-004", phase_id="later")
LIMIT = Waiting(3600.0, "the usage limit is reached")


def test_a_run_at_work_is_shown_with_what_it_works_on(project: Project) -> None:
    _told(project, CODING)
    with run_lock(project.folder):
        assert "Session 5: coding UI-004 (sonnet), for " in project.text()


def test_a_wait_is_shown_with_its_end(project: Project) -> None:
    _told(project, CODING, LIMIT)
    until = NOW + timedelta(hours=1)
    with run_lock(project.folder):
        assert f"It waits until {until:%Y-%m-%d %H:%M:%SZ} (" in project.text()
        waiting = project.object()["waiting"]
    assert waiting["reason"] == "the usage limit is reached"
    assert datetime.fromisoformat(waiting["until"]) == until.replace(microsecond=0)


def test_a_wait_that_is_over_is_not_shown(project: Project) -> None:
    _told(project, LIMIT, CODING)
    with run_lock(project.folder):
        assert project.object()["waiting"] is None


def test_a_wait_of_a_run_that_is_gone_is_not_shown(project: Project) -> None:
    _told(project, LIMIT)
    assert (project.object()["waiting"], "waits until" in project.text()) == (None, False)


FINDINGS = ({"severity": "major", "title": "It leaves out --quiet", "deliverableId": "UI-004"},)


def _refused(project: Project, **changes: Any) -> None:
    document = {**PLAN, "deliverables": [_item("UI-004", phase="later")]}
    project.plan(document)
    file = StatusRepository(project.file).load()
    assert file is not None
    record = PlanRecord(PlanStage.REFUSED, plan_digest(file), rounds=2, verdict="fail",
                        summary="It lacks an option.", findings=FINDINGS)  # fmt: skip
    PlanBook(project.folder).write(replace(record, **changes))


def test_a_refused_plan_is_shown_with_findings_and_ways_on(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.folder)
    _refused(project)
    said = project.text()
    assert (
        "The plan was not accepted: after 2 reviews the review says fail (1 finding). No\n"
        "run is at work.\n"
        "  - major: It leaves out --quiet (UI-004)\n"
        "Next: runner run\n"
    ) in said
    assert "Or:   runner sync\n" in said
    assert "Or:   runner run --no-plan-review\n" in said
    assert "Next deliverable" not in said


def test_a_refused_plan_is_told_to_programs(project: Project) -> None:
    _refused(project)
    found = project.object()
    assert found["plan_review"]["awaits_person"]
    assert found["plan_review"]["findings"] == list(FINDINGS)
    last = f"runner run --no-plan-review --project-dir {project.folder}"
    assert (found["state"], found["needs"][-1]["command"]) == ("attention", last)


def test_the_report_of_a_refused_plan_recommends_the_same(project: Project) -> None:
    _refused(project)
    _told_of_a_plan(project)
    shown, reported = project.object(), project.report()
    assert reported["needs"] == shown["needs"]
    assert reported["outcome"]["headline"] == shown["headline"]
    assert reported["plan_review"]["findings"][0]["title"] == "It leaves out --quiet"


def _told_of_a_plan(project: Project) -> None:
    keeper = HistoryKeeper(project.folder, "run", lambda _: None, clean=lambda value: value)
    keeper(SessionStarted(1, Instruction.INITIALIZER, 1, "opus"))


def test_a_plan_that_a_person_must_decide_about_is_not_called_refused(project: Project) -> None:
    _refused(project, verdict="pass", rounds=1, manual=True, findings=())
    said = " ".join(project.text().split())
    assert "The plan waits for a person's decision: the review says pass (0 findings)" in said
    assert "- It lacks an option. Next: runner run --no-plan-review" in said.replace("\\ ", "")


def test_a_run_that_is_over_is_not(project: Project) -> None:
    with run_lock(project.folder):
        pass
    assert project.object()["run"] is None


def test_nothing_is_written(project: Project) -> None:
    project.plan(PLAN)
    before = {path: path.stat().st_mtime_ns for path in project.folder.rglob("*")}
    project.text()
    assert {path: path.stat().st_mtime_ns for path in project.folder.rglob("*")} == before


def test_a_project_that_was_never_used_stays_untouched(project: Project) -> None:
    project.text()
    assert list(project.folder.iterdir()) == []


def test_what_all_runs_have_cost_is_shown(project: Project) -> None:
    project.plan(PLAN)
    SpendBook(project.folder).save(Spend(1.5, 3, 0.25))
    assert "Spent: $1.75 in 3 agent sessions, over all runs." in project.text()


EFFORTS = {
    Purpose("initializer"): Effort(0.5, 10.0, 1),
    Purpose("coding", "phase-1", "UI-001"): Effort(1.0, 60.0, 2),
    Purpose("review", "phase-1"): Effort(0.25, 20.0, 1),
}


def test_what_deliverables_and_phases_took_is_shown(project: Project) -> None:
    project.plan(PLAN)
    SpendBook(project.folder).save(Spend(1.75, 4, efforts=EFFORTS))
    text = project.text()
    assert "  What UI-001 does\n                    2 sessions, 1m, $1.00\n" in text
    assert "  Took  3 sessions, 1m 20s, $1.25\n" in text
    assert "Outside of phases (initializer): 1 session, 10s, $0.50.\n" in text


def test_what_they_took_is_told_to_programs(project: Project) -> None:
    project.plan(PLAN)
    SpendBook(project.folder).save(Spend(1.75, 4, efforts=EFFORTS))
    phase = project.object()["phases"][0]
    assert (phase["cost_usd"], phase["deliverables"][0]["cost_usd"]) == (1.25, 1.0)


def test_a_session_tells_how_its_phases_stand(project: Project) -> None:
    project.plan(PLAN)
    plane = open_control_plane(project.folder, surface="cli", environ={}, interactive=True)
    assert plane.call("session", "start", spec_id="my-app")["success"]
    assert "  Stands  not reviewed yet\n" in project.text()


def test_passed_work_of_an_open_session_is_not_called_done(project: Project) -> None:
    project.plan({"specId": "my-app", "deliverables": [_item("A")]})
    plane = open_control_plane(project.folder, surface="cli", environ={}, interactive=True)
    assert plane.call("session", "start", spec_id="my-app")["success"]
    project.plan({"specId": "my-app", "deliverables": [_item("A", passed=True)]})
    assert "a phase is still to be verified or reviewed" in project.text()


def test_a_damaged_file_is_named_with_its_line(project: Project) -> None:
    project.plan('{"deliverables": [}')
    code, out, err = project.ask()
    assert (code, out) == (2, "")
    assert f"{project.file}:1:" in err or str(project.file) in err


def test_a_broken_configuration_does_not_stand_in_the_way(project: Project) -> None:
    project.plan(PLAN)
    (project.folder / ".runner" / "runner.toml").write_text("broken")
    assert "Next deliverable: UI-004" in project.text()


def test_no_line_is_wider_than_a_terminal_or_acts_on_it(project: Project) -> None:
    long = "\x1b]0;title\x07 word" * 60
    project.plan(
        {
            "phases": [{"id": "p", "title": long}],
            "deliverables": [
                _item("X" * 150, description=long, phase="p", dependsOn=["Y" * 90, "\x1b[31m"])
            ],
        }
    )
    lines = [line for line in project.text().splitlines() if str(project.folder) not in line]
    assert max(map(len, lines)) <= 80
    assert all(line.isprintable() for line in lines)


def test_wide_characters_are_counted_as_they_are_shown(project: Project) -> None:
    project.plan({"deliverables": [_item("A", description="登录页面" * 30)]})
    lines = [line for line in project.text().splitlines() if str(project.folder) not in line]
    assert max(map(cell_len, lines)) <= 80
    assert lines[-1].endswith("…")


def test_what_was_rolled_back_is_not_done(project: Project) -> None:
    project.plan({"deliverables": [_item("A", passed=True)]})
    ledger = CheckpointLedger(project.folder)
    ledger.prepare()
    ledger.add(Checkpoint(STASH, "stash-1", STASH, "a" * 40, "b" * 40, "refs/x", "now"))
    assert "nothing is left" not in project.text()
    assert "`runner run` verifies and reviews every phase again." in project.text()


CLOSED = {"verified_at": "now", "gate_status": "passed", "duration_seconds": 60.0}


@pytest.mark.parametrize(
    ("changes", "summary", "line", "complete"),
    [
        (CLOSED, "app: 1 of 1 passed", "  [PASS]    A  a", True),
        (
            {**CLOSED, "gate_status": "failed", "duration_seconds": None},
            "app: 0 of 1 passed (1 claimed)",
            "  [DONE]    A  a",
            False,
        ),
        (
            {"gate_status": None, "duration_seconds": 60.0},
            "app: 1 of 1 passed (1 claimed, not proved)",
            "  [DONE]    A  a",
            True,
        ),
    ],
)
def test_what_is_closed_is_told_apart_from_what_is_claimed(
    tmp_path: Path, changes: dict[str, Any], summary: str, line: str, complete: bool
) -> None:
    plan = StatusFile(
        "app", deliverables=(Deliverable("A", "a", ("x",), Status.PASSED, phase="p"),)
    )
    rows = {"p": row(tasks_total=1, tasks_completed=1, **changes)}
    view = StatusView(tmp_path, "app", True, plan, None, Spend(), rows=rows)
    lines = list(status_lines(view))
    assert (lines[0], line in lines) == (summary, True)
    assert status_object(view)["complete"] is complete


def test_what_passed_on_the_word_of_agents_alone_is_said_to_be_claimed(tmp_path: Path) -> None:
    plan = StatusFile(
        "app", deliverables=(Deliverable("A", "a", ("x",), Status.PASSED, phase="p"),)
    )
    view = StatusView(tmp_path, "app", True, plan, None, Spend(), rows={"p": row(gate_status=None)})
    lines = list(status_lines(view))
    assert "All achievable deliverables are claimed to pass; nothing was proved." in lines
