"""What was said so far, conversation by conversation, as sessions of a script."""

import json
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from runner.marker import PromptMarker
from runner.replay.cleaner import Cleaner
from runner.replay.heard import comparable_results, prompt_text
from runner.replay.player import ConversationPlace, conversation
from runner.replay.recording.assemble import Said, UnreadableError
from runner.replay.script import DEEPEST, is_deeper
from runner.replay.wire import Json, natural_stop

_SESSION_KEYS = ("task", "phase", "scope")
_DEEPEST_TOML = 30  # levels; such a table is no longer read by anybody


@dataclass
class _Conversation:
    """A conversation in cleaned texts.

    Attributes:
        heading: the keys of its session but for the turns.
        known: how many secrets all of its texts are clean of.
    """

    heading: Json
    known: int
    turns: dict[int, Json] = field(default_factory=dict)
    failures: dict[int, list[Json]] = field(default_factory=dict)
    revision: int = 0

    def forget(self, clean: Callable[[Any], Any], known: int) -> None:
        """Take out the secrets that became known meanwhile."""
        self.heading = clean(self.heading)
        self.turns = {index: clean(turn) for index, turn in self.turns.items()}
        self.failures = {index: clean(failing) for index, failing in self.failures.items()}
        self.known = known
        self.revision += 1

    def recorded(self) -> Iterator[Json]:
        """Yield the turns up to the first that is missing."""
        for index in range(len(self.turns) + 1):
            yield from ({"error": failing} for failing in self.failures.get(index, ()))
            if index not in self.turns:
                return
            yield self.turns[index]

    @property
    def has_gap(self) -> bool:
        last = max((*self.turns, *self.failures), default=0)
        return any(index not in self.turns for index in range(last))

    @property
    def is_over(self) -> bool:
        """Whether the model's last answer asked for nothing."""
        return bool(self.turns) and not self.turns[max(self.turns)].get("tools")


