"""A small HTTP server on 127.0.0.1 that can be closed at once, whatever it is doing."""

import json
import socket
import sys
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any, Generic, TypeVar

from runner.errors import PrerequisiteError
from runner.replay.ask import BadRequestError
from runner.replay.wire import Json, failure

HOST = "127.0.0.1"
_MAX_BODY = 64 * 1024 * 1024
_POLL_SECONDS = 0.02
_CLOSE_SECONDS = 1.0


class LoopbackServer(ThreadingHTTPServer):
    """Answers each connection in a thread of its own.

    Attributes:
        closing: set as soon as the server is to end.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self, port: int, handler: "type[LoopbackHandler[Any]]", name: str) -> None:
        self.closing = threading.Event()
        self._open: set[socket.socket] = set()
        self._changed = threading.Condition()
        self._thread = threading.Thread(
            target=self.serve_forever,
            kwargs={"poll_interval": _POLL_SECONDS},
            name=name,
            daemon=True,
        )
        try:
            super().__init__((HOST, port), handler)
        except OSError as error:
            raise PrerequisiteError(
                f"Port {port} on {HOST} can't be listened on: {error.strerror}.",
                hint="Choose another port, or leave the choice to the system.",
            ) from error

    @property
    def base_url(self) -> str:
        """Where it listens, e.g. `http://127.0.0.1:40123`."""
        return f"http://{HOST}:{self.server_address[1]}"

    def start(self) -> None:
        """Answer in threads from now on."""
        self._thread.start()

    def close(self) -> None:
        """Stop listening, drop every connection, and wait shortly until its thread has ended."""
        self.shutdown()
        self._thread.join()
        self.closing.set()
        with self._changed:
            for connection in self._open:
                shut_down(connection)
            self._changed.wait_for(lambda: not self._open, timeout=_CLOSE_SECONDS)
        self.server_close()

    def failed(self, error: BaseException | None) -> None:
        """Take note of a mistake of ours while a request was answered."""

    def server_bind(self) -> None:
        # HTTPServer would look up the host's name, which can take seconds.
        TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, self.server_address[1]

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

    def handle_error(self, *_: Any, **__: Any) -> None:
        error = sys.exception()
        # A client that goes away in the middle of an answer is nothing to report.
        if not isinstance(error, OSError):
            self.failed(error)


S = TypeVar("S", bound=LoopbackServer)


class LoopbackHandler(BaseHTTPRequestHandler, Generic[S]):
    """Reads requests with a length, and answers in the shape of the Messages API."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: S

    def answer(self) -> None:
        """Answer the request, whatever its method."""
        raise NotImplementedError

    def do_GET(self) -> None:
        self.answer()

    def do_HEAD(self) -> None:
        self.answer()

    def do_POST(self) -> None:
        self.answer()

    def read_body(self) -> bytes:
        """Return the body of the request.

        Raises:
            BadRequestError: it has no length, or is too large.
        """
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
        self.send_failure(code, message or explain or HTTPStatus(code).phrase)

    def send_failure(self, status: int, text: str) -> None:
        """Answer with an error of the API."""
        self.send_json(status, failure(status, text))

    def send_json(self, status: int, body: Json, headers: dict[str, str] | None = None) -> None:
        """Answer with a JSON object."""
        self.send_content(status, "application/json", json.dumps(body).encode(), headers)

    def send_content(
        self, status: int, kind: str, body: bytes, headers: dict[str, str] | None = None
    ) -> None:
        """Answer with a body of a media type."""
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
        """Say nothing: the terminal belongs to whoever started the server."""


def shut_down(connection: socket.socket) -> None:
    """Wake whoever reads or writes a connection; one that is closed already is fine."""
    try:
        # Below TLS: its own shutdown is not made for a connection that another thread reads.
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
    except OSError:
        return  # the other side was faster
