import http.client
import json
import socket
import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runner.errors import PrerequisiteError
from runner.marker import Instruction, PromptMarker
from runner.replay import ScriptedModel, parse_script

Talk = list[dict[str, object]]
Serve = Callable[[str], ScriptedModel]
Prompt = Callable[..., Talk]

SCRIPT = """
[[session]]
instruction = "coding"
repeat = true
[[session.turn]]
thinking = "let me see"
text = "Hello"
tools = [{name = "Bash", input = {command = "ls"}}]
"""


def _call(
    model: ScriptedModel, method: str, path: str, body: object = None, **headers: str
) -> tuple[int, bytes, http.client.HTTPMessage]:
    connection = http.client.HTTPConnection(urlsplit(model.base_url).netloc, timeout=10)
    try:
        text = body if isinstance(body, bytes) else json.dumps(body)
        connection.request(method, path, None if body is None else text, headers)
        response = connection.getresponse()
        return response.status, response.read(), response.headers
    finally:
        connection.close()


def _post(model: ScriptedModel, body: object, path: str = "/v1/messages") -> tuple[int, Any]:
    status, answer, _ = _call(model, "POST", path, body)
    return status, json.loads(answer)


def _events(stream: bytes) -> list[dict[str, Any]]:
    parts = [part.split("\n") for part in stream.decode().removesuffix("\n\n").split("\n\n")]
    events: list[dict[str, Any]] = [json.loads(data.removeprefix("data: ")) for _, data in parts]
    assert [name.removeprefix("event: ") for name, _ in parts] == [e["type"] for e in events]
    return events


def _raw(model: ScriptedModel, data: bytes) -> bytes:
    address = urlsplit(model.base_url)
    with socket.create_connection((str(address.hostname), int(address.port or 0)), 10) as client:
        client.sendall(data)
        client.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: client.recv(65536), b""))


def test_an_answer_has_the_shape_of_the_api(serve: Serve, prompt: Prompt) -> None:
    status, body = _post(serve(SCRIPT), {"model": "m-1", "messages": prompt()})
    assert status == 200
    assert (body["type"], body["role"], body["model"]) == ("message", "assistant", "m-1")
    assert [block["type"] for block in body["content"]] == ["thinking", "text", "tool_use"]
    assert body["stop_reason"] == "tool_use"


def test_a_stream_adds_up_to_the_answer_that_is_not_streamed(serve: Serve, prompt: Prompt) -> None:
    long = SCRIPT.replace("Hello", "Grüße " * 500)
    model = serve(long)
    _, whole = _post(model, {"messages": prompt()})
    status, stream, headers = _call(
        model, "POST", "/v1/messages?beta=true", {"messages": prompt(), "stream": True}
    )
    assert (status, headers["content-type"]) == (200, "text/event-stream")
    assert _collected(_events(stream)) == (whole["content"], whole["stop_reason"])


def _collected(events: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], str]:
    blocks: dict[int, dict[str, Any]] = {}
    partial = ""
    for event in events:
        if event["type"] == "content_block_start":
            blocks[event["index"]] = dict(event["content_block"])
        if event["type"] == "content_block_delta":
            delta = {k: v for k, v in event["delta"].items() if k != "type"}
            partial += delta.pop("partial_json", "")
            for key, piece in delta.items():
                blocks[event["index"]][key] += piece
    blocks[max(blocks)]["input"] = json.loads(partial)
    (end,) = [event for event in events if event["type"] == "message_delta"]
    return list(blocks.values()), end["delta"]["stop_reason"]


def test_a_stream_opens_and_closes_every_block_in_order(serve: Serve, prompt: Prompt) -> None:
    _, stream, _ = _call(
        serve(SCRIPT), "POST", "/v1/messages", {"messages": prompt(), "stream": True}
    )
    kinds = [e["type"] for e in _events(stream) if e["type"] != "content_block_delta"]
    blocks = ["content_block_start", "content_block_stop"] * 3
    assert kinds == ["message_start", *blocks, "message_delta", "message_stop"]


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (529, "overloaded_error"),
    ],
)
def test_a_scripted_failure_has_the_type_of_its_status(
    serve: Serve, prompt: Prompt, status: int, kind: str
) -> None:
    script = (
        '[[session]]\ninstruction = "coding"\n[[session.turn]]\n'
        f'error = {{status = {status}, message = "no", headers = {{retry-after = "3"}}}}\n'
    )
    answered, body, headers = _call(
        serve(script), "POST", "/v1/messages", {"messages": prompt(), "stream": True}
    )
    assert (answered, headers["retry-after"]) == (status, "3")
    assert json.loads(body) == {"type": "error", "error": {"type": kind, "message": "no"}}


