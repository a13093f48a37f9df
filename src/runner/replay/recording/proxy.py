"""The recorder: a Messages API on 127.0.0.1 that asks the real one, and listens."""

import contextlib
import re
import select
import socket
import threading
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from runner.errors import PrerequisiteError, RunnerError
from runner.replay.ask import AGENT_HEADER, BadRequestError, agent_of, parse_ask
from runner.replay.cleaner import Cleaner
from runner.replay.loopback import LoopbackHandler, LoopbackServer
from runner.replay.player import find_place
from runner.replay.recording.exchange import MISTAKES, Exchange
from runner.replay.recording.file import RecordingFile, check_target, target_of
from runner.replay.recording.tape import Tape
from runner.replay.recording.upstream import (
    UNREACHABLE,
    Reply,
    Upstream,
    UpstreamCall,
    upstream_url,
)

_CREDENTIAL_HEADER = re.compile("auth|key|token|secret|cookie", re.IGNORECASE)
_LOOK_SECONDS = 0.25
_EXCERPT = 200


class Recorder:
    """Records what agents and the model say to each other. A context manager.

    The file is written whenever an agent session is over, and on leaving; so who is killed
    loses at most the session that was running.

    Args:
        path: the file; written over only when it is a recording.
        project: absolute path of the project.
        environ: says where the real API is, and which secrets there are.

    Attributes:
        recorded: how many agent sessions the file holds.

    Raises:
        UsageError: at once or on entering, when the file can't be used.
        ConfigError: on entering, when the traffic can't be recorded.
    """

    def __init__(self, path: Path, *, project: Path, environ: Mapping[str, str]) -> None:
        self._path = target_of(path)
        self._project = project
        self._environ = environ
        self._writing = threading.Lock()
        self._file = RecordingFile(self._path)
        self._problem: Exception | None = None
        self._http: _Server | None = None
        self.recorded = 0
        self.cleaner = Cleaner.here(project, environ, learns=True)
        self.tape = Tape(self.cleaner)

    def __enter__(self) -> Self:
        url = upstream_url(self._environ)
        check_target(self._path, self._project)
        self._http = _Server(self, Upstream(url))
        self._http.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._http is not None:
            self._http.close()
            self._http = None
            self.save()

    def agent_environment(self) -> dict[str, str]:
        """Return what makes an agent talk to the recorder; its credentials stay its own."""
        if self._http is None:
            raise PrerequisiteError(
                "The recorder is not started.", hint="Use it in a with statement."
            )
        # A proxy that the user has set is for the recorder, not for the way to it.
        names = ("NO_PROXY", "no_proxy")
        direct = next((self._environ[name] for name in names if self._environ.get(name)), "")
        no_proxy = ",".join(filter(None, (direct, "127.0.0.1")))
        return {
            "ANTHROPIC_BASE_URL": self._http.base_url,
            **dict.fromkeys(names, no_proxy),
            # As in a replay: what the agent asks for itself must not differ between the two.
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }

    def save(self) -> None:
        """Write what was said so far. A problem is not raised: the run matters more."""
        with self._writing:
            try:
                self.recorded = self._file.write(self.tape.sessions())
            except (RunnerError, *MISTAKES) as error:
                self._problem = error
            else:
                self._problem = None

    def warnings(self) -> Iterator[str]:
        """Yield in words what went wrong with the recording, and what it does not hold."""
        if self._problem is not None:
            known = isinstance(self._problem, RunnerError)
            what = str(self._problem) if known else repr(self._problem)[:_EXCERPT]
            yield f"The recording is not complete. {what}"
        if self._file.disturbed:
            yield (
                f"{self._path} was changed by somebody else during the run, such as another run with "
                "the same --record; it holds this one. Give each run a file of its own."
            )
        yield from self.tape.warnings()


class _Server(LoopbackServer):
    def __init__(self, recorder: Recorder, upstream: Upstream) -> None:
        self.recorder = recorder
        self.upstream = upstream
        super().__init__(0, _Handler, "recorder")


