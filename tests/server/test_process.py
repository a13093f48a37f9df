"""The server as a process: broken input, signals, the end of its input, what it writes where."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest
from tests.autonomy.plane import write_status
from tests.server.mcp_client import command, environment, server_log, serving
from tests.test_startup import _imports

pytestmark = pytest.mark.process

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": "init",
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
_DEEP = b"[" * 9000 + b"]" * 9000
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def _call(number: int, **arguments: Any) -> dict[str, Any]:
    params = {"name": "task", "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def _tools_call(number: int, params: bytes) -> bytes:
    return b'{"jsonrpc": "2.0", "id": %d, "method": "tools/call", "params": %s}' % (number, params)


class Process:
    """A server whose lines a test writes and reads itself."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self._stdin: IO[bytes] = process.stdin
        self._stdout: IO[bytes] = process.stdout

    def send(self, *messages: dict[str, Any] | bytes) -> None:
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps(message).encode()
            self._stdin.write(line + b"\n")
        self._stdin.flush()

    def receive(self) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self._stdout.readline())
        return answer

    def end_input(self) -> list[dict[str, Any]]:
        """Close the input; return all that still comes."""
        self._stdin.close()
        return [json.loads(line) for line in self._stdout]


@contextmanager
def running(workspace: Path) -> Iterator[Process]:
    """Start a server without a client."""
    with subprocess.Popen(
        command(workspace),
        cwd=workspace,
        env=environment(workspace),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            yield Process(process)
        finally:
            process.kill()


@contextmanager
def _connected(workspace: Path) -> Iterator[Process]:
    with running(workspace) as server:
        server.send(INITIALIZE)
        assert server.receive()["result"]["serverInfo"]["name"] == "runner"
        server.send(INITIALIZED)
        yield server


@pytest.fixture
def server(workspace: Path) -> Iterator[Process]:
    with _connected(workspace) as server:
        yield server


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """One server for all tests of what a server must survive."""
    workspace = tmp_path_factory.mktemp("lasting")
    write_status(workspace, {"p1": ["A-001"]})
    with _connected(workspace) as server:
        yield server


def test_piped_requests_are_all_answered_before_the_end(workspace: Path) -> None:
    with running(workspace) as server:
        server.send(INITIALIZE, INITIALIZED, *(_call(n, action="list") for n in range(20)))
        answered = {answer["id"] for answer in server.end_input()}
        assert answered == {"init", *range(20)}
        assert server.process.wait(20) == 0


def test_a_server_whose_standard_error_is_closed_serves(workspace: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" 2>&-', "sh", *command(workspace)],
        cwd=workspace,
        env=environment(workspace),
        input=json.dumps(INITIALIZE).encode() + b"\n",
        stdout=subprocess.PIPE,
        check=False,
    )
    assert (done.returncode, json.loads(done.stdout)["id"]) == (0, "init")


def test_a_line_without_an_end_is_a_message_too(workspace: Path) -> None:
    with running(workspace) as server:
        server._stdin.write(json.dumps(INITIALIZE).encode())
        assert [answer["id"] for answer in server.end_input()] == ["init"]


@pytest.mark.parametrize(
    ("line", "code", "request_id"),
    [
        (b"hello", -32700, None),
        (b"{", -32700, None),
        (b"\xff\xfe", -32700, None),
        (b"[" * 100_000, -32700, None),
        (_tools_call(6, b'{"name": "task", "arguments": ' + b"[" * 9000), -32700, 6),
        (_tools_call(7, b'{"n": %s}' % (b"9" * 5000)), -32600, 7),
        (_tools_call(8, b'{"name": "task", "name": "journal"}'), -32600, 8),
        (b'{"params": {"id": 1, "deep": %s}, "id": "\\u00e9"}' % _DEEP, -32700, "\u00e9"),
        (b'{"params": {"id": 1, "deep": %s}, "id": "\\ud800"}' % _DEEP, -32700, None),
        (b"[]", -32600, None),
        (b"7", -32600, None),
        (b'{"jsonrpc": "1.0", "id": 5, "method": "ping"}', -32600, 5),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}', -32600, None),
        (b'{"jsonrpc": "2.0", "id": "\\ud800", "method": "ping"}', -32600, None),
        (_tools_call(6, b'{"name": "task", "arguments": {"action": "\\ud800"}}'), -32600, 6),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call"}', -32602, 7),
        (_tools_call(8, b'{"name": "task", "arguments": [1]}'), -32602, 8),
        (_tools_call(9, b'{"name": "rm"}'), -32602, 9),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600, None),
        (b'{"jsonrpc": "2.0", "id": 10, "method": "fly"}', -32601, 10),
    ],
)
def test_every_broken_message_is_answered(
    lasting: Process, line: bytes, code: int, request_id: int | None
) -> None:
    lasting.send(line)
    answer = lasting.receive()
    assert (answer["error"]["code"], answer["id"]) == (code, request_id)
    lasting.send(_call(99, action="list"))
    assert lasting.receive()["id"] == 99


