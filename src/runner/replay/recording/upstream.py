"""The real Messages API, asked for an agent.

Requests go there as they came. Proxies and certificates are those of the environment
(`HTTPS_PROXY`, `NO_PROXY`, `SSL_CERT_FILE`). Nothing here has a time limit: the agent's holds.
"""

import socket
import threading
from collections.abc import Iterable, Iterator, Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, Self
from urllib.parse import urlsplit
from urllib.request import (
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPSHandler,
    OpenerDirector,
    Request,
    build_opener,
)

from runner.errors import ConfigError
from runner.replay.loopback import shut_down

DEFAULT_URL = "https://api.anthropic.com"
_CHUNK = 64 * 1024
# Said anew by each side of a proxy; and a compressed answer could not be read on the way.
_OWN_HEADERS = frozenset({
    "host", "connection", "keep-alive", "proxy-connection", "proxy-authorization", "te",
    "trailer", "transfer-encoding", "upgrade", "content-length", "accept-encoding", "expect",
})  # fmt: skip
_OTHER_CLOUDS = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")
_WITHOUT_BODY = (204, 304)
_OFF = ("", "0", "false", "no", "off")

UNREACHABLE = (OSError, HTTPException)
"""What is raised when the API can't be reached, or breaks off."""


def upstream_url(environ: Mapping[str, str]) -> str:
    """Return where the agent would send its requests.

    Raises:
        ConfigError: to another cloud, or to an address that is none.
    """
    for name in _OTHER_CLOUDS:
        if environ.get(name, "").strip().lower() not in _OFF:
            raise ConfigError(
                f"A run can't be recorded while {name} is set: only traffic in the form of the "
                "Messages API is understood.",
                hint="Leave out --record, or unset it and give ANTHROPIC_API_KEY.",
            )
    url = environ.get("ANTHROPIC_BASE_URL") or DEFAULT_URL
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise ConfigError(
            "ANTHROPIC_BASE_URL is not the address of an HTTP server.",
            hint=f"Write it like {DEFAULT_URL}, or unset it.",
        )
    return url.rstrip("/")


class UpstreamCall:
    """One request under way, which another thread may cancel."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: socket.socket | None = None
        self.cancelled = False

    def cancel(self) -> None:
        """Break off, wherever it is."""
        with self._lock:
            self.cancelled = True
            if self._connection is not None:
                shut_down(self._connection)

    def connected(self, connection: socket.socket) -> None:
        """Take note of the connection it uses."""
        with self._lock:
            self._connection = connection
            if self.cancelled:
                shut_down(connection)


class Reply:
    """What the API answers, as it arrives. A context manager.

    Attributes:
        length: bytes of the body, None when it only shows at the end.
        has_body: False where HTTP allows none.
    """

    def __init__(self, response: HTTPResponse, method: str) -> None:
        self._response = response
        self.status = response.status
        self.has_body = method != "HEAD" and response.status not in _WITHOUT_BODY
        length = response.headers.get("Content-Length", "")
        self.length = int(length) if length.isascii() and length.isdigit() else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._response.close()

    def header(self, name: str) -> str:
        """Return a header, empty when there is none."""
        return self._response.headers.get(name, "")

    def headers(self) -> list[tuple[str, str]]:
        """Return the headers that are for the agent."""
        return for_other_side(self._response.headers.items())

    def chunks(self) -> Iterator[bytes]:
        """Yield the body piece by piece, each as soon as it is there.

        Raises:
            OSError, HTTPException: it broke off.
        """
        got = 0
        while self.has_body and (chunk := self._response.read1(_CHUNK)):
            got += len(chunk)
            yield chunk
        if self.has_body and got < (self.length or 0):
            raise ConnectionResetError("the answer broke off")


def for_other_side(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the headers that a proxy passes on."""
    return [(name, value) for name, value in headers if name.lower() not in _OWN_HEADERS]


class Upstream:
    """The API at an address, e.g. `https://api.anthropic.com`."""

    def __init__(self, url: str) -> None:
        self.url = url

    def send(
        self,
        call: UpstreamCall,
        *,
        method: str,
        path: str,
        headers: Iterable[tuple[str, str]],
        body: bytes | None,
    ) -> Reply:
        """Return the answer, whatever its status, once its headers are there.

        Raises:
            OSError, HTTPException: the API can't be reached, or the call was cancelled.
        """
        sent: dict[str, str] = {}
        for name, value in for_other_side(headers):
            # A header that stands twice says the same as one with both values.
            sent[name] = f"{sent[name]}, {value}" if name in sent else value
        request = Request(  # noqa: S310 - upstream_url made sure that it is HTTP
            self.url + path, data=body, headers=sent, method=method
        )
        return Reply(_opener(call).open(request), method)


class _AsItIs(HTTPErrorProcessor):
    """The agent sees what the API says, be it a redirect or an error, and decides itself."""

    def http_response(self, _: Request, response: HTTPResponse) -> HTTPResponse:
        return response

    def https_response(self, _: Request, response: HTTPResponse) -> HTTPResponse:
        return response


class _ToldHttp(HTTPConnection):
    def __init__(self, *args: Any, call: UpstreamCall | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self._call = call

    def connect(self) -> None:
        super().connect()
        if self._call is not None:
            self._call.connected(self.sock)


class _ToldHttps(HTTPSConnection):
    def __init__(self, *args: Any, call: UpstreamCall | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self._call = call

    def connect(self) -> None:
        super().connect()
        if self._call is not None:
            self._call.connected(self.sock)


class _Http(HTTPHandler):
    def __init__(self, call: UpstreamCall) -> None:
        super().__init__()
        self._call = call

    def http_open(self, req: Request) -> HTTPResponse:
        return self.do_open(_ToldHttp, req, call=self._call)


class _Https(HTTPSHandler):
    def __init__(self, call: UpstreamCall) -> None:
        super().__init__()
        self._call = call

    def https_open(self, req: Request) -> HTTPResponse:
        return self.do_open(_ToldHttps, req, call=self._call)


def _opener(call: UpstreamCall) -> OpenerDirector:
    return build_opener(_AsItIs, _Http(call), _Https(call))
