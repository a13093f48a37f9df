"""What clients see listed, and that it is what is taken."""

import json
from pathlib import Path
from typing import Any

import pytest
from mcp_types import Tool
from tests.autonomy.plane import Client, write_status

from runner.server.routes import LEGACY, ROUTES
from runner.server.schemas import CALLS_KEY, LEGACY_KEY, list_tools, merged
from runner.server.surface import Surface

jsonschema = pytest.importorskip("jsonschema")

CALLS = [route for route in ROUTES if route.action != "gate-waiver"]


@pytest.fixture
def surface(tmp_path: Path) -> Surface:
    workspace = tmp_path / "demo"
    workspace.mkdir()
    write_status(workspace, {"p1": ["A-001"]})
    return Surface(Client(workspace).plane, workspace)


@pytest.fixture
def tools(surface: Surface) -> dict[str, Tool]:
    return {tool.name: tool for tool in list_tools(surface.schemas)}


def _calls(tool: Tool) -> dict[str, Any]:
    assert tool.meta is not None
    calls: dict[str, Any] = tool.meta[CALLS_KEY]
    return calls


def test_the_tools_are_those_of_the_contract(tools: dict[str, Tool]) -> None:
    assert list(tools) == ["task", "review", "journal", "server"]


@pytest.mark.parametrize("route", CALLS, ids=lambda route: f"{route.tool}-{route.name}")
def test_every_call_has_a_strict_schema(surface: Surface, route: Any) -> None:
    schema = surface.schemas[route]
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["additionalProperties"] is False
    assert {"action"} <= set(schema["required"]) <= set(schema["properties"])


@pytest.mark.parametrize("route", CALLS, ids=lambda route: f"{route.tool}-{route.name}")
def test_a_tools_schema_knows_every_parameter_of_its_calls(
    surface: Surface, tools: dict[str, Tool], route: Any
) -> None:
    properties = tools[route.tool].input_schema["properties"]
    assert set(surface.schemas[route]["properties"]) <= set(properties)


def test_no_schema_has_what_claudes_api_refuses_at_the_top(tools: dict[str, Tool]) -> None:
    top = [set(tool.input_schema) for tool in tools.values()]
    assert all(keys == {"type", "properties", "required", "additionalProperties"} for keys in top)


def test_no_schema_refers_to_another_place(tools: dict[str, Tool]) -> None:
    assert all("$ref" not in json.dumps(tool.input_schema) for tool in tools.values())


def test_what_a_model_reads_of_all_tools_is_small(tools: dict[str, Tool]) -> None:
    size = sum(len(json.dumps(t.input_schema)) + len(t.description or "") for t in tools.values())
    assert size < 14_000  # characters, about 3,500 tokens


def test_parameters_named_title_are_not_mistaken_for_schema_titles(surface: Surface) -> None:
    schema = next(
        s for route, s in surface.schemas.items() if route.shape.startswith("journal(action='add'")
    )
    assert schema["properties"]["title"]["maxLength"] == 200


def test_annotations_of_a_tool_are_those_of_its_worst_call(tools: dict[str, Tool]) -> None:
    task, server = tools["task"].annotations, tools["server"].annotations
    assert task is not None
    assert server is not None
    assert (task.read_only_hint, task.destructive_hint) == (False, True)
    assert (server.read_only_hint, server.destructive_hint) == (True, False)


def test_annotations_tell_calls_apart(tools: dict[str, Tool]) -> None:
    calls = _calls(tools["task"])
    assert calls["session/status"]["annotations"]["readOnlyHint"]
    assert not calls["session/reset"]["annotations"]["readOnlyHint"]
    assert calls["session/reset"]["annotations"]["destructiveHint"]


def test_former_names_are_listed_as_deprecated(tools: dict[str, Tool]) -> None:
    tool = tools["task"]
    assert tool.meta is not None
    assert set(tool.meta[LEGACY_KEY]) == {name for _, name in LEGACY}
    former = tool.input_schema["properties"]["action"]["anyOf"][1]
    assert former["deprecated"]
    assert set(former["enum"]) == {name for _, name in LEGACY}


def test_bounds_that_differ_are_merged_to_the_widest() -> None:
    one = {"type": "integer", "minimum": 1, "maximum": 10, "default": 5}
    other = {"type": "integer", "minimum": 0, "maximum": 20}
    assert merged([one, other]) == {"type": "integer", "minimum": 0, "maximum": 20}


def test_a_bound_that_one_variant_lacks_is_no_bound() -> None:
    bounded = {"type": "string", "maxLength": 5}
    assert merged([bounded, {"type": "string"}]) == {"type": "string"}


def test_kinds_that_differ_stay_alternatives() -> None:
    kinds = [{"type": "string"}, {"type": "boolean"}]
    assert merged(kinds) == {"anyOf": kinds}
