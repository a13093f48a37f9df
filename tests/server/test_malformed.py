"""Calls made from the schemas and then spoilt: never a bug, a traceback or a changed file."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.autonomy.plane import RealClock, write_status
from tests.server.from_schema import fitting
from tests.server.mcp_client import McpClient, server_log, serving

from runner.autonomy.codes import CODES, ErrorCode
from runner.server.schemas import CALLS_KEY

_RELAXED = settings(
    max_examples=500,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
_ODD: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=12),
    st.sampled_from(["../../etc/passwd", "\x00", "auto_01ARZ3NDEKTSV4RRFFQ69G5FAV", "[]", "-1"]),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=4), st.integers(), max_size=2),
    st.just({"step_id": {}}),
    st.just([[[[[[[[[[]]]]]]]]]]),
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpClient]:
    workspace = tmp_path_factory.mktemp("malformed") / "demo"
    workspace.mkdir()
    write_status(workspace, {"p1": ["A-001"], "p2": ["B-001"]})
    with serving(workspace) as client:
        client.clock = RealClock()
        client.start()
        client.next()
        yield client


@pytest.fixture(scope="module")
def calls(client: McpClient) -> list[tuple[str, dict[str, Any]]]:
    """The strict schema of every call, as the server publishes it."""
    found = []
    for name, tool in client.tools().items():
        assert tool.meta is not None
        found += [(name, call["inputSchema"]) for call in tool.meta[CALLS_KEY].values()]
    return found


def _files(workspace: Path) -> dict[str, bytes]:
    """Return every file but locks, which are names and no state."""
    return {
        str(path): path.read_bytes()
        for path in workspace.rglob("*")
        if path.is_file() and path.suffix != ".lock"
    }


@st.composite
def _spoilt(draw: st.DrawFn, schema: dict[str, Any]) -> dict[str, Any]:
    """Make arguments that fit the schema, then put in what does not, or take out what must be."""
    arguments: dict[str, Any] = dict(draw(fitting(schema)))
    names = sorted(schema["properties"])
    if "last_step_result" in names and draw(st.booleans()):
        report = dict(draw(fitting(schema["properties"]["last_step_result"])))
        report[draw(st.sampled_from([*report, "unknown"]))] = draw(_ODD)
        return arguments | {"last_step_result": report}
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.sampled_from([*names, "unknown", "self", "group", "Action"]))
        if place in arguments and draw(st.booleans()):
            del arguments[place]
        else:
            arguments[place] = draw(_ODD)
    return arguments


@pytest.mark.process
@_RELAXED
@given(data=st.data())
def test_no_call_yields_an_internal_error_or_changes_a_file(
    client: McpClient, calls: list[tuple[str, dict[str, Any]]], data: st.DataObject
) -> None:
    tool, schema = data.draw(st.sampled_from(calls))
    arguments = data.draw(_spoilt(schema))
    before = _files(client.workspace)
    envelope = client.envelope(tool, **arguments)
    assert set(envelope) == {"success", "data", "error", "meta"}
    if not envelope["success"]:
        code = ErrorCode(envelope["data"]["error_code"])
        assert code is not ErrorCode.INTERNAL
        assert envelope["data"]["error_type"] == CODES[code].error_type
        assert _files(client.workspace) == before
    assert "Traceback" not in json.dumps(envelope)


def test_the_server_is_alive_after_that_and_logged_no_traceback(client: McpClient) -> None:
    assert client.envelope("task", action="list")["success"]
    assert "Traceback" not in server_log(client.workspace)
