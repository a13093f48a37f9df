"""The metrics and log records of calls (seed 000 «Observability»)."""

import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from tests.autonomy.plane import Client, Clock, write_status

from runner.autonomy.observability import observe as observing
from runner.autonomy.observability.export import TextFileExporter, exporting
from runner.autonomy.observability.metrics import Measurement, Metric
from runner.autonomy.observability.observe import LOGGER, METRICS_FILE, JsonLines
from runner.files import locked


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Measurement]:
    measurements: list[Measurement] = []
    monkeypatch.setattr(observing, "emit", measurements.extend)
    return measurements


@pytest.fixture
def client(tmp_path: Path) -> Client:
    workspace = tmp_path / "project"
    write_status(workspace, {"p1": ["A-1", "A-2"]})
    return Client(workspace)


def names(seen: list[Measurement]) -> list[str]:
    return [m.metric.value for m in seen]


def of(seen: list[Measurement], metric: Metric) -> list[dict[str, str]]:
    return [dict(m.attributes) for m in seen if m.metric is metric]


def test_a_started_session_is_counted_once(client: Client, seen: list[Measurement]) -> None:
    client.start(idempotency_key="k")
    client.ok("session", "start", idempotency_key="k")
    assert names(seen).count(Metric.START) == 1


def test_a_pause_is_counted_with_its_reason(client: Client, seen: list[Measurement]) -> None:
    client.start()
    client.ok("session", "pause")
    assert of(seen, Metric.PAUSE) == [{"reason": "user"}]


def test_a_resume_is_counted(client: Client, seen: list[Measurement]) -> None:
    client.start()
    client.ok("session", "pause")
    client.ok("session", "resume")
    assert names(seen).count(Metric.RESUME) == 1


def test_next_is_timed(client: Client, seen: list[Measurement]) -> None:
    client.start()
    client.next()
    assert [m.value > 0 for m in seen if m.metric is Metric.NEXT_DURATION] == [True]


def test_a_reports_outcome_is_counted(client: Client, seen: list[Measurement]) -> None:
    client.start()
    client.next(client.report(client.next()["next_step"]))
    assert of(seen, Metric.STEP_RESULT) == [{"outcome": "success"}]


def test_a_report_without_proof_counts_as_rejected(client: Client, seen: list[Measurement]) -> None:
    client.start()
    step = client.next()["next_step"]
    client.refused("step", "next", last_step_result=client.report(step, step_proof=None))
    assert of(seen, Metric.WRITE_LOCK_REJECT) == [{"reason": "required"}]


def test_a_consumed_proof_and_its_replay_are_told_apart(
    client: Client, seen: list[Measurement]
) -> None:
    client.start()
    report = client.report(client.next()["next_step"])
    client.next(report)
    client.next(report)
    assert of(seen, Metric.PROOF_CONSUME) == [{"result": "success"}, {"result": "replay"}]


def test_a_review_is_counted_with_its_verdict(client: Client, seen: list[Measurement]) -> None:
    client.start()
    client.finish()
    assert of(seen, Metric.REVIEW) == [{"outcome": "pass"}]


def test_staleness_that_a_status_shows_is_counted(tmp_path: Path, seen: list[Measurement]) -> None:
    workspace = tmp_path / "project"
    write_status(workspace, {"p1": ["A-1"]})
    clock = Clock()
    client = Client(workspace, clock)
    client.start()
    clock.wait(hours=3)
    client.ok("session", "status")
    assert of(seen, Metric.STALE_DETECTED) == [{"source": "status"}]


def test_staleness_that_stops_a_next_is_counted(tmp_path: Path, seen: list[Measurement]) -> None:
    workspace = tmp_path / "project"
    write_status(workspace, {"p1": ["A-1"]})
    clock = Clock()
    client = Client(workspace, clock)
    client.start()
    clock.wait(hours=3)
    client.next()
    assert {Metric.HEARTBEAT_STALE, Metric.STALE_DETECTED} <= set(names(seen))


def test_staleness_that_refuses_a_heartbeat_is_counted_once(
    tmp_path: Path, seen: list[Measurement]
) -> None:
    workspace = tmp_path / "project"
    write_status(workspace, {"p1": ["A-1"]})
    clock = Clock()
    client = Client(workspace, clock)
    client.start()
    clock.wait(hours=3)
    for _ in range(2):
        assert client.refused("step", "heartbeat", context_usage_pct=1) == "HEARTBEAT_STALE"
    assert names(seen).count(Metric.HEARTBEAT_STALE) == 1


def test_a_changed_structure_is_counted(client: Client, seen: list[Measurement]) -> None:
    client.start()
    write_status(client.workspace, {"p1": ["A-1", "A-2", "A-3"]})
    client.next()
    assert names(seen).count(Metric.SPEC_DRIFT) == 1


def test_a_rebase_is_counted_with_its_result(client: Client, seen: list[Measurement]) -> None:
    client.start()
    write_status(client.workspace, {"p1": ["A-1", "A-2", "A-3"]})
    client.next()
    client.ok("session", "rebase")
    assert of(seen, Metric.REBASE) == [{"result": "success"}]


