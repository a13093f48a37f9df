"""A request for messages, checked, and as tests and recordings look at it."""

import json
from dataclasses import dataclass, replace
from http import HTTPStatus

from runner.marker import PromptMarker
from runner.replay.player import ConversationPlace
from runner.replay.wire import Json, text_blocks

# The header in which Claude Code names its session.
AGENT_HEADER = "x-claude-code-session-id"


class BadRequestError(Exception):
    """The request can't be answered. The message is told to the client."""

    def __init__(self, text: str, status: int = HTTPStatus.BAD_REQUEST) -> None:
        super().__init__(text)
        self.status = status


@dataclass(frozen=True, slots=True)
class Ask:
    """One request for messages.

    Attributes:
        body: the request as it came.
        time: when it was answered, on the monotonic clock, in seconds.
        marker: the prompt it belongs to, None when there is none.
        turn: how many turns the model had before since that prompt.
    """

    path: str
    body: Json
    time: float = 0.0
    marker: PromptMarker | None = None
    turn: int = 0

    @property
    def model(self) -> str:
        """The model's name."""
        return str(self.body.get("model", ""))

    @property
    def stream(self) -> bool:
        """Whether the answer is wanted as server-sent events."""
        return self.body.get("stream") is True

    @property
    def messages(self) -> list[Json]:
        """The conversation so far."""
        return list(self.body["messages"])

    @property
    def system(self) -> str:
        """The text of the system prompt."""
        return "\n".join(text_blocks(self.body.get("system")))

    @property
    def tool_names(self) -> tuple[str, ...]:
        """The tools that the model is offered."""
        return tuple(str(tool.get("name")) for tool in self.body.get("tools") or ())

    def placed(self, time: float, place: ConversationPlace) -> "Ask":
        """Return the same request with its time and its place in a conversation."""
        return replace(self, time=time, marker=place.marker, turn=place.turn)


def parse_ask(path: str, body: bytes) -> Ask:
    """Return the request in a body.

    Raises:
        BadRequestError: it is not a request for messages.
    """
    try:
        data = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadRequestError("The body is not valid JSON.") from error
    if not isinstance(data, dict):
        raise BadRequestError("The body must be a JSON object.")
    if not _objects(data.get("messages")) or not data["messages"]:
        raise BadRequestError("messages: a list with at least one message object is needed.")
    if not _objects(data.get("tools") or []):
        raise BadRequestError("tools: a list of objects is needed.")
    return Ask(path, data)


def agent_of(header: str | None, body: Json) -> str:
    """Return what tells the agent session that asks from others, "" if nothing does.

    Args:
        header: the value of AGENT_HEADER.
        body: the request.
    """
    if header:
        return header
    metadata = body.get("metadata")
    return str(metadata.get("user_id", "")) if isinstance(metadata, dict) else ""


def _objects(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)
