"""Where a notification goes: the user's command, or a webhook.

Neither may hold or harm the run: both have a time limit, whatever is on the other side, and no
message of theirs shows an address, which is often a secret.
"""

import base64
import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request
from collections.abc import Sequence
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, InvalidURL
from pathlib import Path
from typing import Any, NoReturn, Protocol
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from runner import __version__
from runner.credentials import Redactor
from runner.errors import PrerequisiteError
from runner.programs import UsersCommand, users_command
from runner.text.messages import reason
from runner.text.safe import inert

SECONDS = 10.0
"""For one try."""

_LAST_WORDS_SECONDS = 0.5  # for what a command wrote just before it ended
_TAIL = 4096  # bytes of its errors that are kept
_SHOWN = 200
_AN_ADDRESS = re.compile(r"(\w+://)(?:[^\s/?#\"'@]*@)?([^\s/?#\"'@]+)[^\s\"']*")
# Whoever says so may say something else in some seconds.
_PASSING = frozenset({
    HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.LOCKED, HTTPStatus.TOO_EARLY,
    HTTPStatus.TOO_MANY_REQUESTS,
})  # fmt: skip
_INVALID = "its address is not a valid one."  # whose own words repeat the address


class NotSentError(Exception):
    """A try to send a notification failed.

    Attributes:
        final: whether another try would fail as well.
    """

    def __init__(self, text: str, *, final: bool = False) -> None:
        super().__init__(text)
        self.final = final


class Target(Protocol):
    """Whom a notification is sent to.

    Attributes:
        title: in words, without a secret.
    """

    title: str

    def check(self) -> None:
        """See whether anything could arrive, as far as that shows without sending.

        Raises:
            NotSentError: nothing could.
        """

    def send(self, event: str, body: bytes) -> None:
        """Send a notification once.

        Raises:
            NotSentError: it did not arrive, as far as can be told.
        """

    def give_up(self) -> None:
        """End what is under way; nothing is sent any more."""


class CommandTarget:
    """Runs the user's command with the payload on its standard input, in a session of its own.

    Nothing of it may be the agents' to write.

    Args:
        command: the program and its arguments.
        project: the project that agents work on.
    """

    def __init__(self, command: Sequence[str], project: Path) -> None:
        self.title = f"the command {command[0]}"
        self._command = command
        self._project = project
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._over = False

    def check(self) -> None:
        """Look whether there is such a program, and whether it may be started."""
        self._ready()

    def send(self, event: str, body: bytes) -> None:
        """Run the command. What it leaves running when it ends well goes on."""
        # A file and not a pipe: a command that doesn't read it neither waits nor breaks one.
        try:
            with tempfile.TemporaryFile() as payload:
                payload.write(body)
                payload.seek(0)
                process = self._start(event, payload)
        except (OSError, ValueError) as error:
            raise NotSentError(f"{reason(error)}.", final=True) from error
        heard = _Tail(process)
        try:
            code = process.wait(SECONDS)
        except subprocess.TimeoutExpired as error:
            _kill(process)
            raise NotSentError(f"it took longer than {SECONDS:g} s.") from error
        finally:
            with self._lock:
                self._running.discard(process)
        if code != 0:
            raise NotSentError(f"exit code {code}. {heard.last_line()}".strip())

    def give_up(self) -> None:
        """Kill it with everything that it started."""
        with self._lock:
            self._over = True
            for process in self._running:
                _kill(process)

    def _start(self, event: str, payload: Any) -> "subprocess.Popen[bytes]":
        ready = self._ready()
        with self._lock:
            if self._over:
                raise NotSentError("it was given up.", final=True)
            process = subprocess.Popen(
                ready.words,
                executable=ready.program,
                stdin=payload,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env={**ready.environ, "AUTORUNNER_EVENT": event},
                cwd=ready.folder,
                start_new_session=True,
            )
            self._running.add(process)
            return process

    def _ready(self) -> UsersCommand:
        """Return how to start it. Raises NotSentError where nothing is to be trusted."""
        try:
            return users_command(self._command, self._project)
        except PrerequisiteError as error:
            raise NotSentError(str(error), final=True) from error


