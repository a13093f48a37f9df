"""A budget for the spec holds over runs, however they ended."""

import json
from pathlib import Path

import pytest
from tests.e2e.harness import Project, eventually, project
from tests.e2e.scripts import PASS_BOUND, PLAN_ONE

pytestmark = pytest.mark.e2e

STARTED_THEN_SLOW = """
[[session]]
instruction = "initializer"

[[session.turn]]
tools = [{ name = "Bash", input = { command = "true; sleep 300" } }]
"""


def _spent(ours: Project) -> float:
    text = (ours.path / ".runner" / "autonomy" / "spend.json").read_text(encoding="utf-8")
    found = json.loads(text)
    return float(found["spent_usd"] + (found["open_session_usd"] or 0.0))


def _known(ours: Project) -> float:
    """Return what is known to have been spent, nothing before the first session."""
    try:
        return _spent(ours)
    except FileNotFoundError:
        return 0.0


def _set_total(ours: Project, total: float) -> None:
    (ours.path / ".runner").mkdir(exist_ok=True)
    (ours.path / ".runner" / "runner.toml").write_text(
        f"[budget]\ntotal = {total}\n", encoding="utf-8"
    )


def test_a_later_run_counts_what_earlier_ones_spent_and_starts_nothing(tmp_path: Path) -> None:
    with project(tmp_path, PLAN_ONE + PASS_BOUND) as ours:
        first = ours.run("-n", "1", "--output-format", "json")
        _set_total(ours, _spent(ours))
        before = len(ours.model.requests)
        again = ours.run()
        assert (again.returncode, len(ours.model.requests)) == (6, before)
        assert "The spec's budget of $" in again.stdout
        assert json.loads(first.stdout)["total_cost_usd"] == pytest.approx(_spent(ours), abs=1e-6)


def test_with_a_higher_budget_the_work_goes_on(tmp_path: Path) -> None:
    with project(tmp_path, PLAN_ONE + PASS_BOUND) as ours:
        ours.run("-n", "1")
        _set_total(ours, _spent(ours) + 100)
        assert ours.run().returncode == 0


def test_a_killed_run_has_counted_what_was_known(tmp_path: Path) -> None:
    with project(tmp_path, STARTED_THEN_SLOW) as ours:
        running = ours.start()
        eventually(lambda: _known(ours), 90)
        running.kill()
        running.communicate(timeout=20)
        assert _known(ours) > 0


def test_a_damaged_account_stops_a_run_before_it_spends(tmp_path: Path) -> None:
    with project(tmp_path, PLAN_ONE + PASS_BOUND) as ours:
        ours.run("-n", "1")
        (ours.path / ".runner" / "autonomy" / "spend.json").write_text("{", encoding="utf-8")
        before = len(ours.model.requests)
        again = ours.run()
        assert (again.returncode, len(ours.model.requests)) == (2, before)
        assert "spend.json is not JSON" in again.stderr
