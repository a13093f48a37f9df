"""Keep the output of a command: all of it digested, its beginning and end written down."""

import hashlib
from collections import deque
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

import anyio
from anyio.abc import ByteReceiveStream

from runner.errors import StateWriteError
from runner.files import write_error
from runner.text.safe import visible

_CHUNK_BYTES = 64 * 1024
HEAD_BYTES = 256 * 1024
TAIL_BYTES = 256 * 1024
TEXT_CHARACTERS = 8000


class OutputLog:
    """Takes the output of one command as it comes.

    The file gets the first HEAD_BYTES at once, and at the end what was left out and the last
    TAIL_BYTES.

    Args:
        path: where to keep it; must not exist.
        redact: takes credentials out of what is written down or returned. Of the digest they
            are a part: it is that of the output itself.

    Raises:
        StateWriteError: from every method, when the file could not be written.
    """

    def __init__(self, path: Path, redact: Callable[[str], str]) -> None:
        self._path = path
        self._redact = redact
        self._line = b""
        self._digest = hashlib.sha256()
        self._head = 0
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self._end = b""
        self.size = 0
        try:
            self._file = path.open("xb", buffering=0)
        except OSError as error:
            raise write_error(path, error) from error

    @property
    def digest(self) -> str:
        """SHA-256 of everything that was output, in lower-case hex."""
        return self._digest.hexdigest()

    def add(self, chunk: bytes) -> None:
        """Take the next piece of output."""
        self._digest.update(chunk)
        self.size += len(chunk)
        self._end = (self._end + chunk)[-4 * TEXT_CHARACTERS :]
        room = HEAD_BYTES - self._head
        if room > 0:
            self._head += len(chunk[:room])
            # A chunk may end anywhere; a credential seldom goes over the end of a line.
            lines, end, self._line = (self._line + chunk[:room]).rpartition(b"\n")
            self._write(self._redacted(lines + end))
        if len(chunk) > room:
            self._keep(chunk[max(room, 0) :])

    def close(self, remark: str | None = None) -> None:
        """Write what was kept back.

        Args:
            remark: a last line of ours; it is no part of the digest.
        """
        kept = b"".join(self._tail)[-TAIL_BYTES:]
        left_out = self.size - self._head - len(kept)
        if left_out > 0:
            self._write(self._redacted(self._line))
            self._write(f"\n[runner: {left_out} bytes are left out here]\n".encode())
            self._line = b""
        self._write(self._redacted(self._line + kept))
        if remark is not None:
            self._write(f"\n[runner: {remark}]\n".encode())
        self._file.close()

    def tail_text(self, remark: str | None = None) -> str:
        """Return the end of the output as harmless text, with our remark behind it."""
        end = self._redact(self._end.decode("utf-8", errors="replace"))
        text = visible(end)[-TEXT_CHARACTERS:].strip("\n")
        return "\n".join(part for part in (text, f"[runner: {remark}]" if remark else "") if part)

    def _keep(self, rest: bytes) -> None:
        self._tail.append(rest)
        self._tail_bytes += len(rest)
        while self._tail_bytes - len(self._tail[0]) >= TAIL_BYTES:
            self._tail_bytes -= len(self._tail.popleft())

    def _redacted(self, data: bytes) -> bytes:
        """Return output without credentials; bytes that are no text stay as they are."""
        text = data.decode("utf-8", errors="surrogateescape")
        return self._redact(text).encode("utf-8", errors="surrogateescape")

    def _write(self, data: bytes) -> None:
        try:
            while data:
                data = data[self._file.write(data) :]
        except OSError as error:
            raise write_error(self._path, error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._file.close()


class OutputReader:
    """Reads the output of a command until there is no more, or too much.

    Args:
        stream: what the command prints.
        log: takes what is read.
        limit: bytes after which the rest is not read.

    Attributes:
        finished: set when nothing more is read.
        is_over: whether the command printed more than `limit`.
        failure: why the output could not be kept, None where it could.
    """

    def __init__(self, stream: ByteReceiveStream, log: OutputLog, limit: int) -> None:
        self._stream = stream
        self._log = log
        self._limit = limit
        self._stop = anyio.Event()
        self.finished = anyio.Event()
        self.is_over = False
        self.failure: StateWriteError | None = None

    async def read(self) -> None:
        try:
            while not self.is_over:
                self._log.add(await self._stream.receive(_CHUNK_BYTES))
                self.is_over = self._log.size > self._limit
        except anyio.EndOfStream:
            pass
        except (StateWriteError, anyio.BrokenResourceError) as error:
            self.failure = error if isinstance(error, StateWriteError) else None
        finally:
            self.finished.set()
            if self.is_over or self.failure is not None:
                self._stop.set()

    async def cancel_when_over(self, scope: anyio.CancelScope) -> None:
        """Cancel what waits for the command when its output can't be taken any more."""
        await self._stop.wait()
        scope.cancel()