class _Handler(LoopbackHandler[_Server]):
    def answer(self) -> None:
        try:
            body = self.read_body() if self.command == "POST" else None
        except BadRequestError as error:
            self.send_failure(error.status, str(error))
            return
        try:
            exchange = self._exchange(body)
        except MISTAKES:
            self.server.recorder.tape.missed()
            exchange = None
        call = UpstreamCall()
        with _cancelled_with(self.connection, call):
            try:
                reply = self.server.upstream.send(
                    call,
                    method=self.command,
                    path=self.path,
                    headers=self.headers.items(),
                    body=body,
                )
            except UNREACHABLE as error:
                self._unreachable(call, exchange, error)
                return
            with reply:
                self._pass_on(call, reply, exchange)

    def _exchange(self, body: bytes | None) -> Exchange | None:
        """Return what listens to this answer; None when it is not one of the model."""
        recorder = self.server.recorder
        for name, value in self.headers.items():
            if _CREDENTIAL_HEADER.search(name):
                recorder.cleaner.learn_secrets(value, value.rpartition(" ")[2])
        if body is None or urlsplit(self.path).path != "/v1/messages":
            return None
        try:
            ask = parse_ask(self.path, body)
        except BadRequestError:
            return None  # the API will say so
        if not ask.tool_names:
            return None  # housekeeping of the agent, which may well quote a prompt
        place = find_place(ask.messages, agent_of(self.headers.get(AGENT_HEADER), ask.body))
        if recorder.tape.asked(place, ask.messages):
            recorder.save()
        return Exchange(recorder.tape, place, ask.messages, recorder.save)

    def _unreachable(self, call: UpstreamCall, exchange: Exchange | None, error: Exception) -> None:
        self.close_connection = True
        if call.cancelled:
            return
        reason = getattr(error, "reason", error)
        text = f"The recorder could not reach {self.server.upstream.url}: {reason}"
        if exchange is not None:
            exchange.failed(HTTPStatus.BAD_GATEWAY, text)
        self.send_failure(HTTPStatus.BAD_GATEWAY, text)

    def _pass_on(self, call: UpstreamCall, reply: Reply, exchange: Exchange | None) -> None:
        listening = exchange.listen(reply) if exchange is not None else None
        try:
            self._send_head(reply, call)
            left = reply.length
            for chunk in reply.chunks():
                left = None if left is None else left - len(chunk)
                if listening is not None:
                    # Before the agent hears it: with the last word the run may be over.
                    listening.feed(chunk, last=left == 0)
                sized = reply.length is not None
                self._write(chunk if sized else b"%x\r\n%b\r\n" % (len(chunk), chunk), call)
            if listening is not None:
                listening.end()
            if reply.has_body and reply.length is None:
                self._write(b"0\r\n\r\n", call)
        except UNREACHABLE:
            # Without the mark of the end, the agent sees that it is not all.
            self.close_connection = True
            if listening is not None and not call.cancelled:
                listening.broke_off()

    def _send_head(self, reply: Reply, call: UpstreamCall) -> None:
        self.send_response_only(reply.status)
        for name, value in reply.headers():
            self.send_header(name, value)
        if reply.length is not None:
            self.send_header("Content-Length", str(reply.length))
        elif reply.has_body:
            self.send_header("Transfer-Encoding", "chunked")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self._write(b"", call)

    def _write(self, data: bytes, call: UpstreamCall) -> None:
        try:
            self.wfile.write(data)
            self.wfile.flush()
        except OSError:
            call.cancel()  # the agent is gone, and that is no failure of the API
            raise


@contextlib.contextmanager
def _cancelled_with(client: socket.socket, call: UpstreamCall) -> Iterator[None]:
    """Cancel the call as soon as the client goes away."""
    over = threading.Event()

    def watch() -> None:
        while not over.is_set():
            try:
                readable, _, _ = select.select([client], [], [], _LOOK_SECONDS)
                if readable and client.recv(1, socket.MSG_PEEK):
                    return  # it asks already for the next thing
            except (OSError, ValueError):
                readable = [client]
            if readable and not over.is_set():
                call.cancel()
                return

    watcher = threading.Thread(target=watch, name="recorder-watch", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
