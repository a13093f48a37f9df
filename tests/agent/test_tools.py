"""The injected tools as the agent and the user meet them."""

from typing import Any, cast

import pytest

from runner.agent.claude.tools import TOOLS_BY_INSTRUCTION, _tool, answer, offered_tools
from runner.credentials import Redactor
from runner.errors import DeliverableError, RunnerError, StateWriteError
from runner.marker import Instruction


def _refuse(error: RunnerError) -> Any:
    def handler(_arguments: Any) -> str:
        raise error

    return handler


def test_an_answer_is_the_text_of_the_handler() -> None:
    assert answer(lambda _: "done", {}) == {
        "content": [{"type": "text", "text": "done"}],
        "is_error": False,
    }


def test_a_refusal_is_a_tool_error_with_its_reason() -> None:
    found = answer(_refuse(DeliverableError("Not yours.", hint="Take your own.")), {})
    assert (found["is_error"], found["content"][0]["text"]) == (True, "Not yours. Take your own.")


@pytest.mark.parametrize("error", [DeliverableError("no"), StateWriteError("disk full")])
def test_the_user_is_told_of_what_was_refused(error: RunnerError) -> None:
    told: list[RunnerError] = []
    answer(_refuse(error), {}, told.append)
    assert told == [error]


def test_a_failure_of_ours_asks_the_agent_to_end() -> None:
    text = answer(_refuse(StateWriteError("disk full")), {})["content"][0]["text"]
    assert "end the session" in text


def test_every_instruction_has_its_tools() -> None:
    assert set(TOOLS_BY_INSTRUCTION) == set(Instruction)


def test_only_planning_sessions_may_create() -> None:
    may = {i for i in Instruction if "mcp__runner__create" in offered_tools(i)}
    assert may == {Instruction.INITIALIZER, Instruction.SYNC}


def test_a_review_is_offered_nothing_that_writes() -> None:
    assert offered_tools(Instruction.REVIEW).isdisjoint({"Write", "Edit", "NotebookEdit"})


def test_only_a_review_may_submit_one() -> None:
    may = {i for i in Instruction if "mcp__runner__submit_review" in offered_tools(i)}
    assert may == {Instruction.REVIEW}


def test_a_remediation_can_not_set_a_status() -> None:
    ours = {name for name in offered_tools(Instruction.REMEDIATE) if name.startswith("mcp__")}
    assert ours == {"mcp__runner__list"}


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("tool", "field"), [("submit_review", "summary"), ("set_status", "reason"), ("create", "x")]
)
async def test_a_tool_never_gets_the_value_of_a_credential(tool: str, field: str) -> None:
    given: list[Any] = []

    def handle(arguments: Any) -> str:
        given.append(arguments)
        return "done"

    class Tools:
        def __getattr__(self, _name: str) -> Any:
            return handle

    secret = "correct-horse-0123456789"
    redactor = Redactor({"A_TOKEN": secret})

    async def take(_name: str, _arguments: Any) -> None:
        """Count every call as asked for."""

    made = _tool(tool, cast("Any", Tools()), lambda *_: None, redactor, take)
    await made.handler({field: f"it is {secret}"})
    assert given == [{field: "it is [redacted: A_TOKEN]"}]
