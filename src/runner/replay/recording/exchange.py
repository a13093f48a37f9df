"""Listen to one answer of the API while it passes by."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from runner.replay.player import ConversationPlace
from runner.replay.recording.assemble import Body, Said, Stream, UnreadableError
from runner.replay.recording.tape import Tape
from runner.replay.recording.upstream import Reply
from runner.replay.wire import Json

_FAILURE = 400
_LAST_STATUS = 599  # what is beyond it is none, but says the same
MISTAKES = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RuntimeError)
"""What a mistake of ours raises; it must not disturb whoever passes the traffic on."""

_EVENTS = "text/event-stream"
# Without these a replay would not wait, or not see a usage limit, as the run did.
_KEPT_HEADERS = ("retry-after", "x-should-retry")
_KEPT_PREFIX = "anthropic-ratelimit-unified-"


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request for messages, and where its answer goes.

    Attributes:
        over: called when an agent session is over with the answer.
    """

    tape: Tape
    place: ConversationPlace
    messages: Sequence[Json]
    over: Callable[[], None]

    def listen(self, reply: Reply) -> "Listening":
        """Return what to feed with the answer."""
        return Listening(self, reply)

    def said(self, said: Said) -> None:
        """Take down an answer."""
        if self.tape.said(self.place, self.messages, said):
            self.over()

    def failed(
        self,
        status: int,
        message: str,
        kind: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        """Take down a failure."""
        failing: Json = {"status": status, "message": message}
        if kind:
            failing["type"] = kind
        if headers:
            failing["headers"] = headers
        self.tape.failed(self.place, failing)


class Listening:
    """Puts an answer together and takes it down once, as soon as it is complete."""

    def __init__(self, exchange: Exchange, reply: Reply) -> None:
        self._exchange = exchange
        self._status = reply.status
        self._headers = {
            name.lower(): " ".join(value.split())
            for name, value in reply.headers()
            if name.lower() in _KEPT_HEADERS or name.lower().startswith(_KEPT_PREFIX)
        }
        streamed = reply.status < _FAILURE and reply.header("Content-Type").startswith(_EVENTS)
        self._answer: Stream | Body = Stream() if streamed else Body()
        self._told = False

    def feed(self, chunk: bytes, *, last: bool = False) -> None:
        """Take the next piece. Nothing that is in it disturbs whoever passes it on."""
        if self._told:
            return
        try:
            self._answer.feed(chunk)
            if isinstance(self._answer, Stream):
                self._tell(self._answer.done)
            elif last:
                self._end()
        except (UnreadableError, *MISTAKES):
            self.broke_off()

    def end(self) -> None:
        """Take note that nothing more comes."""
        try:
            self._end()
        except (UnreadableError, *MISTAKES):
            self.broke_off()

    def _end(self) -> None:
        if self._told:
            return
        if isinstance(self._answer, Body):
            if self._status >= _FAILURE:
                self._tell_failure(self._answer)
            else:
                self._tell(self._answer.said())
        if not self._told:
            self.broke_off()

    def broke_off(self) -> None:
        """Take note that the answer did not arrive as a whole."""
        if not self._told:
            self._told = True
            self._exchange.tape.broke_off(self._exchange.place)

    def _tell(self, said: Said | None) -> None:
        if said is not None:
            self._exchange.said(said)
            self._told = True

    def _tell_failure(self, body: Body) -> None:
        error = body.json().get("error")
        error = error if isinstance(error, dict) else {}
        kind = error.get("type")
        self._exchange.failed(
            min(self._status, _LAST_STATUS),
            str(error.get("message") or f"HTTP status {self._status}"),
            kind if isinstance(kind, str) and kind else None,
            self._headers,
        )
        self._told = True