class Tape:
    """Takes down conversations. Safe to use from many threads.

    Attributes:
        unmarked: requests with tools that belong to no prompt of runner.
        cut_off: answers that did not arrive as a whole, or could not be read.
    """

    def __init__(self, cleaner: Cleaner) -> None:
        self._cleaner = cleaner
        self._lock = threading.Lock()
        self._talks: dict[ConversationPlace, _Conversation] = {}
        self.unmarked = 0
        self.cut_off = 0

    def asked(self, place: ConversationPlace, messages: Sequence[Json]) -> bool:
        """Take down that a request came; one without a marker is counted only.

        Returns:
            whether a conversation begins with it, so that another one may have ended.
        """
        with self._lock:
            if place.marker is None:
                self.unmarked += 1
                return False
            if conversation(place) in self._talks:
                return False
            known = self._cleaner.knows
            heading = self._heading(place.marker, messages)
            self._talks[conversation(place)] = _Conversation(heading, known)
            return True

    def said(self, place: ConversationPlace, messages: Sequence[Json], said: Said) -> bool:
        """Take down an answer; the last one for a place counts.

        Returns:
            whether the agent session is over with it, as far as can be told.

        Raises:
            UnreadableError: no script can say it.
        """
        known = self._cleaner.knows
        turn = self._turn(said)
        if place.turn:
            turn["results"] = comparable_results(messages, self._cleaner)
        with self._lock:
            talk = self._talks.get(conversation(place))
            if talk is None:
                return False
            talk.turns[place.turn] = turn
            talk.known = min(talk.known, known)
            talk.revision += 1
            return talk.is_over

    def failed(self, place: ConversationPlace, failing: Json) -> None:
        """Take down a failure of the API; equal ones in a row are counted."""
        known = self._cleaner.knows
        clean: Json = self._cleaner.portable_json(failing)
        with self._lock:
            talk = self._talks.get(conversation(place))
            if talk is None:
                return
            before = talk.failures.setdefault(place.turn, [])
            talk.known = min(talk.known, known)
            talk.revision += 1
            if before and {**before[-1], "times": 1} == {**clean, "times": 1}:
                clean["times"] = before.pop()["times"] + 1
            before.append({"times": 1, **clean})

    def missed(self) -> None:
        """Take down that a request could not be understood."""
        with self._lock:
            self.cut_off += 1

    def broke_off(self, place: ConversationPlace) -> None:
        """Take down that an answer did not arrive as a whole."""
        with self._lock:
            if place.marker is not None:
                self.cut_off += 1

    def sessions(self) -> list[tuple[int, Json]]:
        """Return the sessions as a script has them, each with a number that grows when it does.

        One without an answer has no turns yet. A secret that was recognised late is taken out of
        what was said before, too.
        """
        with self._lock:
            # What is taken out may be what hid another.
            while any(talk.known < self._cleaner.knows for talk in self._talks.values()):
                self._forget()
            return [
                (talk.revision, {**talk.heading, "turn": list(talk.recorded())})
                for talk in self._talks.values()
            ]

    def _forget(self) -> None:
        known = self._cleaner.knows
        for since in {talk.known for talk in self._talks.values()} - {known}:
            clean = self._cleaner.forgetting(since)
            for talk in self._talks.values():
                if talk.known == since:
                    talk.forget(clean, known)

    def warnings(self) -> Iterator[str]:
        """Yield in words what of the run can't be played again."""
        with self._lock:
            gaps = sum(talk.has_gap for talk in self._talks.values())
            unanswered = sum(not (talk.turns or talk.failures) for talk in self._talks.values())
        if self.unmarked:
            yield (
                f"{_count(self.unmarked, 'request')} belonged to no prompt of runner (a "
                "subagent's, or the agent's own after it compacted its context), and can't be "
                "played again."
            )
        if self.cut_off:
            yield (
                f"{_count(self.cut_off, 'answer')} of the API broke off or could not be written "
                "down; left out."
            )
        if gaps:
            yield f"{_count(gaps, 'session')} recorded only up to an answer that is missing."
        if unanswered:
            yield f"{_count(unanswered, 'session')} ended before the model answered; left out."

    def _heading(self, marker: PromptMarker, messages: Sequence[Json]) -> Json:
        keys = {key: getattr(marker, key) for key in _SESSION_KEYS if getattr(marker, key)}
        heading = {"instruction": str(marker.instruction), "iteration": marker.iteration, **keys}
        prompt = self._cleaner.comparable(prompt_text(messages) or "")
        return {**self._cleaner.scrubbed(heading), "prompt": prompt}

    def _turn(self, said: Said) -> Json:
        turn: Json = {}
        thinking = _joined(said, "thinking")
        text = _joined(said, "text")
        if thinking.strip():
            turn["thinking"] = self._cleaner.portable(thinking)
        if text:
            turn["text"] = self._cleaner.portable(text)
        calls = [block for block in said.blocks if block.get("type") == "tool_use"]
        if calls:
            turn["tools"] = [self._call(block) for block in calls]
        natural = natural_stop(calls)
        if not (text or calls) or (said.stop_reason or natural) != natural:
            turn["stop_reason"] = self._cleaner.portable(said.stop_reason or natural)
        if said.usage:
            turn["usage"] = dict(said.usage)
        return turn

    def _call(self, block: Json) -> Json:
        given = block.get("input") or {}
        if not isinstance(given, dict) or is_deeper(given, DEEPEST):
            raise UnreadableError
        given = self._cleaner.portable_json(given)
        name = self._cleaner.portable(str(block.get("name") or "?"))
        if _fits_toml(given) and not is_deeper(given, _DEEPEST_TOML):
            return {"name": name, "input": given}
        return {"name": name, "input_json": json.dumps(given)}


def _joined(said: Said, kind: str) -> str:
    texts = (block.get(kind) for block in said.blocks if block.get("type") == kind)
    return "\n\n".join(text for text in texts if isinstance(text, str) and text)


def _fits_toml(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_fits_toml, value.values()))
    if isinstance(value, list):
        return all(map(_fits_toml, value))
    return value is not None and (not isinstance(value, float) or math.isfinite(value))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
