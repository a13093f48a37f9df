"""The protocol on standard input and output: one JSON-RPC message a line, in both directions.

The library's own transport reads in a way that nothing can interrupt, and drops a line that it
can't parse, so that its sender waits for ever. This one is ended by a signal at once, answers
every line, bounds their length, and lets calls under way be answered before it ends.
"""

import json
import math
import os
import re
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import CancelledError
from contextlib import asynccontextmanager, suppress
from fcntl import F_DUPFD_CLOEXEC, fcntl
from typing import NamedTuple

import anyio
from anyio.from_thread import BlockingPortal
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    jsonrpc_message_adapter,
)

from runner.autonomy.inputs import DuplicateKeyError, no_key_twice

MAX_LINE = 32 * 1024 * 1024
_CHUNK = 64 * 1024
_DRAIN_SECONDS = 10.0
_LONGEST_INT = 20
_STRING = rb'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"'
_TOKENS = re.compile(_STRING + rb"|[\[\]{}]")
_ID = re.compile(rb"\s*:\s*((?:-?(?:0|[1-9]\d{0,17})(?![\d.eE]))|" + _STRING + rb")")
_GONE = (anyio.BrokenResourceError, anyio.ClosedResourceError)

Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]


class Ends(NamedTuple):
    """The file descriptors that carry the protocol."""

    read: int
    write: int


def take_standard_streams() -> Ends:
    """Keep standard input and output for the protocol; whatever else prints goes to stderr.

    Raises:
        OSError: one of them is closed.
    """
    ends = Ends(fcntl(0, F_DUPFD_CLOEXEC, 3), fcntl(1, F_DUPFD_CLOEXEC, 3))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return ends


def open_standard_error() -> None:
    """Give a server whose standard error is closed one that goes nowhere.

    Else the next file that is opened took its number, and with it whatever is printed.
    """
    try:
        os.fstat(2)
    except OSError:
        nothing = os.open(os.devnull, os.O_WRONLY)
        if nothing != 2:
            os.dup2(nothing, 2)
            os.close(nothing)
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - stays


