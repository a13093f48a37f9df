"""Every feature flag gates its feature, and capabilities say so truthfully."""

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.autonomy.memory_store import MemoryStore
from tests.autonomy.plane import Client
from tests.autonomy.surface import Caller, flag, write_configuration
from tests.autonomy.test_roles import WELL_FORMED

from runner import __version__
from runner.autonomy.access.callers import COMMAND_FLAGS, Key
from runner.config.feature_flags import FEATURE_FLAGS, resolve_flags
from runner.errors import ConfigError

STORE = MemoryStore


GATED = sorted(
    {
        (name, key)
        for key, flags in COMMAND_FLAGS.items()
        for needed in flags
        for name in FEATURE_FLAGS
        if resolve_flags({name: False}, {}).first_off(needed) == name
    }
)


def disabled(caller: Client, group: str, command: str, **params: Any) -> str:
    """Return the flag that the refusal names."""
    data = caller.call(group, command, **params)["data"]
    assert data["error_code"] == "FEATURE_DISABLED", data
    return str(data["details"]["flag"])


def without(workspace: Path, *names: str, posture: str = "supervised") -> Caller:
    variables = dict(itertools.chain(*(flag(name).items() for name in names)))
    return Caller(workspace, posture, environ=variables)


def test_flags_are_on_commands_that_exist(client: Client) -> None:
    assert set(COMMAND_FLAGS) <= set(client.plane.commands)


@pytest.mark.parametrize(("name", "key"), GATED)
def test_a_command_without_its_feature_is_refused(workspace: Path, name: str, key: Key) -> None:
    assert disabled(without(workspace, name), *key, **WELL_FORMED.get(key, {})) == name


@pytest.mark.parametrize(
    "name", ["autonomy_write_lock", "autonomy_step_proofs", "autonomy_fidelity_gates"]
)
def test_no_session_starts_that_relies_on_what_is_off(workspace: Path, name: str) -> None:
    assert disabled(without(workspace, name), "session", "start") == name


def test_a_session_may_do_without_the_lock_in_so_many_words(workspace: Path) -> None:
    caller = without(workspace, "autonomy_write_lock")
    data = caller.start(enforce_autonomy_write_lock=False, reason_code="testing")
    assert data["write_lock"]["enforced"] is False


def test_a_flag_does_not_open_what_unattended_closes(workspace: Path) -> None:
    caller = without(workspace, "autonomy_write_lock", posture="unattended")
    found = caller.details("session", "start", enforce_autonomy_write_lock=False)
    assert "violations" in found


def test_switching_the_lock_off_does_not_unlock_a_live_session(workspace: Path) -> None:
    Caller(workspace, "supervised").start()
    later = without(workspace, "autonomy_write_lock")
    assert later.refused("task", "complete", task_id="A-001") == "STEP_PROOF_REQUIRED"


def test_retries_of_gates_can_not_be_asked_for(workspace: Path) -> None:
    caller = without(workspace, "autonomy_auto_gate_retry")
    params = {"auto_retry_fidelity_gate": True}
    assert disabled(caller, "session", "start", **params) == "autonomy_auto_gate_retry"


def test_without_retries_a_session_starts_without_them(workspace: Path) -> None:
    stops = without(workspace, "autonomy_auto_gate_retry").start()["stop_conditions"]
    assert stops["auto_retry_fidelity_gate"] is False


def test_without_retries_a_failed_review_pauses_a_session_that_had_them(workspace: Path) -> None:
    Caller(workspace, "supervised").start()
    caller = without(workspace, "autonomy_auto_gate_retry")
    step = caller.next()["next_step"]
    while step["type"] != "run_fidelity_gate":
        step = caller.next(caller.report(step))["next_step"]
    report = caller.report(step) | caller.review(step, verdict="fail")
    assert caller.next(report)["pause_reason"] == "gate_failed"


def test_heartbeat_limits_can_not_be_asked_for_without_heartbeats(workspace: Path) -> None:
    caller = without(workspace, "autonomy_context_heartbeat")
    params = {"heartbeat_stale_minutes": 5}
    assert disabled(caller, "session", "start", **params) == "autonomy_context_heartbeat"


def test_without_heartbeats_none_is_awaited(workspace: Path) -> None:
    Caller(workspace, "supervised").start()
    caller = without(workspace, "autonomy_context_heartbeat")
    caller.clock.wait(minutes=30)
    assert caller.next()["status"] == "running"