def test_a_failure_can_name_its_type(serve: Serve, prompt: Prompt) -> None:
    script = (
        '[[session]]\ninstruction = "coding"\n[[session.turn]]\n'
        'error = {status = 400, type = "billing_error"}\n'
    )
    _, body = _post(serve(script), {"messages": prompt()})
    assert body["error"]["type"] == "billing_error"


def test_tokens_are_counted(serve: Serve, prompt: Prompt) -> None:
    status, body = _post(serve(SCRIPT), {"messages": prompt()}, "/v1/messages/count_tokens")
    assert status == 200
    assert body["input_tokens"] > 0


def test_counting_tokens_is_no_request_for_messages(serve: Serve, prompt: Prompt) -> None:
    model = serve(SCRIPT)
    _post(model, {"messages": prompt()}, "/v1/messages/count_tokens")
    assert model.requests == []


@pytest.mark.parametrize("method", ["HEAD", "GET"])
def test_the_root_answers(serve: Serve, method: str) -> None:
    assert _call(serve(SCRIPT), method, "/")[0] == 200


@pytest.mark.parametrize(("method", "body"), [("GET", None), ("POST", {})])
def test_anywhere_else_there_is_nothing(serve: Serve, method: str, body: object) -> None:
    status, text, _ = _call(serve(SCRIPT), method, "/v1/models", body)
    assert (status, json.loads(text)["error"]["type"]) == (404, "not_found_error")


def test_requests_are_recorded(serve: Serve, prompt: Prompt) -> None:
    model = serve(SCRIPT)
    body = {
        "model": "m-1",
        "messages": prompt(task="T-1"),
        "system": [{"type": "text", "text": "Be"}, {"type": "text", "text": "kind"}],
        "tools": [{"name": "Bash"}, {"name": "Read"}],
    }
    _post(model, body)
    (asked,) = model.requests
    assert asked.marker == PromptMarker(Instruction.CODING, 1, task="T-1")
    assert (asked.model, asked.system, asked.tool_names) == ("m-1", "Be\nkind", ("Bash", "Read"))
    assert asked.messages == body["messages"]
    assert asked.time > 0


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"{}",
        b'{"messages": 1}',
        b'{"messages": []}',
        b'{"messages": ["x"]}',
        b'{"messages": [{}], "tools": {"a": 1}}',
        b"[" * 100_000,
    ],
)
def test_a_body_that_is_no_request_is_refused(serve: Serve, body: bytes) -> None:
    status, answer = _post(serve(SCRIPT), body)
    assert (status, answer["error"]["type"]) == (400, "invalid_request_error")


@pytest.mark.parametrize(
    "body",
    [
        {"messages": [{}], "metadata": 1},
        {"messages": [{"role": "user", "content": [1, {"type": "text", "text": 5}]}]},
        {"messages": [{"role": "user", "content": "<!-- runner: instruction=coding -->"}]},
        {
            "messages": [
                {
                    "role": "user",
                    "content": "<!-- runner: instruction=coding iteration=1 task=\ud800 -->",
                }
            ]
        },
    ],
)
def test_odd_but_possible_requests_are_answered(serve: Serve, body: object) -> None:
    model = serve(SCRIPT)
    assert _post(model, body)[0] == 200
    assert not [d for d in model.divergences if "failed" in d.message]


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"POST /v1/messages HTTP/1.1\r\n\r\n", b"400"),
        (b"POST /v1/messages HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"400"),
        (b"POST /v1/messages HTTP/1.1\r\nContent-Length: x\r\n\r\n", b"400"),
        (b"POST /v1/messages HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", b"413"),
        (b"DELETE / HTTP/1.1\r\n\r\n", b"501"),
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n", b"414"),
    ],
)
def test_http_that_is_wrong_gets_an_error_in_the_shape_of_the_api(
    serve: Serve, data: bytes, status: bytes
) -> None:
    head, _, body = _raw(serve(SCRIPT), data).partition(b"\r\n\r\n")
    assert head.split(b" ")[1] == status
    assert json.loads(body)["type"] == "error"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.binary(max_size=200), lead=st.sampled_from([b"", b"POST /v1/messages HTTP/1.1\r\n"]))
