"""`runner status` beside an autonomous session: seed 002's resumption display."""

import json
import shutil
from typing import Any

from tests.autonomy.plane import write_status
from tests.cli.control.kit import Cli, Done

from runner.deliverables.spec_text import SpecText
from runner.records.run_lock import run_lock


def _status(cli: Cli, *arguments: str) -> Done:
    return cli.run("status", "-p", str(cli.workspace), *arguments)


def _object(cli: Cli) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_status(cli, "--json").out)
    return found


def test_without_a_session_nothing_is_said_of_one(cli: Cli) -> None:
    assert "Session" not in _status(cli).out
    assert _object(cli)["session"] is None


def test_the_session_stands_below_the_deliverables(cli: Cli) -> None:
    session_id = cli.start()
    cli.next(cli.report(cli.next()))
    said = _status(cli).out
    assert "[DONE]    A-001" in said
    shown = said[said.index("Session") :].splitlines()
    assert shown[0] == f"Session {session_id}: running"
    assert shown[1] == "  Progress  phase 1 of 2 (0% complete), 1 deliverable completed, 2 to go"


def test_programs_get_the_same_view_as_from_session_status(cli: Cli) -> None:
    cli.start()
    cli.ok("session", "pause")
    seen, wanted = _object(cli)["session"], cli.ok("session", "status")
    moving = {"progress", "recommended_actions"}
    assert {k: v for k, v in seen.items() if k not in moving} == {
        k: v for k, v in wanted.items() if k not in moving
    }
    assert set(seen["progress"]) == set(wanted["progress"])


def test_a_paused_session_comes_with_its_way_on(cli: Cli) -> None:
    session_id = cli.start()
    cli.ok("session", "pause")
    said = _status(cli).out
    assert f"Session {session_id}: paused (user)\n" in said
    assert f"Next: runner session resume --session-id {session_id}" in said


def test_the_way_on_means_the_project_that_was_named(cli: Cli) -> None:
    cli.start()
    cli.ok("session", "pause")
    said = " ".join(_status(cli).out.replace("\\\n", " ").split())
    assert f"session resume --session-id {cli.session_id} --workspace {cli.workspace}" in said


def test_while_a_run_is_at_work_nobody_is_told_to_do_anything(cli: Cli) -> None:
    cli.start()
    with run_lock(cli.workspace):
        said = _status(cli).out
    assert "Next" not in said[said.index("Session") :]


def test_the_live_session_goes_before_one_that_is_over(cli: Cli) -> None:
    over, live = cli.start(), cli.start("--force")
    assert _object(cli)["session"]["session_id"] == live
    assert over not in _status(cli).out


def test_the_last_session_is_shown_when_it_is_over(cli: Cli) -> None:
    session_id = cli.start()
    cli.ok("session", "end")
    assert f"Session {session_id}: ended\n" in _status(cli).out


def test_a_damaged_session_is_shown_with_its_way_out(cli: Cli) -> None:
    session_id = cli.start()
    cli.session_file().write_text("{", encoding="utf-8")
    done = _status(cli)
    assert done.code == 0
    assert f"Session {session_id}: failed (state_corrupt)\n" in done.out
    assert "runner session reset" in done.out


def test_looking_writes_nothing(cli: Cli) -> None:
    cli.start()
    cli.next()

    def files() -> dict[str, bytes]:
        found = cli.workspace.rglob("*")
        return {str(path): path.read_bytes() for path in found if path.is_file()}

    before = files()
    _status(cli)
    assert files() == before


def _looped(cli: Cli) -> None:
    """Have the workspace look as after a `runner run`."""
    (cli.workspace / "SPEC.md").write_text("# demo\n", encoding="utf-8")
    SpecText(cli.workspace).changed()


def test_where_runner_run_is_at_home_a_resumed_session_names_it_as_what_comes_next(
    cli: Cli,
) -> None:
    _looped(cli)
    cli.start()
    cli.ok("session", "pause")
    said = " ".join(cli.people("session", "resume").out.replace("\\\n", " ").split())
    assert f"Next: runner run --project-dir {cli.workspace}" in said


def test_for_callers_of_their_own_a_resumed_session_names_its_next_step(cli: Cli) -> None:
    cli.start()
    cli.ok("session", "pause")
    assert "Next: runner step next" in cli.people("session", "resume").out


def test_where_runner_run_is_at_home_the_status_names_it_once(cli: Cli) -> None:
    _looped(cli)
    cli.start()
    said = _status(cli).out
    assert (said.count("runner run"), said.count("Next: runner run")) == (1, 1)


def test_a_lost_session_is_shown_by_the_one_that_replaced_it(cli: Cli) -> None:
    lost = cli.start()
    shutil.rmtree(cli.workspace / ".runner" / "autonomy")
    cli.start()
    told = [" ".join(done.split()) for done in (_status(cli).out, cli.text("session", "status"))]
    assert [f"Lost {lost}, last seen " in said for said in told] == [True, True]


def test_changed_verification_commands_are_shown(cli: Cli) -> None:
    cli.start()
    phases = {"p1": ["A-001", "A-002"], "p2": ["B-001"]}
    write_status(cli.workspace, phases, commands={"p1": ["true"]})
    said = " ".join(_status(cli).out.split())
    assert "Changed the verification commands of p1, in status.json" in said


def test_an_edited_spec_is_told_before_anything_else_to_do(cli: Cli) -> None:
    (cli.workspace / "SPEC.md").write_text("# one\n", encoding="utf-8")
    spec = SpecText(cli.workspace)
    spec.note(spec.digest())
    assert not _object(cli)["spec_changed"]
    (cli.workspace / "SPEC.md").write_text("# two\n", encoding="utf-8")
    said = _status(cli).out
    assert said.index("`runner sync` takes the changes over") < said.index("Next deliverable")
    assert _object(cli)["spec_changed"]


def test_an_older_copy_of_a_session_is_not_shown_as_the_session(cli: Cli) -> None:
    session_id = cli.start()
    before = cli.session_file().read_bytes()
    cli.ok("session", "pause")
    cli.session_file().write_bytes(before)
    said = _status(cli).out
    assert "an older copy of itself" in said
    assert f"runner session reset --session-id {session_id}" in said
    assert "session resume" not in said


def test_a_gate_that_waits_for_a_person_was_run(cli: Cli) -> None:
    cli.start("--gate-policy", "manual")
    cli.answer(cli.report(cli.until("run_fidelity_gate")))
    said = _status(cli).out
    assert "gate waits for a person" in said[said.index("Session") :]
    assert "gate not run yet" not in said


def test_where_runs_work_a_run_goes_on_with_the_next_phase(cli: Cli) -> None:
    (cli.workspace / "SPEC.md").write_text("# one\n", encoding="utf-8")
    spec = SpecText(cli.workspace)
    spec.note(spec.digest())
    cli.start("--stop-on-phase-completion")
    cli.answer(cli.report(cli.until("run_fidelity_gate")))
    said = _status(cli).out
    assert "paused (phase_complete)" in said
    assert "Next: runner run" in said
    assert "session resume" not in said