def test_a_lock_that_is_held_is_counted(client: Client, seen: list[Measurement]) -> None:
    client.start()
    lock = client.workspace / f".runner/autonomy/locks/session_{client.session_id}.lock"
    with locked(lock):
        client.refused("session", "pause", timeout_seconds=0.05)
    assert of(seen, Metric.LOCK_TIMEOUT) == [{"command": "pause"}]


def test_removed_sessions_are_counted_by_status(tmp_path: Path, seen: list[Measurement]) -> None:
    workspace = tmp_path / "project"
    write_status(workspace, {"p1": ["A-1"]})
    clock = Clock()
    client = Client(workspace, clock)
    client.start()
    client.ok("session", "end")
    clock.wait(days=8)
    client.plane.maintain()
    assert of(seen, Metric.GC) == [{"status": "ended"}]


_EXPORTING = """
import os, sys
from pathlib import Path
from runner.autonomy import ControlPlane
from runner.autonomy.observability.export import exporting
workspace = Path(sys.argv[1])
with exporting(os.environ, lambda text: sys.exit(text)):
    ControlPlane(workspace, key_directory=workspace.parent / "key").call("session", "start")
"""


@pytest.mark.process
def test_a_process_that_was_told_so_leaves_its_metrics_in_the_file(
    client: Client, tmp_path: Path
) -> None:
    path = tmp_path / "runner.prom"
    subprocess.run(
        [sys.executable, "-c", _EXPORTING, str(client.workspace)],
        env={**os.environ, METRICS_FILE: str(path)},
        check=True,
        timeout=60,
    )
    assert "task_session_start_total 1.0" in path.read_text()


def test_the_log_record_of_a_call_has_the_fields_of_the_seed(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    client.start()
    with caplog.at_level(logging.DEBUG, LOGGER.name):
        client.next()
    line: dict[str, Any] = json.loads(JsonLines().format(caplog.records[-1]))
    assert {
        "request_id",
        "session_id",
        "spec_id",
        "phase_id",
        "step_id",
        "pause_reason",
        "failure_reason",
        "state_version",
        "step_proof_validation",
    } <= set(line)


def _reset(client: Client, **reason: str) -> None:
    client.start()
    client.session_file().write_text("{", encoding="utf-8")
    client.ok("session", "reset", session_id=client.session_id, **reason)


@pytest.mark.parametrize(
    ("reason", "label"), [({"reason": "disk damage"}, "provided"), ({}, "not_provided")]
)
def test_a_reset_is_counted_by_whether_it_has_a_reason(
    client: Client, seen: list[Measurement], reason: dict[str, str], label: str
) -> None:
    _reset(client, **reason)
    assert of(seen, Metric.RESET) == [{"reason": label}]


def test_the_reason_of_a_reset_is_logged(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, LOGGER.name):
        _reset(client, reason="disk damage")
    line: dict[str, Any] = json.loads(JsonLines().format(caplog.records[-1]))
    assert line["reset_reason"] == "disk damage"


def test_no_token_is_logged(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    client.start()
    report = client.report(client.next()["next_step"])
    with caplog.at_level(logging.DEBUG, LOGGER.name):
        client.next(report)
    lines = [JsonLines().format(record) for record in caplog.records]
    assert report["step_proof"] not in "".join(lines)


def test_a_refusal_is_logged_as_a_warning(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, LOGGER.name):
        client.refused("session", "pause")
    assert caplog.records[-1].levelno == logging.WARNING


def test_the_text_file_sums_over_processes(tmp_path: Path) -> None:
    path = tmp_path / "runner.prom"
    for _process in range(2):
        reader = PeriodicExportingMetricReader(TextFileExporter(path), 3_600_000)
        provider = MeterProvider(metric_readers=[reader])
        counter = provider.get_meter("m").create_counter(Metric.PAUSE)
        counter.add(2, {"reason": "user"})
        provider.shutdown()
    assert 'task_session_pause_total{reason="user"} 4.0' in path.read_text()


def test_a_text_file_that_can_not_be_written_breaks_nothing(tmp_path: Path) -> None:
    reader = PeriodicExportingMetricReader(TextFileExporter(tmp_path / "no" / "f"), 3_600_000)
    (tmp_path / "no").write_text("a file where a folder is needed")
    provider = MeterProvider(metric_readers=[reader])
    provider.get_meter("m").create_counter(Metric.START).add(1)
    provider.shutdown()
    assert (tmp_path / "no").read_text() == "a file where a folder is needed"


def test_a_file_of_something_else_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not { metrics")
    reader = PeriodicExportingMetricReader(TextFileExporter(path), 3_600_000)
    provider = MeterProvider(metric_readers=[reader])
    provider.get_meter("m").create_counter(Metric.START).add(1)
    provider.shutdown()
    assert path.read_text() == "not { metrics"


def test_without_a_wish_nothing_is_exported() -> None:
    warnings: list[str] = []
    with exporting({METRICS_FILE: ""}, warnings.append):
        pass
    assert warnings == []