def test_no_bytes_make_it_fail_or_speak(
    capfd: pytest.CaptureFixture[str], data: bytes, lead: bytes
) -> None:
    with ScriptedModel(parse_script(SCRIPT, name="test")) as model:
        _raw(model, lead + data)
        assert model.divergences == []
        assert _call(model, "GET", "/")[0] == 200
    assert capfd.readouterr() == ("", "")


def test_a_connection_serves_several_requests(serve: Serve, prompt: Prompt) -> None:
    netloc = urlsplit(serve(SCRIPT).base_url).netloc
    connection = http.client.HTTPConnection(netloc, timeout=10)
    statuses = []
    for _ in range(3):
        connection.request("POST", "/v1/messages", json.dumps({"messages": prompt()}))
        response = connection.getresponse()
        response.read()
        statuses.append((response.status, connection.sock is not None))
    connection.close()
    assert statuses == [(200, True)] * 3


def test_closing_drops_connections_that_are_kept_alive(serve: Serve) -> None:
    model = serve(SCRIPT)
    connection = http.client.HTTPConnection(urlsplit(model.base_url).netloc, timeout=10)
    connection.request("GET", "/")
    connection.getresponse().read()
    model.close()
    assert connection.sock is not None
    assert connection.sock.recv(1) == b""
    connection.close()


def test_closing_does_not_wait_for_a_slow_answer(serve: Serve, prompt: Prompt) -> None:
    model = serve(SCRIPT.replace("text =", "delay_ms = 600000\ntext ="))
    waiting = threading.Thread(
        target=_raw, args=(model, _request({"messages": prompt()})), daemon=True
    )
    waiting.start()
    while not model.requests:
        waiting.join(0.01)
    model.close()
    waiting.join(10)
    assert not waiting.is_alive()


def _request(body: object) -> bytes:
    data = json.dumps(body).encode()
    return b"POST /v1/messages HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (len(data), data)


def test_no_thread_is_left_after_closing(prompt: Prompt) -> None:
    before = set(threading.enumerate())
    with ScriptedModel(parse_script(SCRIPT, name="test")) as model:
        _post(model, {"messages": prompt()})
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
    assert set(threading.enumerate()) <= before


def test_a_client_that_goes_away_is_no_divergence(serve: Serve, prompt: Prompt) -> None:
    model = serve(SCRIPT.replace("text =", "delay_ms = 20\ntext ="))
    address = urlsplit(model.base_url)
    with socket.create_connection((str(address.hostname), int(address.port or 0)), 10) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        client.sendall(_request({"messages": prompt()}))
    assert _call(model, "GET", "/")[0] == 200
    model.close()
    assert model.divergences == []


def test_the_environment_for_an_agent_is_complete_and_nothing_more(serve: Serve) -> None:
    model = serve(SCRIPT)
    assert model.agent_environment() == {
        "ANTHROPIC_BASE_URL": model.base_url,
        "ANTHROPIC_API_KEY": "scripted-model",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }


def test_a_port_in_use_is_said_plainly(serve: Serve) -> None:
    port = int(urlsplit(serve(SCRIPT).base_url).port or 0)
    model = ScriptedModel(parse_script(SCRIPT, name="test"), port=port)
    with pytest.raises(PrerequisiteError, match=f"Port {port} on 127"):
        model.start()


def test_there_is_no_address_before_the_start() -> None:
    with pytest.raises(PrerequisiteError, match="not started"):
        _ = ScriptedModel(parse_script(SCRIPT, name="test")).base_url


def test_closing_twice_is_fine(serve: Serve) -> None:
    model = serve(SCRIPT)
    model.close()
    model.close()
