"""The recorder between a client and an API that both do what a test says."""

import base64
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from runner.errors import ConfigError, UsageError
from runner.marker import Instruction, PromptMarker
from runner.replay import ScriptedModel, load_script, parse_script
from runner.replay.loopback import LoopbackHandler, LoopbackServer
from runner.replay.recording import Recorder
from runner.replay.wire import ModelAnswer, failure, message, stream

Reply = Callable[["_Handler"], None]
CANARY = "canary-4711-do-not-keep"
SECONDS = 60
"""How long a socket is waited for: the machine may be busy with anything."""
_answers: list[http.client.HTTPResponse] = []


class Api(LoopbackServer):
    """Stands in for the real API; `reply` answers every request."""

    def __init__(self) -> None:
        self.reply: Reply = answering("Hi")
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        super().__init__(0, _Handler, "api")


class _Handler(LoopbackHandler[Api]):
    def answer(self) -> None:
        self.server.paths.append(self.path)
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        if self.command == "POST":
            self.body = json.loads(self.read_body())
        self.server.reply(self)

    def start_stream(self, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.close_connection = True
        self.end_headers()

    def say(self, data: bytes) -> None:
        self.wfile.write(data)
        self.wfile.flush()


def answer(text: str, *blocks: dict[str, Any]) -> ModelAnswer:
    """Return an answer of the model."""
    return ModelAnswer("msg_1", ({"type": "text", "text": text}, *blocks), {"output_tokens": 1})


def answering(text: str, *blocks: dict[str, Any]) -> Reply:
    """Return what answers every request with the same text."""

    def reply(handler: _Handler) -> None:
        if handler.body.get("stream"):
            content = stream(answer(text, *blocks), "m-1")
            handler.send_content(200, "text/event-stream; charset=utf-8", content)
        else:
            handler.send_json(200, message(answer(text, *blocks), "m-1"))

    return reply


def prompt(iteration: int = 1, text: str = "Do it.") -> list[dict[str, Any]]:
    """Return a conversation that begins."""
    marker = PromptMarker(Instruction.CODING, iteration)
    return [{"role": "user", "content": f"{marker.render()}\n{text}"}]


def ask(
    base_url: str,
    messages: list[dict[str, Any]],
    headers: dict[str, str] | None = None,
    *,
    tools: int = 1,
    streamed: bool = True,
) -> http.client.HTTPResponse:
    """Send a request for messages; return the answer as soon as its headers are there."""
    connection = http.client.HTTPConnection(urlsplit(base_url).netloc, timeout=SECONDS)
    offered = [{"name": "Bash"}] * tools
    body = json.dumps({"model": "m-1", "messages": messages, "stream": streamed, "tools": offered})
    sent = {"Connection": "close", **(headers or {})}
    try:
        connection.request("POST", "/v1/messages?beta=true", body, sent)
        response = connection.getresponse()
    except BaseException:
        connection.close()
        raise
    _answers.append(response)
    return response


@pytest.fixture(autouse=True)
def _close_the_answers() -> Iterator[None]:
    """Close what a failed test left open: the next test would get the warning about it."""
    yield
    while _answers:
        _answers.pop().close()


@pytest.fixture
def api() -> Iterator[Api]:
    server = Api()
    server.start()
    yield server
    server.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.toml"


@pytest.fixture
def recorder(api: Api, path: Path, tmp_path: Path) -> Iterator[Recorder]:
    environ = {"ANTHROPIC_BASE_URL": api.base_url, "SOME_TOKEN": f"{CANARY}-of-the-environment"}
    with Recorder(path, project=tmp_path / "project", environ=environ) as started:
        yield started


def _url(recorder: Recorder) -> str:
    return recorder.agent_environment()["ANTHROPIC_BASE_URL"]


def _texts(path: Path) -> list[str | None]:
    return [turn.text for session in load_script(path).session for turn in session.turn]


def _until(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + SECONDS
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


@pytest.mark.parametrize("streamed", [True, False])
def test_an_answer_passes_unchanged_and_is_recorded(
    recorder: Recorder, path: Path, streamed: bool
) -> None:
    got = ask(_url(recorder), prompt(), streamed=streamed).read()
    whole = answer("Hi")
    assert got == (stream(whole, "m-1") if streamed else json.dumps(message(whole, "m-1")).encode())
    assert _texts(path) == ["Hi"]


def test_the_first_words_arrive_before_the_last_are_said(api: Api, recorder: Recorder) -> None:
    heard = threading.Event()
    first, _, rest = stream(answer("Hi"), "m-1").partition(b"\n\n")

    def reply(handler: _Handler) -> None:
        handler.start_stream()
        handler.say(first + b"\n\n")
        if heard.wait(SECONDS):
            handler.say(rest)

    api.reply = reply
    response = ask(_url(recorder), prompt())
    assert response.read(len(first)) == first
    heard.set()
    assert response.read().endswith(rest)


def test_credentials_reach_the_api_and_compression_is_not_asked_for(
    api: Api, recorder: Recorder
) -> None:
    headers = {"x-api-key": CANARY, "accept-encoding": "br", "x-app": "cli"}
    ask(_url(recorder), prompt(), headers).read()
    sent = api.headers[0]
    assert (sent["x-api-key"], sent["x-app"], sent["accept-encoding"]) == (
        CANARY,
        "cli",
        "identity",
    )
    assert (api.paths, sent["host"]) == (["/v1/messages?beta=true"], urlsplit(api.base_url).netloc)


def test_the_path_of_a_gateway_stays_in_front(api: Api, path: Path, tmp_path: Path) -> None:
    environ = {"ANTHROPIC_BASE_URL": f"{api.base_url}/gateway/"}
    with Recorder(path, project=tmp_path / "project", environ=environ) as recorder:
        ask(_url(recorder), prompt()).read()
    assert api.paths == ["/gateway/v1/messages?beta=true"]


def test_failures_pass_unchanged_and_are_counted(api: Api, recorder: Recorder, path: Path) -> None:
    headers = {"retry-after": "1", "request-id": "req_1"}
    api.reply = lambda handler: handler.send_json(529, failure(529, "Overloaded"), headers)
    for _ in range(2):
        response = ask(_url(recorder), prompt())
        assert (response.status, response.headers["request-id"]) == (529, "req_1")
        assert json.loads(response.read()) == failure(529, "Overloaded")
    api.reply = answering("At last")
    ask(_url(recorder), prompt()).read()
    failed, said = load_script(path).session[0].turn
    assert failed.error is not None
    assert failed.error.model_dump() == {
        "status": 529,
        "message": "Overloaded",
        "type": "overloaded_error",
        "times": 2,
        "headers": {"retry-after": "1"},
    }
    assert said.text == "At last"


def test_a_redirect_is_for_the_agent_to_decide(api: Api, recorder: Recorder) -> None:
    api.reply = lambda handler: handler.send_json(307, {}, {"location": "http://127.0.0.1:9/"})
    response = ask(_url(recorder), prompt())
    assert (response.status, response.headers["location"]) == (307, "http://127.0.0.1:9/")


def test_an_api_that_is_not_there_is_a_failure_with_its_reason(path: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    environ = {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}"}
    with Recorder(path, project=tmp_path / "project", environ=environ) as recorder:
        response = ask(_url(recorder), prompt())
        text = json.loads(response.read())["error"]["message"]
    assert (response.status, "could not reach" in text) == (502, True)
    error = load_script(path).session[0].turn[0].error
    assert error is not None
    assert error.status == HTTPStatus.BAD_GATEWAY


@pytest.mark.parametrize("sized", [True, False])
def test_an_answer_that_breaks_off_breaks_off_for_the_agent_too(
    api: Api, recorder: Recorder, path: Path, sized: bool
) -> None:
    whole = stream(answer("Hi"), "m-1")

    def reply(handler: _Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        if sized:
            handler.send_header("Content-Length", str(len(whole)))
            handler.end_headers()
            handler.say(whole[:40])
        else:
            handler.send_header("Transfer-Encoding", "chunked")
            handler.end_headers()
            handler.say(b"28\r\n" + whole[:40] + b"\r\n")
        handler.close_connection = True

    api.reply = reply
    with pytest.raises(http.client.IncompleteRead):
        ask(_url(recorder), prompt()).read()
    assert _until(lambda: any("broke off" in warning for warning in recorder.warnings()))
    recorder.save()
    assert not path.exists()


@pytest.mark.parametrize("started", [True, False])
def test_an_agent_that_goes_away_ends_the_request_to_the_api(
    api: Api, recorder: Recorder, started: bool
) -> None:
    asked, ended = threading.Event(), threading.Event()

    def reply(handler: _Handler) -> None:
        if started:
            handler.start_stream()
        asked.set()
        handler.connection.settimeout(SECONDS)
        if handler.connection.recv(1) == b"":
            ended.set()

    api.reply = reply
    talk = {"messages": prompt(), "stream": True, "tools": [{"name": "Bash"}]}
    body = json.dumps(talk).encode()
    address = urlsplit(_url(recorder))
    with socket.create_connection((str(address.hostname), int(address.port or 0))) as client:
        head = f"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
        client.sendall(head.encode() + body)
        assert asked.wait(SECONDS)
    assert ended.wait(SECONDS)
    assert list(recorder.warnings()) == ["1 session ended before the model answered; left out."]


def test_a_huge_answer_reaches_a_slow_client_as_a_whole(
    api: Api, recorder: Recorder, path: Path
) -> None:
    text = "0123456789abcde\n" * (256 * 1024)  # 4 MiB: more than the buffers between them hold
    api.reply = answering(text)
    response = ask(_url(recorder), prompt())
    got = bytearray()
    while chunk := response.read1(256 * 1024):
        got += chunk
        time.sleep(0.005)
    assert bytes(got) == stream(answer(text), "m-1")
    assert _texts(path) == [text]


def test_conversations_at_the_same_time_do_not_mix(
    api: Api, recorder: Recorder, path: Path
) -> None:
    def reply(handler: _Handler) -> None:
        answering(handler.body["messages"][0]["content"].partition("\n")[2])(handler)

    api.reply = reply
    with ThreadPoolExecutor(8) as pool:
        talks = [prompt(number, f"Number {number}.") for number in range(1, 25)]
        for response in pool.map(lambda talk: ask(_url(recorder), talk), talks):
            response.read()
    recorder.save()
    said = {session.iteration: session.turn[0].text for session in load_script(path).session}
    assert said == {number: f"Number {number}." for number in range(1, 25)}


def test_each_session_is_on_disk_when_it_is_over(recorder: Recorder, path: Path) -> None:
    counts = []
    for number in (1, 2):
        ask(_url(recorder), prompt(number)).read()
        counts.append(len(load_script(path).session))
    assert counts == [1, 2]


def test_a_session_that_ended_in_between_is_on_disk_when_the_next_begins(
    api: Api, recorder: Recorder, path: Path
) -> None:
    api.reply = answering("", {"type": "tool_use", "id": "t", "name": "Bash", "input": {}})
    ask(_url(recorder), prompt(1)).read()
    api.reply = lambda handler: handler.start_stream()
    ask(_url(recorder), prompt(2)).read()
    assert [session.iteration for session in load_script(path).session] == [1]


def test_the_agents_own_housekeeping_is_not_recorded(recorder: Recorder, path: Path) -> None:
    title = {"role": "user", "content": f"Write a title for: {prompt()[0]['content']}"}
    ask(_url(recorder), [title], tools=0).read()
    recorder.save()
    assert (path.exists(), list(recorder.warnings())) == (False, [])


def test_a_secret_in_the_traffic_is_nowhere_in_the_file(
    api: Api, recorder: Recorder, path: Path
) -> None:
    pat, env = "ghp_" + "A1b2" * 9, f"{CANARY}-of-the-environment"
    secrets = (f"{CANARY}-key", f"{CANARY}-bearer", env, pat)
    said = " ".join(secrets)
    call = {"type": "tool_use", "id": "t", "name": "Bash", "input": {said: said, "null": None}}
    api.reply = answering(said, call)
    headers = {"x-api-key": secrets[0], "authorization": f"Bearer {secrets[1]}"}
    talk = prompt(text=said)
    ask(_url(recorder), talk, headers).read()
    code = base64.b64encode(said.encode()).decode()
    result = {"type": "tool_result", "tool_use_id": "t", "content": f"{said}\n{code}"}
    talk += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    ask(_url(recorder), talk, headers).read()
    api.reply = lambda handler: handler.send_json(403, failure(403, f"no {said}"))
    ask(_url(recorder), [*talk, talk[1], talk[2]], headers).read()
    recorder.save()
    written = path.read_text()
    assert written.count("[secret]") > 8
    assert [secret for secret in (*secrets, code, CANARY) if secret in written] == []


def test_a_recording_that_can_not_be_written_does_not_disturb_the_run(
    recorder: Recorder, path: Path
) -> None:
    path.mkdir()
    assert ask(_url(recorder), prompt()).read()
    assert any("The recording is not complete" in warning for warning in recorder.warnings())


@pytest.mark.parametrize("name", ["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"])
def test_another_cloud_is_refused_before_anything_starts(
    path: Path, tmp_path: Path, name: str
) -> None:
    recorder = Recorder(path, project=tmp_path / "project", environ={name: "1"})
    with pytest.raises(ConfigError, match=name), recorder:
        pass


@pytest.mark.parametrize("url", ["ftp://x", "api.anthropic.com", "http://", "http://[x"])
def test_an_address_that_is_none_is_refused(path: Path, tmp_path: Path, url: str) -> None:
    recorder = Recorder(path, project=tmp_path / "project", environ={"ANTHROPIC_BASE_URL": url})
    with pytest.raises(ConfigError, match="ANTHROPIC_BASE_URL"), recorder:
        pass


def test_a_file_that_is_something_else_is_refused_and_kept(path: Path, tmp_path: Path) -> None:
    path.write_text("dear diary")
    recorder = Recorder(path, project=tmp_path / "project", environ={})
    with pytest.raises(UsageError), recorder:
        pass
    assert path.read_text() == "dear diary"


def test_the_users_exceptions_from_a_proxy_stay(path: Path, tmp_path: Path) -> None:
    environ = {"NO_PROXY": "example.org"}
    with Recorder(path, project=tmp_path / "project", environ=environ) as recorder:
        assert recorder.agent_environment()["NO_PROXY"] == "example.org,127.0.0.1"


def test_what_was_recorded_plays_to_the_same_answers(path: Path, tmp_path: Path) -> None:
    script = """
    [[session]]
    instruction = "coding"
    [[session.turn]]
    thinking = "Hm."
    text = "Say {{ nothing }} twice."
    tools = [{ name = "Bash", input = { command = "ls {{project}}" } }]
    usage = { input_tokens = 5, output_tokens = 6 }
    [[session.turn]]
    error = { status = 529, times = 1 }
    [[session.turn]]
    text = "Done."
    stop_reason = "max_tokens"
    """
    project = tmp_path / "project"
    source = parse_script(script, name="test")
    with (
        ScriptedModel(source, project=project) as model,
        Recorder(path, project=project, environ={"ANTHROPIC_BASE_URL": model.base_url}) as recorder,
    ):
        first = _talk(_url(recorder))
    with ScriptedModel(load_script(path), project=project) as model:
        second = _talk(model.base_url)
        assert (model.divergences, model.unplayed()) == ([], [])
    assert first == second


def _talk(base_url: str) -> list[tuple[int, Any]]:
    talk, got = prompt(), []
    for _ in range(3):
        response = ask(base_url, talk, {"x-claude-code-session-id": "one"}, streamed=False)
        body = json.loads(response.read())
        got.append((response.status, body))
        if response.status == HTTPStatus.OK:
            talk = [*talk, {"role": "assistant", "content": body["content"]}]
            calls = [block["id"] for block in body["content"] if block["type"] == "tool_use"]
            results = [{"type": "tool_result", "tool_use_id": i, "content": "a b"} for i in calls]
            talk = [*talk, {"role": "user", "content": results}]
    return got


def _nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("given", [{"a": _nested(400)}, {"a": _nested(150)}, ["no", "object"]])
def test_what_no_script_can_say_reaches_the_agent_and_is_told(
    api: Api, path: Path, tmp_path: Path, given: Any, *, streamed: bool
) -> None:
    api.reply = answering("Hi", {"type": "tool_use", "id": "t", "name": "Bash", "input": given})
    environ = {"ANTHROPIC_BASE_URL": api.base_url}
    with Recorder(path, project=tmp_path / "project", environ=environ) as recorder:
        said = ask(_url(recorder), prompt(), streamed=streamed).read()
    assert said.rstrip().endswith(b"}")
    assert "1 answer of the API broke off or could not be written down; left out." in list(
        recorder.warnings()
    )


def test_what_is_nested_in_many_levels_can_be_played(api: Api, path: Path, tmp_path: Path) -> None:
    given = {"a": _nested(90)}
    api.reply = answering("Hi", {"type": "tool_use", "id": "t", "name": "Bash", "input": given})
    environ = {"ANTHROPIC_BASE_URL": api.base_url}
    with Recorder(path, project=tmp_path / "project", environ=environ) as recorder:
        ask(_url(recorder), prompt()).read()
    assert load_script(path).session[0].turn[0].tools[0].rendered({}) == given


def test_a_request_that_can_not_be_understood_is_passed_on(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mistaken(*_: object) -> None:
        raise RecursionError

    monkeypatch.setattr("runner.replay.recording.proxy.find_place", mistaken)
    assert ask(_url(recorder), prompt()).status == HTTPStatus.OK
    assert any("could not be written down" in warning for warning in recorder.warnings())


def test_a_status_that_is_none_and_counts_below_zero_can_be_loaded_again(
    api: Api, recorder: Recorder, path: Path
) -> None:
    api.reply = lambda handler: handler.send_json(999, failure(999, "odd"))
    ask(_url(recorder), prompt()).read()
    odd = ModelAnswer("msg_1", ({"type": "text", "text": "Hi"},), {"input_tokens": -1})
    api.reply = lambda handler: handler.send_json(200, message(odd, "m-1"))
    ask(_url(recorder), prompt(), streamed=False).read()
    recorder.save()
    failed, said = load_script(path).session[0].turn
    assert (failed.error and failed.error.status, said.usage and said.usage.input_tokens) == (
        599,
        None,
    )


def test_two_runs_that_record_to_one_file_are_told(
    api: Api, recorder: Recorder, path: Path, tmp_path: Path
) -> None:
    ask(_url(recorder), prompt()).read()
    environ = {"ANTHROPIC_BASE_URL": api.base_url}
    with Recorder(path, project=tmp_path / "project", environ=environ) as other:
        ask(_url(other), prompt()).read()
    ask(_url(recorder), prompt(2)).read()
    recorder.save()
    assert any("changed by somebody else" in warning for warning in recorder.warnings())


def test_a_recording_that_did_not_grow_is_not_written_again(recorder: Recorder, path: Path) -> None:
    ask(_url(recorder), prompt()).read()
    before = path.stat().st_ino, path.stat().st_mtime_ns
    recorder.save()
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == before


@pytest.mark.parametrize("name", ["~nobody-of-this-name/x.toml", "loop", "x\0y", "a" * 300])
def test_a_file_that_can_not_be_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    wanted = Path(name) if name.startswith("~") else tmp_path / name
    with pytest.raises(UsageError, match="can't be"):
        Recorder(wanted, project=tmp_path / "project", environ={}).__enter__()
