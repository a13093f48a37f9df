"""The scripted model as a Messages API on 127.0.0.1."""

import os
import time
from collections import deque
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from runner.errors import PrerequisiteError
from runner.replay.ask import AGENT_HEADER, Ask, BadRequestError, agent_of, parse_ask
from runner.replay.cleaner import Cleaner
from runner.replay.loopback import LoopbackHandler, LoopbackServer
from runner.replay.places import Places
from runner.replay.player import Divergence, Player, find_place
from runner.replay.script import Failure, ModelScript
from runner.replay.wire import estimate_tokens, failure, message, stream

_KEPT_REQUESTS = 2000
_KEY = "scripted-model"


class ScriptedModel:
    """A loopback Messages API that answers from a script. A context manager.

    Args:
        script: what the model says.
        project: absolute path that `{{project}}` stands for.
        port: the port to listen on; 0 for any free one.

    Raises:
        PrerequisiteError: on entering, when the port can't be listened on.
    """

    def __init__(self, script: ModelScript, *, project: Path | None = None, port: int = 0) -> None:
        cleaner = Cleaner.here(project, os.environ)
        cleaner.learn_secrets(_KEY)
        self._player = Player(script, Places.here(project, os.environ), cleaner)
        self._port = port
        self._asked: deque[Ask] = deque(maxlen=_KEPT_REQUESTS)
        self._http: _Server | None = None

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
        self._http = _Server(self._port, self._player, self._asked)
        self._http.start()

    def close(self) -> None:
        """Stop listening and drop every connection. May be called twice."""
        if self._http is not None:
            self._http.close()
            self._http = None

    @property
    def base_url(self) -> str:
        """Where it listens, e.g. `http://127.0.0.1:40123`. Only while it is started."""
        if self._http is None:
            raise PrerequisiteError(
                "The scripted model is not started.", hint="Use it in a with statement."
            )
        return self._http.base_url

    @property
    def requests(self) -> list[Ask]:
        """The latest requests for messages, oldest first; at most 2000 are kept."""
        return list(self._asked)

    @property
    def divergences(self) -> list[Divergence]:
        """Where conversations left the script so far, in order, each once."""
        return self._player.divergences

    def unplayed(self) -> list[str]:
        """Return in words what of a recording was not asked for; of another script nothing."""
        return self._player.unplayed()

    def agent_environment(self) -> dict[str, str]:
        """Return what an agent process needs in its environment to talk to this model."""
        return {
            "ANTHROPIC_BASE_URL": self.base_url,
            "ANTHROPIC_API_KEY": _KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }


class _Server(LoopbackServer):
    def __init__(self, port: int, player: Player, asked: deque[Ask]) -> None:
        self.player = player
        self.asked = asked
        super().__init__(port, _Handler, "scripted-model")

    def failed(self, error: BaseException | None) -> None:
        self.player.diverge(f"The scripted model failed: {error!r}")


class _Handler(LoopbackHandler[_Server]):
    def answer(self) -> None:
        path = urlsplit(self.path).path
        if self.command == "POST":
            self._answer_post(path)
        elif self.command == "HEAD" or path == "/":
            self.send_json(HTTPStatus.OK, {"type": "scripted_model"})
        else:
            self._nothing_here()

    def _answer_post(self, path: str) -> None:
        try:
            body = self.read_body()
            if path == "/v1/messages":
                self._say(parse_ask(path, body))
            elif path == "/v1/messages/count_tokens":
                tokens = estimate_tokens(parse_ask(path, body).body)
                self.send_json(HTTPStatus.OK, {"input_tokens": tokens})
            else:
                self._nothing_here()
        except BadRequestError as error:
            self.send_failure(error.status, str(error))

    def _nothing_here(self) -> None:
        self.send_failure(HTTPStatus.NOT_FOUND, f"There is nothing at {self.path}.")

    def _say(self, ask: Ask) -> None:
        place = find_place(ask.messages, agent_of(self.headers.get(AGENT_HEADER), ask.body))
        self.server.asked.append(ask.placed(time.monotonic(), place))
        reply = self.server.player.play(ask.body, place)
        if isinstance(reply, Failure):
            error = failure(reply.status, reply.message, reply.type)
            self.send_json(reply.status, error, reply.headers)
        elif not self.server.closing.wait(reply.delay_seconds):
            if ask.stream:
                content = stream(reply, ask.model)
                self.send_content(HTTPStatus.OK, "text/event-stream", content)
            else:
                self.send_json(HTTPStatus.OK, message(reply, ask.model))