def test_without_heartbeats_a_session_is_not_shown_as_stale(workspace: Path) -> None:
    Caller(workspace, "supervised").start()
    caller = without(workspace, "autonomy_context_heartbeat")
    caller.clock.wait(minutes=30)
    assert caller.ok("session", "status")["effective_status"] == "running"


def test_the_preflight_finds_what_would_stop_a_start(workspace: Path) -> None:
    envelope = without(workspace, "autonomy_fidelity_gates").plane.role_preflight()
    assert envelope is not None
    assert envelope["data"]["details"]["flag"] == "autonomy_fidelity_gates"


def test_the_refusal_says_how_to_switch_it_on(workspace: Path) -> None:
    data = without(workspace, "autonomy_rebase").call("session", "rebase")["data"]
    assert "autonomy_rebase = true under [feature_flags]" in data["remediation"]
    assert "AUTORUNNER_FEATURE_AUTONOMY_REBASE=1" in data["remediation"]


def test_a_flag_that_does_not_exist_stops_the_start(workspace: Path) -> None:
    with pytest.raises(ConfigError):
        without(workspace, "autonomy_everything")


def test_inconsistent_flags_are_warned_about_in_the_answers(workspace: Path) -> None:
    envelope = without(workspace, "autonomy_step_proofs").call("server", "capabilities")
    assert "autonomy_step_proofs is off" in envelope["meta"]["warnings"][0]


def test_even_a_refused_start_carries_the_warning(workspace: Path) -> None:
    envelope = without(workspace, "autonomy_step_proofs").call("session", "start")
    assert "autonomy_step_proofs is off" in envelope["meta"]["warnings"][0]


def capabilities(caller: Client) -> dict[str, Any]:
    return caller.ok("server", "capabilities")


def test_capabilities_tell_supported_from_enabled(workspace: Path) -> None:
    shown = capabilities(without(workspace, "autonomy_rebase"))
    assert shown["supported"] == list(FEATURE_FLAGS)
    assert "autonomy_rebase" not in shown["enabled_now"]


def test_a_feature_that_lacks_another_is_not_enabled(workspace: Path) -> None:
    shown = capabilities(without(workspace, "autonomy_sessions"))
    assert shown["enabled_now"] == []


def test_the_origin_of_a_flag_is_shown(workspace: Path) -> None:
    write_configuration(workspace, "[feature_flags]\nautonomy_rebase = false\n")
    shown = capabilities(Caller(workspace))["feature_flags"]["autonomy_rebase"]
    assert (shown["value"], shown["origin"]) == (False, "runner.toml")


@pytest.mark.parametrize("name", FEATURE_FLAGS)
def test_what_capabilities_say_is_what_calls_meet(workspace: Path, name: str) -> None:
    value = "off" if FEATURE_FLAGS[name].default else "on"
    caller = Caller(workspace, "unattended", environ=flag(name, value))
    shown = capabilities(caller)
    for action, enabled in shown["actions"].items():
        group, command = action.split()
        params = WELL_FORMED.get((group, command), {})
        code = caller.call(group, command, **params)["data"].get("error_code")
        if enabled:
            assert code != "FEATURE_DISABLED"
        else:
            assert code in (shown["refused_with"][action], "RATE_LIMITED")


def test_every_command_is_among_the_actions(client: Client) -> None:
    shown = capabilities(client)
    commands = {" ".join(key) for key in client.plane.commands}
    assert set(shown["actions"]) == set(shown["required_roles"]) == commands


def test_capabilities_are_plain_json(workspace: Path) -> None:
    shown = capabilities(Caller(workspace))
    assert json.loads(json.dumps(shown)) == shown


def test_the_flags_of_the_documentation_are_those_of_the_registry() -> None:
    page = Path(__file__).parents[2] / "docs" / "configuration.md"
    rows = re.findall(r"^\| `(autonomy_\w+)` \| (on|off) \|", page.read_text(), re.MULTILINE)
    registry = [(name, "on" if flag.default else "off") for name, flag in FEATURE_FLAGS.items()]
    assert rows == registry


def test_versions_posture_and_role_are_shown(workspace: Path) -> None:
    shown = capabilities(Caller(workspace, surface="mcp"))
    assert shown["versions"]["runner"] == __version__
    assert (shown["posture"]["profile"], shown["posture"]["role"]) == (
        "unattended",
        "autonomy_runner",
    )


@pytest.mark.parametrize(("role", "can"), [("autonomy_runner", True), ("observer", False)])
def test_whether_sessions_can_be_driven_is_shown(workspace: Path, role: str, can: bool) -> None:
    assert capabilities(Caller(workspace, role=role))["can_drive_sessions"] is can