def test_empty_lines_are_passed_over(lasting: Process) -> None:
    lasting.send(b"", b"  ", _call(1, action="list"))
    assert lasting.receive()["id"] == 1


def test_a_line_beyond_all_bounds_is_refused_and_passed_over(lasting: Process) -> None:
    lasting.send(b'"' + b"x" * (33 * 1024 * 1024) + b'"', _call(1, action="list"))
    assert lasting.receive()["error"]["code"] == -32600
    assert lasting.receive()["id"] == 1


def test_a_cancelled_request_does_not_hold_up_the_end(server: Process) -> None:
    cancelled = {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": 1},
    }
    server.send(_call(1, action="list"), cancelled)
    assert {answer["id"] for answer in server.end_input()} <= {1}
    assert server.process.wait(8) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_while_its_input_is_open(server: Process, number: int) -> None:
    server.process.send_signal(number)
    assert server.process.wait(20) == 128 + number
    assert server.process.stderr is not None
    assert b"Traceback" not in server.process.stderr.read()


def test_the_server_ends_when_nobody_reads_its_answers(server: Process) -> None:
    server._stdout.close()
    server.send(_call(1, action="list"))
    assert server.process.wait(20) == 0


def test_the_server_starts_no_process_of_its_own(server: Process) -> None:
    server.send(_call(1, action="list"))
    server.receive()
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
    assert children.read_text() == ""


def test_serving_an_empty_folder_writes_nothing_into_it(tmp_path: Path) -> None:
    workspace = tmp_path / "empty"
    workspace.mkdir()
    with serving(workspace) as client:
        assert client.refused("session", "start") == "SPEC_NOT_FOUND"
        assert client.refused("session", "status") == "NO_ACTIVE_SESSION"
        assert client.ok("session", "list")["sessions"] == []
    assert list(workspace.iterdir()) == []


def test_former_names_are_logged_to_stderr(workspace: Path) -> None:
    with serving(workspace) as client:
        client.envelope("task", action="session-list")
    assert "session-list is deprecated" in server_log(workspace)


def test_text_that_is_no_unicode_does_not_break_the_protocol(workspace: Path) -> None:
    path = workspace / ".runner" / "status.json"
    path.write_text(path.read_text().replace("Title of A-001", "broken \\ud800 text"))
    with serving(workspace) as client:
        assert client.ok("task", "list")["tasks"][0]["title"] == "broken ? text"


def _run(*arguments: str, cwd: Path, **files: Any) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*command(cwd)[:3], "mcp", *arguments],
        cwd=cwd,
        env=environment(cwd),
        capture_output=True,
        text=True,
        check=False,
        **files,
    )


def test_a_workspace_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    done = _run("--workspace", "nowhere", cwd=tmp_path, stdin=subprocess.DEVNULL)
    assert done.returncode == 2
    assert "nowhere is not a folder" in done.stderr
    assert done.stdout == ""


def test_a_wrong_configuration_is_an_error_at_the_start(workspace: Path) -> None:
    (workspace / ".runner" / "runner.toml").write_text("[verification]\ncommands = 1\n")
    done = _run(cwd=workspace, stdin=subprocess.DEVNULL)
    assert done.returncode == 2
    assert "runner.toml" in done.stderr


def test_closed_standard_input_is_an_error(workspace: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *command(workspace)],
        env=environment(workspace),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "must be open" in done.stderr


def test_input_may_be_a_file(workspace: Path) -> None:
    requests = workspace.parent / "requests"
    requests.write_text(json.dumps(INITIALIZE) + "\n")
    with requests.open() as file:
        done = _run(cwd=workspace, stdin=file)
    assert json.loads(done.stdout)["id"] == "init"
    assert os.waitstatus_to_exitcode(done.returncode) == 0


def test_the_help_of_the_command_needs_no_library(tmp_path: Path) -> None:
    status, said, imported = _imports("mcp", "--help", cwd=tmp_path)
    assert (status, "--workspace" in said) == (0, True)
    assert not imported & {"claude_agent_sdk", "mcp", "anyio"}


def test_the_server_needs_no_agent_sdk(workspace: Path) -> None:
    _, _, imported = _imports("mcp", cwd=workspace)
    assert "mcp" in imported
    assert not imported & {"claude_agent_sdk", "rich"}


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({"AUTORUNNER_ROLE": "superuser"}, "names no role"),
        ({"AUTORUNNER_POSTURE": "unattended", "AUTORUNNER_ROLE": "maintainer"}, "maintainer"),
        ({"AUTORUNNER_FEATURE_AUTONOMY_SESSIONS": "off"}, "autonomy_sessions"),
    ],
)
def test_an_unsafe_setting_is_logged_at_the_start(
    workspace: Path, variables: dict[str, str], named: str
) -> None:
    done = subprocess.run(
        command(workspace),
        cwd=workspace,
        env=environment(workspace) | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert named in done.stderr
