"""Which command a tool call means: names old and new, `session-config`, what is refused."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.autonomy.plane import Client, write_status

from runner.autonomy.assembly import open_control_plane
from runner.autonomy.codes import RefusedError
from runner.autonomy.commands.session_config import REMOVAL_TARGET
from runner.autonomy.envelope import Envelope, success
from runner.autonomy.service import ControlPlane
from runner.config.postures import ROLE_VARIABLE
from runner.server.routes import LEGACY, Route
from runner.server.surface import Surface

Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def client(tmp_path: Path) -> Client:
    workspace = tmp_path / "demo"
    workspace.mkdir()
    write_status(workspace, {"p1": ["A-001"], "p2": ["B-001"]})
    return Client(workspace)


@pytest.fixture
def surface(client: Client) -> Surface:
    return Surface(client.plane, client.workspace)


@pytest.fixture
def ask(surface: Surface) -> Ask:
    def call(tool: str = "task", **arguments: Any) -> dict[str, Any]:
        return surface.answer(surface.resolve(tool, arguments))

    return call


def _refusal(surface: Surface, tool: str = "task", **arguments: Any) -> dict[str, Any]:
    with pytest.raises(RefusedError) as caught:
        surface.resolve(tool, arguments)
    assert caught.value.code == "VALIDATION_ERROR"
    return caught.value.details


def test_what_is_recommended_means_the_workspace_that_was_named(client: Client) -> None:
    named = Surface(client.plane, client.workspace, is_named=True)
    client.start()
    paused = named.answer(named.resolve("task", {"action": "session", "command": "pause"}))
    command = paused["data"]["recommended_actions"][0]["command"]
    assert command == (
        f"runner session resume --session-id {client.session_id} --workspace {client.workspace}"
    )


def test_what_is_recommended_names_no_workspace_unasked(client: Client, ask: Ask) -> None:
    client.start()
    paused = ask(action="session", command="pause")
    command = paused["data"]["recommended_actions"][0]["command"]
    assert command == f"runner session resume --session-id {client.session_id}"


@pytest.mark.parametrize("name", [name for _, name in LEGACY])
def test_a_former_name_means_the_same_command(surface: Surface, name: str) -> None:
    route = LEGACY["task", name]
    old = surface.resolve("task", {"action": name, "spec_id": "demo"})
    new = surface.resolve(
        "task", {"action": route.action, "command": route.command, "spec_id": "demo"}
    )
    assert (old.route, old.params, old.seconds) == (new.route, new.params, new.seconds)


@pytest.mark.parametrize("name", [name for _, name in LEGACY])
def test_a_former_name_is_answered_with_its_replacement(ask: Ask, name: str) -> None:
    route = LEGACY["task", name]
    assert ask(action=name)["meta"]["deprecated"] == {
        "action": name,
        "replacement": f"task(action='{route.action}', command='{route.command}')",
        "removal_target": REMOVAL_TARGET,
    }


def test_former_and_current_name_answer_alike(ask: Ask) -> None:
    ask(action="session-start")
    old, new = ask(action="session-status"), ask(action="session", command="status")
    assert old["data"] == new["data"]
    assert "deprecated" not in new["meta"]


def test_a_former_name_is_logged(ask: Ask, caplog: pytest.LogCaptureFixture) -> None:
    ask(action="session-list")
    assert "session-list is deprecated" in caplog.text


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({}, "action"),
        ({"action": "fly"}, "action"),
        ({"action": ["session"]}, "action"),
        ({"action": "session"}, "command"),
        ({"action": "session", "command": "next"}, "command"),
        ({"action": "session-step", "command": "start"}, "command"),
        ({"action": "session-step", "command": {}}, "command"),
        ({"action": "session-events", "command": "list"}, "command"),
        ({"action": "session-start", "command": "pause"}, "action"),
        ({"action": "list", "workspace": "/elsewhere"}, "workspace"),
        ({"action": "list", "workspace": 1}, "workspace"),
        ({"action": "list", "workspace": "\0"}, "workspace"),
        ({"action": "list", "timeout_seconds": 0}, "timeout_seconds"),
        ({"action": "list", "timeout_seconds": 4.9}, "timeout_seconds"),
        ({"action": "list", "timeout_seconds": 16}, "timeout_seconds"),
        ({"action": "list", "timeout_seconds": True}, "timeout_seconds"),
        ({"action": "list", "timeout_seconds": "5"}, "timeout_seconds"),
        ({"action": "list", "timeout_seconds": float("nan")}, "timeout_seconds"),
        ({"action": "list", "timeout_seconds": 10**400}, "timeout_seconds"),
    ],
)
def test_a_call_that_is_none_is_refused_at_its_field(
    surface: Surface, arguments: dict[str, Any], field: str
) -> None:
    assert _refusal(surface, **arguments)["field"] == field


@pytest.mark.parametrize("name", ["self", "group"])
def test_a_parameter_may_not_have_the_name_of_an_argument(surface: Surface, name: str) -> None:
    envelope = surface.answer(surface.resolve("task", {"action": "list", name: 1}))
    assert envelope["data"]["error_code"] == "VALIDATION_ERROR"
    assert envelope["data"]["details"]["field"] == name


def test_a_refused_action_comes_with_those_that_there_are(surface: Surface) -> None:
    assert _refusal(surface, "journal", action="x")["allowed"] == ["list", "add"]


def test_parameters_are_checked_by_the_command_itself(ask: Ask) -> None:
    envelope = ask(action="list", limit=0)
    assert envelope["data"]["details"]["field"] == "limit"


@pytest.mark.parametrize("name", [".", "../demo"])
def test_the_served_workspace_may_be_named(surface: Surface, client: Client, name: str) -> None:
    full = str(client.workspace / name)
    assert surface.resolve("task", {"action": "list", "workspace": full}).params == {}


@pytest.mark.parametrize(
    ("tool", "arguments", "seconds"),
    [
        ("task", {"action": "session", "command": "status"}, 5),
        ("task", {"action": "session", "command": "rebase"}, 10),
        ("task", {"action": "session", "command": "start"}, 10),
        ("task", {"action": "session-step", "command": "heartbeat"}, 5),
        ("task", {"action": "session-step", "command": "next"}, 15),
        ("review", {"action": "fidelity-gate"}, 120),
        ("review", {"action": "fidelity-gate", "timeout_seconds": 5}, 5),
        ("review", {"action": "fidelity-gate", "timeout_seconds": 300}, 300),
    ],
)
def test_a_call_has_the_time_that_seed_000_gives_it(
    surface: Surface, tool: str, arguments: dict[str, Any], seconds: float
) -> None:
    assert surface.resolve(tool, arguments).seconds == seconds


def test_a_call_whose_command_this_build_lacks_is_not_there(client: Client) -> None:
    del client.plane.commands["task", "list"]  # type: ignore[attr-defined] # a build without it
    surface = Surface(client.plane, client.workspace)
    assert "list" not in _refusal(surface, action="list")["allowed"]


def test_session_config_reads_without_a_session(ask: Ask) -> None:
    data = ask(action="session-config", get=True)["data"]
    assert (data["auto_mode"], data["session_id"]) == (False, None)


def test_session_config_reads_the_live_session(ask: Ask) -> None:
    ask(action="session", command="start", gate_policy="lenient")
    envelope = ask(action="session-config", command="get")
    assert (envelope["data"]["auto_mode"], envelope["data"]["gate_policy"]) == (True, "lenient")
    assert "deprecated" not in envelope["meta"]


def test_auto_mode_true_starts_a_session(ask: Ask) -> None:
    envelope = ask(action="session-config", auto_mode=True)
    assert envelope["data"]["status"] == "running"
    assert "command='start'" in envelope["meta"]["deprecated"]["replacement"]


def test_auto_mode_false_pauses_it(ask: Ask) -> None:
    ask(action="session", command="start")
    envelope = ask(action="session-config", command="set", auto_mode=False)
    assert envelope["data"]["status"] == "paused"
    assert "command='pause'" in envelope["meta"]["deprecated"]["replacement"]


def test_auto_mode_false_without_a_session_is_refused(ask: Ask) -> None:
    envelope = ask(action="session-config", auto_mode=False)
    assert envelope["data"]["error_code"] == "NO_ACTIVE_SESSION"


def test_auto_mode_true_without_any_spec_is_refused(ask: Ask, client: Client) -> None:
    (client.workspace / ".runner" / "status.json").unlink()
    envelope = ask(action="session-config", auto_mode=True)
    assert envelope["data"]["error_code"] == "AUTO_MODE_SPEC_RESOLUTION_FAILED"


def test_auto_mode_true_with_another_spec_is_refused(ask: Ask) -> None:
    envelope = ask(action="session-config", auto_mode=True, spec_id="other")
    assert envelope["data"]["error_code"] == "SPEC_NOT_FOUND"


@pytest.mark.parametrize(
    "arguments", [{"command": "set"}, {"get": True, "auto_mode": True}, {"auto_mode": "yes"}]
)
def test_session_config_refuses_what_makes_no_sense(ask: Ask, arguments: dict[str, Any]) -> None:
    envelope = ask(action="session-config", **arguments)
    assert envelope["data"]["error_code"] == "VALIDATION_ERROR"


def test_capabilities_tell_the_shapes_of_calls(ask: Ask) -> None:
    shapes = ask("server", action="capabilities")["data"]["action_shapes"]
    assert "task(action='session-step', command='next')" in shapes["canonical"]
    assert shapes["legacy"]["session-start"] == "task(action='session', command='start')"


def test_capabilities_refuse_parameters_that_there_are_not(ask: Ask) -> None:
    envelope = ask("server", action="capabilities", x=1)
    assert envelope["data"]["error_code"] == "VALIDATION_ERROR"


class _Broken(ControlPlane):
    def call(self, *_: Any, **__: Any) -> dict[str, Any]:
        raise ZeroDivisionError


def test_a_bug_is_an_internal_error_that_tells_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    surface = Surface(_Broken(tmp_path), tmp_path)
    envelope = surface.answer(surface.resolve("task", {"action": "list"}))
    assert envelope["data"]["error_code"] == "INTERNAL"
    assert "ZeroDivision" not in str(envelope)
    assert envelope["meta"]["request_id"] in caplog.text


GATE = {"action": "fidelity-gate", "phase_id": "p1", "step_id": "step_1"}


def _reviewed(params: Mapping[str, Any], _seconds: float) -> Envelope:
    return success({"asked": dict(params)}, request_id="req_1")


def test_a_review_without_a_verdict_is_made_by_the_reviewer(client: Client) -> None:
    surface = Surface(client.plane, client.workspace, _reviewed)
    envelope = surface.answer(surface.resolve("review", GATE))
    assert envelope["data"]["asked"] == {"phase_id": "p1", "step_id": "step_1"}


def test_the_reviewer_works_for_nobody_who_may_not_ask(client: Client) -> None:
    plane = open_control_plane(
        client.workspace, surface="mcp", environ={ROLE_VARIABLE: "observer"}, interactive=False
    )
    surface = Surface(plane, client.workspace, _reviewed)
    envelope = surface.answer(surface.resolve("review", GATE))
    assert envelope["data"]["error_code"] == "AUTHORIZATION"


def test_a_review_with_a_verdict_is_not(client: Client) -> None:
    surface = Surface(client.plane, client.workspace, _reviewed)
    envelope = surface.answer(surface.resolve("review", {**GATE, "verdict": "pass"}))
    assert envelope["data"]["error_code"] == "NO_ACTIVE_SESSION"


def test_without_a_reviewer_a_verdict_is_asked_for(ask: Ask) -> None:
    assert ask("review", **GATE)["data"]["details"]["field"] == "verdict"


def test_every_route_has_a_name_of_its_own(surface: Surface) -> None:
    names = [(route.tool, route.name) for route in surface.calls]
    assert len(names) == len(set(names))


def test_every_command_of_the_control_plane_has_a_call(surface: Surface, client: Client) -> None:
    targets = {route.target for route in surface.calls}
    assert set(client.plane.commands) <= targets


def test_a_shape_without_a_command_names_the_action_alone(surface: Surface) -> None:
    route: Route = surface.resolve("review", {"action": "fidelity-gate"}).route
    assert route.shape == "review(action='fidelity-gate')"
