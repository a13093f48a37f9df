"""A model that follows skills/runner-implement/SKILL.md: its next call depends on the answers."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.e2e.skill import Playing

from runner.replay.player import ConversationPlace, Player
from runner.replay.script import Failure, parse_script
from runner.replay.server import ScriptedModel
from runner.replay.wire import (
    ModelAnswer,
    blocks_of,
    stable_id,
    text_blocks,
    tool_results,
    user_texts,
)

Json = dict[str, Any]

_SUBMIT = "mcp__runner__submit_review"

_SCRIPT = """
[[session]]
fallback = true
repeat = true

[[session.turn]]
text = "unused"
"""


class SkilledModel(ScriptedModel):
    """A loopback model that plays a skill, one tool call a turn.

    Args:
        skill: makes a generator that yields tool calls, is sent the text of their results, and
            returns what the model says at the end. It is run anew for every request.
        verdict: what it finds where it is asked to review, by the server's own reviewer.
    """

    def __init__(self, skill: Callable[[], Playing], project: Path, verdict: str = "pass") -> None:
        super().__init__(parse_script(_SCRIPT, name="skill"), project=project)
        self.player = _SkilledPlayer(skill, verdict)
        self._player = self.player


class _SkilledPlayer(Player):
    def __init__(self, skill: Callable[[], Playing], verdict: str) -> None:
        super().__init__(parse_script(_SCRIPT, name="skill"))
        self._skill = skill
        self._verdict = verdict
        self.prompts: list[str] = []
        self.results: list[str] = []
        self.tools: dict[str, Json] = {}

    def play(self, request: Json, place: ConversationPlace) -> ModelAnswer | Failure:
        messages: Sequence[Json] = request["messages"]
        if not request.get("tools"):
            return _answer([{"type": "text", "text": "OK"}], messages)
        tools = {tool["name"]: tool for tool in request["tools"]}
        if _SUBMIT in tools:
            return _answer([self._review(messages)], messages)
        self.tools = tools
        self.prompts = [text for item in messages for text in user_texts(item)]
        results = [_text(result) for item in messages for result in tool_results(item)]
        self.results = results
        return _answer([self._next(results)], messages)

    def _review(self, messages: Sequence[Json]) -> Json:
        if any(tool_results(item) for item in messages):
            return {"type": "text", "text": "Reviewed."}
        findings: list[Json] = []
        if self._verdict != "pass":
            findings.append({"severity": "high", "title": "Not it", "detail": "It does less."})
        submitted = {"verdict": self._verdict, "summary": "Looked at.", "findings": findings}
        return {"type": "tool_use", "id": "toolu_r", "name": _SUBMIT, "input": submitted}

    def _next(self, results: Sequence[str]) -> Json:
        playing = self._skill()
        try:
            name, arguments = next(playing)
            for result in results:
                name, arguments = playing.send(result)
        except StopIteration as end:
            return {"type": "text", "text": end.value}
        call_id = stable_id("toolu", len(results), name)
        return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def _text(result: Json) -> str:
    content = result.get("content")
    return content if isinstance(content, str) else "\n".join(text_blocks(blocks_of(content)))


def _answer(blocks: Sequence[Json], messages: Sequence[Json]) -> ModelAnswer:
    usage = {"input_tokens": 100, "output_tokens": 10}
    return ModelAnswer(stable_id("msg", len(messages), json.dumps(blocks)), tuple(blocks), usage)
