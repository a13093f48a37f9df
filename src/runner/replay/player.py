"""Decide what the scripted model answers to a request.

A conversation is one marker prompt inside one agent session. Which turn comes next is read
from the request itself, by counting the model's turns since that prompt; so a request that is
sent again gets the same answer, and any number of conversations can go on at once. What is
remembered is only which script session a conversation was given, and how often it failed.
"""

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from runner.marker import PromptMarker
from runner.replay.cleaner import Cleaner
from runner.replay.heard import by_model, last_results, unlike_recorded
from runner.replay.places import Places
from runner.replay.script import (
    PLAN_REVIEWER,
    Failure,
    ModelScript,
    ScriptSession,
    ScriptTurn,
    Usage,
    fill,
    unfilled,
)
from runner.replay.wire import (
    Json,
    ModelAnswer,
    estimate_tokens,
    natural_stop,
    stable_id,
    user_texts,
)

_SMALL_TALK = "OK"
_EXCERPT = 200
_NOTHING_ASKED = (
    "No session of the recording was asked for. Is the project as it was before the recorded run, "
    "with its .runner/ of then?"
)


@dataclass(frozen=True, slots=True)
class Divergence:
    """A place where the conversation left the script.

    Attributes:
        marker: the prompt, None when there was none.
        turn: the model's turn, counted from 1.
    """

    marker: PromptMarker | None
    turn: int
    message: str

    def __str__(self) -> str:
        return f"Turn {self.turn} of {_in_words(self.marker)}: {self.message}"


@dataclass(frozen=True, slots=True)
class ConversationPlace:
    """Where in which conversation a request stands.

    Attributes:
        agent: whatever tells one agent session from another, "" when nothing does.
        prompt: how many marker prompts came before this one in the agent session.
        turn: how many turns the model has had since the prompt.
    """

    agent: str
    marker: PromptMarker | None
    prompt: int
    turn: int


def find_place(messages: Sequence[Json], agent: str) -> ConversationPlace:
    """Return where a request stands; the last prompt with a marker counts."""
    marked = [
        (index, marker)
        for index, item in enumerate(messages)
        for marker in (PromptMarker.find("\n".join(user_texts(item))),)
        if marker is not None
    ]
    start, marker = marked[-1] if marked else (0, None)
    return ConversationPlace(agent, marker, len(marked), _model_turns(messages[start:]))


_NOWHERE = Places()


