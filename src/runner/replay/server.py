"""The scripted model as a Messages API on 127.0.0.1."""

import json
import socket
import sys
import threading
import time
from collections import deque
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from runner.errors import PrerequisiteError
from runner.replay.ask import AGENT_HEADER, Ask, BadRequestError, agent_of, parse_ask
from runner.replay.player import Divergence, Player, find_place
from runner.replay.script import Failure, Script
from runner.replay.wire import Json, estimate_tokens, failure, message, stream

_HOST = "127.0.0.1"
_MAX_BODY = 64 * 1024 * 1024
_POLL_SECONDS = 0.02
_CLOSE_SECONDS = 1.0
_KEPT_REQUESTS = 2000


class ScriptedModel:
    """A loopback Messages API that answers from a script. A context manager.

    Args:
        script: what the model says.
        project: absolute path that `{{project}}` stands for.
        port: the port to listen on; 0 for any free one.

    Raises:
        PrerequisiteError: on entering, when the port can't be listened on.
    """

    def __init__(self, script: Script, *, project: Path | None = None, port: int = 0) -> None:
        self._player = Player(script, project)
        self._port = port
        self._asked: deque[Ask] = deque(maxlen=_KEPT_REQUESTS)
        self._http: _Server | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def start(self) -> None:
        """Listen, and answer in threads of its own."""
        try:
            self._http = _Server(self._port, self._player, self._asked)
        except OSError as error:
            raise PrerequisiteError(
                f"Port {self._port} on {_HOST} can't be listened on: {error.strerror}.",
                hint="Choose another port, or leave the choice to the system.",
            ) from error
        self._thread = threading.Thread(
            target=self._http.serve_forever,
            kwargs={"poll_interval": _POLL_SECONDS},
            name="scripted-model",
            daemon=True,
        )
        self._thread.start()

    def close(self) -> None:
        """Stop listening and drop every connection. May be called twice."""
        if self._http is not None and self._thread is not None:
            self._http.shutdown()
            self._thread.join()
            self._http.drop_connections()
            self._http.server_close()
            self._http = self._thread = None

    @property
    def base_url(self) -> str:
        """Where it listens, e.g. `http://127.0.0.1:40123`. Only while it is started."""
        if self._http is None:
            raise PrerequisiteError(
                "The scripted model is not started.", hint="Use it in a with statement."
            )
        return f"http://{_HOST}:{self._http.server_address[1]}"

    @property
    def requests(self) -> list[Ask]:
        """The latest requests for messages, oldest first; at most 2000 are kept."""
        return list(self._asked)

    @property
    def divergences(self) -> list[Divergence]:
        """Where conversations left the script so far, in order, each once."""
        return self._player.divergences

    def agent_environment(self) -> dict[str, str]:
        """Return what an agent process needs in its environment to talk to this model."""
        return {
            "ANTHROPIC_BASE_URL": self.base_url,
            "ANTHROPIC_API_KEY": "scripted-model",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, port: int, player: Player, asked: deque[Ask]) -> None:
        self.player = player
        self.asked = asked
        self.closing = threading.Event()
        self._open: set[socket.socket] = set()
        self._changed = threading.Condition()
        super().__init__((_HOST, port), _Handler)

    def server_bind(self) -> None:
        # HTTPServer would look up the host's name, which can take seconds.
        TCPServer.server_bind(self)
        self.server_name, self.server_port = _HOST, self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        # Noted before the thread starts, so that closing misses none.
        with self._changed:
            self._open.add(request)
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._changed:
                self._open.discard(request)
                self._changed.notify_all()

    def drop_connections(self) -> None:
        """Wake every thread that waits for a client, and wait until all have ended."""
        self.closing.set()
        with self._changed:
            for connection in self._open:
                _shut_down(connection)
            self._changed.wait_for(lambda: not self._open, timeout=_CLOSE_SECONDS)

    def handle_error(self, *_: Any, **__: Any) -> None:
        error = sys.exception()
        # A client that goes away in the middle of an answer is nothing to report.
        if not isinstance(error, OSError):
            self.player.diverge(f"The scripted model failed: {error!r}")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: _Server

    def do_HEAD(self) -> None:
        self._send_json(HTTPStatus.OK, {})

    def do_GET(self) -> None:
        if urlsplit(self.path).path == "/":
            self._send_json(HTTPStatus.OK, {"type": "scripted_model"})
        else:
            self._send_failure(HTTPStatus.NOT_FOUND, f"There is nothing at {self.path}.")

    def do_POST(self) -> None:
        try:
            body = self._read_body()
            path = urlsplit(self.path).path
            if path == "/v1/messages":
                self._answer(parse_ask(path, body))
            elif path == "/v1/messages/count_tokens":
                tokens = estimate_tokens(parse_ask(path, body).body)
                self._send_json(HTTPStatus.OK, {"input_tokens": tokens})
            else:
                self._send_failure(HTTPStatus.NOT_FOUND, f"There is nothing at {self.path}.")
        except BadRequestError as error:
            self._send_failure(error.status, str(error))

    def _answer(self, ask: Ask) -> None:
        place = find_place(ask.messages, agent_of(self.headers.get(AGENT_HEADER), ask.body))
        self.server.asked.append(ask.placed(time.monotonic(), place))
        reply = self.server.player.play(ask.body, place)
        if isinstance(reply, Failure):
            error = failure(reply.status, reply.message, reply.type)
            self._send_json(reply.status, error, reply.headers)
        elif not self.server.closing.wait(reply.delay_seconds):
            if ask.stream:
                self._send(HTTPStatus.OK, "text/event-stream", stream(reply, ask.model))
            else:
                self._send_json(HTTPStatus.OK, message(reply, ask.model))

    def _read_body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            self.close_connection = True
            raise BadRequestError("The request needs a Content-Length.")
        if int(length) > _MAX_BODY:
            self.close_connection = True
            raise BadRequestError("The request is too large.", HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        return self.rfile.read(int(length))

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer to HTTP that the base class refuses, in the shape of the API."""
        self.close_connection = True
        self._send_failure(code, message or explain or HTTPStatus(code).phrase)

    def _send_failure(self, status: int, text: str) -> None:
        self._send_json(status, failure(status, text))

    def _send_json(self, status: int, body: Json, headers: dict[str, str] | None = None) -> None:
        self._send(status, "application/json", json.dumps(body).encode(), headers)

    def _send(
        self, status: int, kind: str, body: bytes, headers: dict[str, str] | None = None
    ) -> None:
        # What the base class refuses may have been too broken to have a version.
        self.request_version = self.protocol_version
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *_: Any, **__: Any) -> None:
        """Say nothing: the terminal belongs to whoever started the model."""


def _shut_down(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # the client was faster
