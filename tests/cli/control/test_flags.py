"""Every feature flag, met on the command line."""

import json
from collections.abc import Sequence

import pytest
from tests.cli.control.kit import Cli

from runner.config.feature_flags import FEATURE_FLAGS

SIGNED = "autonomy_signed_gate_evidence"
START = ("session", "start")

WORDS: dict[str, Sequence[str]] = {
    "autonomy_sessions": START,
    "autonomy_session_step": ("step", "next"),
    "autonomy_resume": ("session", "resume"),
    "autonomy_rebase": ("session", "rebase"),
    "autonomy_fidelity_gates": START,
    "autonomy_auto_gate_retry": (*START, "--auto-retry-fidelity-gate"),
    "autonomy_write_lock": START,
    "autonomy_step_proofs": START,
    "autonomy_context_heartbeat": ("step", "heartbeat", "--context-usage-pct", "1"),
}
"""What a flag that is off keeps from working."""


def test_every_flag_has_its_row() -> None:
    assert {*WORDS, SIGNED} == set(FEATURE_FLAGS)


@pytest.mark.parametrize("name", WORDS)
def test_a_flag_that_is_off_is_met_and_told(
    cli: Cli, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FEATURE_FLAGS[name].variable, "0")
    _, envelope = cli.envelope(*WORDS[name])
    data = envelope["data"]
    assert (data["error_code"], data["details"]["flag"]) == ("FEATURE_DISABLED", name)
    assert name not in cli.ok("capabilities")["enabled_now"]


@pytest.mark.parametrize("name", WORDS)
def test_a_flag_that_is_on_keeps_nobody_out(cli: Cli, name: str) -> None:
    _, envelope = cli.envelope(*WORDS[name])
    assert envelope["data"].get("error_code") != "FEATURE_DISABLED"
    assert name in cli.ok("capabilities")["enabled_now"]


def test_with_signatures_evidence_of_before_is_refused(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.start()
    report = cli.report(cli.until("run_fidelity_gate"))
    monkeypatch.setenv(FEATURE_FLAGS[SIGNED].variable, "1")
    _, envelope = cli.envelope("step", "next", "--result", json.dumps(report))
    assert envelope["data"]["error_code"] == "INVALID_GATE_EVIDENCE"