class Player:
    """Plays a script. Safe to use from many threads.

    Args:
        script: what to play.
        places: what the placeholders for folders stand for.
        cleaner: makes what the agent says comparable with a recording; needed to play one.
    """

    def __init__(
        self, script: ModelScript, places: Places = _NOWHERE, cleaner: Cleaner | None = None
    ) -> None:
        self._script = script
        self._places = places
        self._cleaner = cleaner
        self._lock = threading.Lock()
        self._given: dict[ConversationPlace, ScriptSession | None] = {}
        self._used: set[int] = set()
        self._failed: Counter[tuple[ConversationPlace, int]] = Counter()
        self._divergences: dict[Divergence, None] = {}
        self._reached: Counter[int] = Counter()

    @property
    def divergences(self) -> list[Divergence]:
        """Where conversations left the script so far, in order, each once."""
        with self._lock:
            return list(self._divergences)

    def unplayed(self) -> list[str]:
        """Return in words what of a recording was not asked for; of another script nothing."""
        if self._script.recording is None:
            return []
        with self._lock:
            reached, diverged = dict(self._reached), bool(self._divergences)
        left = [
            f"Session {number} of the recording ({session.title}) {_how_far(had, answers)}."
            for number, session in enumerate(self._script.session, start=1)
            for had, answers in ((reached.get(number - 1, 0), session.answers),)
            if not session.fallback and not session.repeat and had < answers
        ]
        # One cause is enough to say, where each session would be as true and less help.
        return [_NOTHING_ASKED] if left and not reached and not diverged else left

    def diverge(self, message: str, place: ConversationPlace | None = None) -> None:
        """Note that something happened which the script does not say."""
        marker, turn = (place.marker, place.turn + 1) if place else (None, 0)
        with self._lock:
            self._divergences[Divergence(marker, turn, message)] = None

    def play(self, request: Json, place: ConversationPlace) -> ModelAnswer | Failure:
        """Return the answer to a request that stands at `place`."""
        session = self._session_for(place, has_tools=bool(request.get("tools")))
        if session is None:
            return self._plain(request, place, self._without_session(place))
        failures, turn = session.step(place.turn)
        failing = self._next_failure(place, failures)
        if failing is not None:
            return failing
        if turn is None:
            text = f"The script has no turn {place.turn + 1} for this session; it ends here."
            self.diverge(text, place)
            return self._plain(request, place, text)
        self._check(session, turn, request, place)
        return self._answer(turn, request, place)

    def _session_for(self, place: ConversationPlace, *, has_tools: bool) -> ScriptSession | None:
        talk = conversation(place)
        with self._lock:
            if talk not in self._given:
                self._given[talk] = self._choose(place.marker, has_tools=has_tools)
            return self._given[talk]

    def _choose(self, marker: PromptMarker | None, *, has_tools: bool) -> ScriptSession | None:
        for index, session in enumerate(self._script.session):
            if marker and index not in self._used and session.matches(marker):
                if not session.repeat:
                    self._used.add(index)
                return session
        # Without a marker and tools it is the agent's own housekeeping, not a prompt.
        if marker is None and not has_tools:
            return None
        if marker is not None and PLAN_REVIEWER.matches(marker):
            return PLAN_REVIEWER
        return next((s for s in self._script.session if s.fallback), None)

    def _without_session(self, place: ConversationPlace) -> str:
        if place.marker is None:
            return _SMALL_TALK
        if self._script.recording is None:
            text = f"The script has no session for {_in_words(place.marker)}."
        else:
            held = len(self._script.session)
            text = (
                f"None of the recording's {held} sessions is for this prompt (or it was asked "
                "before): the recorded run ended or was killed earlier, or went another way."
            )
        self.diverge(text, place)
        return text

    def _next_failure(
        self, place: ConversationPlace, failures: Sequence[Failure]
    ) -> Failure | None:
        key = (conversation(place), place.turn)
        with self._lock:
            left = self._failed[key]
            for failing in failures:
                if failing.times is None or left < failing.times:
                    self._failed[key] += 1
                    return failing
                left -= failing.times
        return None

    def _check(
        self, session: ScriptSession, turn: ScriptTurn, request: Json, place: ConversationPlace
    ) -> None:
        if session is PLAN_REVIEWER:
            return
        sessions = enumerate(self._script.session)
        number = next(number for number, one in sessions if one is session)
        with self._lock:
            self._reached[number] = max(self._reached[number], place.turn + 1)
        if self._cleaner is not None:
            for unlike in unlike_recorded(session, place.turn, request["messages"], self._cleaner):
                self.diverge(unlike, place)
        if turn.results is None:
            self._check_results(turn, request, place)

    def _check_results(self, turn: ScriptTurn, request: Json, place: ConversationPlace) -> None:
        failed = [result for result in last_results(request["messages"]) if result.get("is_error")]
        if turn.expect_error is None or turn.expect_error == bool(failed):
            return
        if turn.expect_error:
            self.diverge("The script expected a tool to fail, and none did.", place)
        else:
            said = str(failed[0].get("content"))[:_EXCERPT]
            self.diverge(f"The script expected no tool to fail, but one said: {said}", place)

    def _answer(self, turn: ScriptTurn, request: Json, place: ConversationPlace) -> ModelAnswer:
        values = self._values(place)
        for name in sorted(unfilled(turn, values)):
            self.diverge(f"Nothing is known to put in place of {{{{{name}}}}}.", place)
        blocks: list[Json] = []
        if turn.thinking:
            thought = fill(turn.thinking, values)
            blocks.append({"type": "thinking", "thinking": thought, "signature": "scripted"})
        if turn.text:
            blocks.append({"type": "text", "text": fill(turn.text, values)})
        for number, call in enumerate(turn.tools):
            blocks.append({
                "type": "tool_use",
                "id": stable_id("toolu", place, number),
                "name": fill(call.name, values),
                "input": call.rendered(values),
            })  # fmt: skip
        given = turn.usage or self._script.usage
        usage = {**given.model_dump(), **_estimated(given, request, blocks)}
        return ModelAnswer(
            stable_id("msg", place),
            tuple(blocks),
            usage,
            turn.delay_ms / 1000,
            turn.stop_reason or natural_stop(blocks),
        )

    def _plain(self, request: Json, place: ConversationPlace, text: str) -> ModelAnswer:
        usage = {
            "input_tokens": estimate_tokens(request.get("messages")),
            "output_tokens": estimate_tokens(text),
        }
        name = stable_id("msg", place, estimate_tokens(request), text)
        return ModelAnswer(name, ({"type": "text", "text": text},), usage)

    def _values(self, place: ConversationPlace) -> dict[str, str]:
        marker = place.marker
        known = {
            **self._places.values(),
            "task": marker and marker.task,
            "phase": marker and marker.phase,
            "iteration": marker and marker.iteration,
        }
        return {name: str(value) for name, value in known.items() if value is not None}


def _in_words(marker: PromptMarker | None) -> str:
    if marker is None:
        return "a request without a marker"
    about = marker.task or marker.phase or marker.scope
    return f"{marker.instruction}{f' {about}' if about else ''} (iteration {marker.iteration})"


def conversation(place: ConversationPlace) -> ConversationPlace:
    """Return the place at which the conversation of a place begins; it stands for it."""
    return ConversationPlace(place.agent, place.marker, place.prompt, 0)


def _model_turns(messages: Sequence[Json]) -> int:
    """Count the model's turns; one that is sent in several messages counts once."""
    return sum(by_model for by_model, _ in groupby(messages, key=by_model))


def _estimated(given: Usage, request: Json, blocks: Sequence[Json]) -> dict[str, int]:
    asked = given.input_tokens
    said = given.output_tokens
    return {
        "input_tokens": estimate_tokens(request["messages"]) if asked is None else asked,
        "output_tokens": estimate_tokens(list(blocks)) if said is None else said,
    }


def _how_far(had: int, answers: int) -> str:
    return f"ended after {had} of {answers} answers" if had else "was not asked for"