@asynccontextmanager
async def open_wire(ends: Ends) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Give the streams of messages between which a server works; ends when the input does."""
    arriving, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, leaving = anyio.create_memory_object_stream[SessionMessage](0)
    wire = _Wire(arriving, outgoing.clone())
    async with BlockingPortal() as portal, anyio.create_task_group() as tasks:
        threading.Thread(
            target=_read_into, args=(ends.read, wire, portal), name="mcp-input", daemon=True
        ).start()
        tasks.start_soon(wire.write_to, ends.write, leaving)
        try:
            yield incoming, outgoing
        finally:
            wire.close()
            await portal.stop(cancel_remaining=True)


class _Wire:
    """What connects lines and streams; knows which requests still wait for an answer."""

    def __init__(
        self, arriving: MemoryObjectSendStream[SessionMessage | Exception], replies: Outgoing
    ) -> None:
        self._arriving = arriving
        self._replies = replies
        self._waiting: set[int | str] = set()
        self._answered = anyio.Event()

    async def accept(self, line: bytes | None) -> None:
        """Pass on the message in a line, or answer that it is invalid; None is a line too long."""
        if line is None:
            text = f"A message may have {MAX_LINE} bytes."
            await self._refuse(None, INVALID_REQUEST, text)
            return
        try:
            found = json.loads(line, object_pairs_hook=no_key_twice)
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except (ValueError, RecursionError):
            await self._refuse(*_explain(line))
            return
        if isinstance(message, JSONRPCRequest):
            self._waiting.add(message.id)
        elif isinstance(message, JSONRPCNotification):
            if "id" in found:  # a request with an invalid id, which can't be answered
                await self._refuse(*_explain(line))
                return
            self._forget_cancelled(message)
        with suppress(*_GONE):
            await self._arriving.send(SessionMessage(message))

    async def finish(self) -> None:
        """Note the end of the input, once what was asked has been answered."""
        with anyio.move_on_after(_DRAIN_SECONDS):
            while self._waiting:
                await self._answered.wait()
        self._arriving.close()

    async def write_to(self, end: int, leaving: MemoryObjectReceiveStream[SessionMessage]) -> None:
        """Write messages until the server ends, or its reader does."""
        async with leaving:
            async for item in leaving:
                try:
                    await anyio.to_thread.run_sync(
                        _write, end, _line(item.message), abandon_on_cancel=True
                    )
                except OSError:
                    self._arriving.close()
                    return
                self._forget(getattr(item.message, "id", None))

    def close(self) -> None:
        self._arriving.close()
        self._replies.close()

    async def _refuse(self, request_id: int | str | None, code: int, text: str) -> None:
        error = ErrorData(code=code, message=text)
        with suppress(*_GONE):
            await self._replies.send(
                SessionMessage(JSONRPCError(jsonrpc="2.0", id=request_id, error=error))
            )

    def _forget_cancelled(self, message: JSONRPCNotification) -> None:
        if message.method == "notifications/cancelled":
            self._forget((message.params or {}).get("requestId"))

    def _forget(self, request_id: object) -> None:
        if isinstance(request_id, int | str):
            self._waiting.discard(request_id)
        self._answered.set()
        self._answered = anyio.Event()


def _read_into(end: int, wire: _Wire, portal: BlockingPortal) -> None:
    """Read until the end of the input, or of the server."""
    with suppress(RuntimeError, CancelledError):
        for line in _lines(end):
            portal.call(wire.accept, line)
        portal.call(wire.finish)


def _lines(end: int) -> Iterator[bytes | None]:
    """Yield lines that are not empty, and None for one that is too long."""
    kept, too_long = bytearray(), False
    while chunk := _read(end):
        *whole, rest = chunk.split(b"\n")
        for part in whole:
            kept += part
            if too_long or len(kept) > MAX_LINE:
                yield None
            elif kept.strip():
                yield bytes(kept)
            kept, too_long = bytearray(), False
        kept += rest
        if len(kept) > MAX_LINE:
            kept, too_long = bytearray(), True
    if kept.strip() and not too_long:
        yield bytes(kept)


def _read(end: int) -> bytes:
    """Return what has come; nothing at the end, or when the other side is gone."""
    try:
        return os.read(end, _CHUNK)
    except OSError:
        return b""


def _write(end: int, line: bytes) -> None:
    view = memoryview(line)
    while view:
        view = view[os.write(end, view) :]


def _line(message: JSONRPCMessage) -> bytes:
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"


def _explain(line: bytes) -> tuple[int | str | None, int, str]:
    """Return which request a broken line was, as far as that is known, and what is wrong."""
    try:
        found = json.loads(line, parse_int=_short_int, object_pairs_hook=no_key_twice)
    except DuplicateKeyError as error:
        return _outer_id(line), INVALID_REQUEST, f"The line is no message: {error}."
    except RecursionError:
        return _outer_id(line), PARSE_ERROR, "The line is nested too deep."
    except ValueError:
        return None, PARSE_ERROR, "The line is not JSON."
    request_id = found.get("id") if isinstance(found, dict) else None
    is_id = isinstance(request_id, int | str) and not isinstance(request_id, bool)
    if not is_id or not _is_encodable(str(request_id)):
        request_id = None
    return request_id, INVALID_REQUEST, "The line is no JSON-RPC message in valid Unicode."


def _short_int(digits: str) -> int | float:
    """Read a number whatever its length: the interpreter refuses thousands of digits."""
    return int(digits) if len(digits) < _LONGEST_INT else math.inf


def _outer_id(line: bytes) -> int | str | None:
    """Return the id of a message that a parser refuses: its sender waits for an answer."""
    depth = 0
    for token in _TOKENS.finditer(line):
        if token[0] in (b"{", b"["):
            depth += 1
        elif token[0] in (b"}", b"]"):
            depth -= 1
        elif depth == 1 and token[0] == b'"id"' and (value := _ID.match(line, token.end())):
            request_id = json.loads(value[1].decode("utf-8", "replace"))
            return request_id if _is_encodable(str(request_id)) else None
    return None


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