class _Tail:
    """The end of what a process says on stderr.

    It is read beside it: whatever the process left behind may hold the pipe for as long as it
    likes, and write as much.
    """

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._kept = b""
        self._thread = threading.Thread(target=self._read, args=(process,), daemon=True)
        self._thread.start()

    def _read(self, process: "subprocess.Popen[bytes]") -> None:
        if process.stderr is None:
            return
        with process.stderr as pipe:
            while piece := os.read(pipe.fileno(), _TAIL):
                self._kept = (self._kept + piece)[-_TAIL:]

    def last_line(self) -> str:
        """Return the last line so far, without anything that could be a secret or do harm."""
        self._thread.join(_LAST_WORDS_SECONDS)
        lines = self._kept.decode("utf-8", "replace").strip().splitlines()
        said = Redactor(os.environ).text(lines[-1]) if lines else ""
        return inert(_AN_ADDRESS.sub(r"\1\2/…", said), _SHOWN)


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """Kill a process and all of its session that did not leave it; it is gone afterwards."""
    if process.poll() is None:
        with contextlib.suppress(OSError):
            if sys.platform == "win32":
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class WebhookTarget:
    """Posts the payload to an address.

    Args:
        address: the address, or `$NAME` for the variable that holds it.
    """

    title = "the webhook"

    def __init__(self, address: str) -> None:
        self._address = address

    def check(self) -> None:
        """Look whether the address is known and could be one."""
        self._parts()

    def send(self, event: str, body: bytes) -> None:
        """Post it. The answer's body is not read, and redirects are not followed."""
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"runner/{__version__}",
            "X-Runner-Event": event,
        }
        url, authorization = self._parts()
        try:
            # The scheme was checked, and the opener knows no other.
            request = urllib.request.Request(  # noqa: S310
                url, data=body, headers={**headers, **authorization}
            )
        except ValueError as error:
            raise NotSentError(_INVALID, final=True) from error
        _post(request)

    def give_up(self) -> None:
        """Nothing to do: its thread ends with the program, and its time is limited."""

    def _parts(self) -> tuple[str, dict[str, str]]:
        address = self._known_address()
        try:
            return _without_credentials(urlsplit(address))
        except ValueError as error:
            raise NotSentError(_INVALID, final=True) from error

    def _known_address(self) -> str:
        if not self._address.startswith("$"):
            return self._address
        name = self._address[1:]
        address = os.environ.get(name, "").strip()
        if not address.startswith(("https://", "http://")):
            raise NotSentError(f"the variable {name} holds no http address.", final=True)
        return address


def _without_credentials(address: SplitResult) -> tuple[str, dict[str, str]]:
    """Return the address as it is asked for, and the header that its user and password make."""
    userinfo, at, host = address.netloc.rpartition("@")
    if not address.hostname or address.port == 0:
        raise ValueError("no host")
    url = urlunsplit(address._replace(netloc=host))
    if not at:
        return url, {}
    code = base64.b64encode(unquote(userinfo).encode()).decode()
    return url, {"Authorization": f"Basic {code}"}


def _post(request: urllib.request.Request) -> None:
    limit = _Limit()
    try:
        with limit, _opener(limit).open(request, timeout=SECONDS):
            pass
    except UnicodeError as error:
        raise NotSentError(_INVALID, final=True) from error
    except urllib.error.HTTPError as error:
        with error:
            _refused(error.code)
    except InvalidURL as error:
        raise NotSentError(_INVALID, final=True) from error
    except (OSError, ValueError, HTTPException) as error:
        if limit.over:
            raise NotSentError(f"it took longer than {SECONDS:g} s.") from error
        cause = getattr(error, "reason", error)
        why = reason(cause) if isinstance(cause, BaseException) else str(cause)
        raise NotSentError(f"{inert(_AN_ADDRESS.sub('…', why), _SHOWN)}.") from error


def _refused(status: int) -> NoReturn:
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        raise NotSentError(
            f"it answered {status}, a redirect, which is not followed: name the address that it "
            "leads to.",
            final=True,
        )
    passing = status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in _PASSING
    raise NotSentError(f"it answered {status}.", final=not passing)


class _Limit:
    """Ends the connections of a request when its time is over, whatever trickles in meanwhile."""

    def __init__(self) -> None:
        self._connections: list[HTTPConnection] = []
        self._timer = threading.Timer(SECONDS, self._end)
        self._timer.daemon = True
        self.over = False

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def http(self, *args: Any, **options: Any) -> HTTPConnection:
        """Return a connection that is ended in time."""
        return self._noted(HTTPConnection(*args, **options))

    def https(self, *args: Any, **options: Any) -> HTTPConnection:
        """Return a connection with TLS that is ended in time."""
        return self._noted(HTTPSConnection(*args, **options))

    def _noted(self, connection: HTTPConnection) -> HTTPConnection:
        self._connections.append(connection)
        return connection

    def _end(self) -> None:
        self.over = True
        for connection in self._connections:
            with contextlib.suppress(OSError, TypeError):  # it may be closed already
                # Below TLS, whose own shutdown is not made for two threads.
                socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)


class _Http(urllib.request.HTTPHandler):
    def __init__(self, limit: _Limit) -> None:
        super().__init__()
        self._limit = limit

    def http_open(self, req: urllib.request.Request) -> HTTPResponse:
        return self.do_open(self._limit.http, req)


class _Https(urllib.request.HTTPSHandler):
    def __init__(self, limit: _Limit) -> None:
        super().__init__()
        self._limit = limit

    def https_open(self, req: urllib.request.Request) -> HTTPResponse:
        return self.do_open(self._limit.https, req)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would lose the payload, or carry it to whom nobody named."""

    def redirect_request(self, *_: object) -> None:
        return None


def _opener(limit: _Limit) -> urllib.request.OpenerDirector:
    """Return what knows http and https alone."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        _Http(limit),
        _Https(limit),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _NoRedirects(),
    ):
        opener.add_handler(handler)
    return opener
