"""Lines that are hardly messages any more: the server answers what follows them all the same."""

import json
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.autonomy.plane import write_status
from tests.server.test_process import INITIALIZE, INITIALIZED, Process, running

_CALL = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": "broken",
        "method": "tools/call",
        "params": {"name": "task", "arguments": {"action": "session", "command": "list"}},
    }
).encode()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    workspace = tmp_path_factory.mktemp("broken") / "demo"
    workspace.mkdir()
    write_status(workspace, {"p1": ["A-001"]})
    with running(workspace) as server:
        server.send(INITIALIZE)
        server.receive()
        server.send(INITIALIZED)
        yield server


@st.composite
def _mutated(draw: st.DrawFn) -> bytes:
    """Change a valid message in a few places; line ends would only make more lines of it."""
    line = bytearray(_CALL)
    for _ in range(draw(st.integers(1, 6))):
        place = draw(st.integers(0, len(line)))
        line[place : place + draw(st.integers(0, 8))] = draw(st.binary(max_size=6))
    return bytes(line).replace(b"\n", b" ")


@pytest.mark.process
@settings(max_examples=300, deadline=None)
@given(line=_mutated() | st.binary(max_size=60).map(lambda b: b.replace(b"\n", b"")))
def test_a_broken_line_keeps_no_later_request_from_its_answer(server: Process, line: bytes) -> None:
    server.send(line, {"jsonrpc": "2.0", "id": "after", "method": "ping"})
    answers = [server.receive()]
    while answers[-1].get("id") != "after":
        answers.append(server.receive())
        assert len(answers) < 4
    errors = [answer["error"]["code"] for answer in answers if "error" in answer]
    assert set(errors) <= {-32700, -32600, -32601, -32602}


def test_the_server_is_alive_after_that(server: Process) -> None:
    assert server.process.poll() is None
