from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.marker import Instruction, PromptMarker
from runner.replay.places import Places
from runner.replay.player import Player, find_place
from runner.replay.script import Failure, parse_script
from runner.replay.wire import Json, ModelAnswer

Talk = list[Json]
Prompt = Callable[..., Talk]

TWO_TURNS = """
[[session]]
instruction = "coding"
task = "T-1"
[[session.turn]]
text = "one"
tools = [{name = "Bash", input = {command = "ls"}}]
[[session.turn]]
text = "two"
expect_error = false
"""


def _player(text: str, project: Path | None = None) -> Player:
    return Player(parse_script(text, name="test"), Places(project))


def _ask(player: Player, talk: Talk, *, agent: str = "a", **request: Any) -> ModelAnswer | Failure:
    body: Json = {"messages": talk, **request}
    return player.play(body, find_place(talk, agent))


def _said(answer: ModelAnswer | Failure) -> str:
    assert isinstance(answer, ModelAnswer)
    return "".join(block["text"] for block in answer.blocks if block["type"] == "text")


def _goes_on(talk: Talk, answer: ModelAnswer | Failure, *, is_error: bool = False) -> Talk:
    assert isinstance(answer, ModelAnswer)
    results = [
        {"type": "tool_result", "tool_use_id": b["id"], "content": "out", "is_error": is_error}
        for b in answer.blocks
        if b["type"] == "tool_use"
    ]
    said = {"role": "assistant", "content": list(answer.blocks)}
    return [*talk, said, {"role": "user", "content": results}]


def test_turns_come_in_order(prompt: Prompt) -> None:
    player = _player(TWO_TURNS)
    talk = prompt(task="T-1")
    first = _ask(player, talk)
    second = _ask(player, _goes_on(talk, first))
    assert (_said(first), _said(second)) == ("one", "two")


def test_a_request_sent_again_gets_the_identical_answer(prompt: Prompt) -> None:
    player = _player(TWO_TURNS)
    assert _ask(player, prompt(task="T-1")) == _ask(player, prompt(task="T-1"))


def test_a_later_turn_needs_nothing_remembered(prompt: Prompt) -> None:
    talk = prompt(task="T-1")
    second = _goes_on(talk, _ask(_player(TWO_TURNS), talk))
    assert _said(_ask(_player(TWO_TURNS), second)) == "two"


def test_a_turn_sent_in_two_messages_counts_once(prompt: Prompt) -> None:
    player = _player(TWO_TURNS)
    talk = prompt(task="T-1")
    *before, said, results = _goes_on(talk, _ask(player, talk))
    halves = [{**said, "content": [block]} for block in said["content"]]
    assert _said(_ask(player, [*before, *halves, results])) == "two"


def test_reminders_after_the_results_are_no_turn(prompt: Prompt) -> None:
    player = _player(TWO_TURNS)
    talk = _goes_on(prompt(task="T-1"), _ask(player, prompt(task="T-1")))
    assert _said(_ask(player, [*talk, {"role": "system", "content": "Mind."}])) == "two"


def test_each_session_is_used_once(prompt: Prompt) -> None:
    player = _player(TWO_TURNS + TWO_TURNS.replace("one", "again"))
    answers = [_said(_ask(player, prompt(task="T-1"), agent=agent)) for agent in "ab"]
    assert answers == ["one", "again"]


def test_a_session_that_repeats_serves_every_agent(prompt: Prompt) -> None:
    player = _player(TWO_TURNS.replace("task =", "repeat = true\ntask ="))
    answers = [_said(_ask(player, prompt(task="T-1"), agent=agent)) for agent in "abc"]
    assert answers == ["one"] * 3


def test_a_fallback_serves_what_nothing_else_fits(prompt: Prompt) -> None:
    fallback = '[[session]]\nfallback = true\n[[session.turn]]\ntext = "any"\n'
    player = _player(fallback + TWO_TURNS)
    answers = [_said(_ask(player, prompt(task=task), agent=task)) for task in ("T-1", "T-2")]
    assert (answers, player.divergences) == (["one", "any"], [])


def test_a_prompt_without_a_session_is_a_divergence(prompt: Prompt) -> None:
    player = _player(TWO_TURNS)
    text = _said(_ask(player, prompt(task="T-9")))
    assert "no session for coding T-9 (iteration 1)." in text
    assert [d.message for d in player.divergences] == [text]


def test_running_out_of_turns_ends_the_session_with_a_divergence(prompt: Prompt) -> None:
    player = _player(TWO_TURNS.replace('text = "two"', 'tools = [{name = "Bash"}]'))
    talk = prompt(task="T-1")
    for _ in range(2):
        talk = _goes_on(talk, _ask(player, talk))
    last = _ask(player, talk)
    assert isinstance(last, ModelAnswer)
    assert last.stop_reason == "end_turn"
    assert [(d.turn, d.message) for d in player.divergences] == [(3, _said(last))]


def test_a_divergence_is_noted_once_however_often_the_request_comes(prompt: Prompt) -> None:
    player = _player(TWO_TURNS)
    for _ in range(3):
        _ask(player, prompt(task="T-9"))
    assert len(player.divergences) == 1


@pytest.mark.parametrize(
    ("expected", "happened", "told"),
    [
        ("false", True, "expected no tool to fail, but one said: out"),
        ("true", False, "expected a tool to fail, and none did"),
    ],
)
def test_a_result_that_was_not_expected_is_a_divergence(
    prompt: Prompt, expected: str, happened: bool, told: str
) -> None:
    player = _player(TWO_TURNS.replace("expect_error = false", f"expect_error = {expected}"))
    talk = _goes_on(prompt(task="T-1"), _ask(player, prompt(task="T-1")), is_error=happened)
    _ask(player, [*talk, {"role": "system", "content": "Mind."}])
    (divergence,) = player.divergences
    assert told in divergence.message


@pytest.mark.parametrize(("expected", "happened"), [("true", True), ("false", False)])
def test_a_result_that_was_expected_is_none(prompt: Prompt, expected: str, happened: bool) -> None:
    player = _player(TWO_TURNS.replace("expect_error = false", f"expect_error = {expected}"))
    talk = prompt(task="T-1")
    _ask(player, _goes_on(talk, _ask(player, talk), is_error=happened))
    assert player.divergences == []


FAILING = TWO_TURNS.replace(
    'text = "one"', 'error = {status = 500, times = 2}\n[[session.turn]]\ntext = "one"'
)


def _statuses(player: Player, talk: Talk, count: int, agent: str = "a") -> list[int]:
    replies = [_ask(player, talk, agent=agent) for _ in range(count)]
    return [reply.status if isinstance(reply, Failure) else 200 for reply in replies]


def test_a_failure_lasts_as_often_as_it_says(prompt: Prompt) -> None:
    assert _statuses(_player(FAILING), prompt(task="T-1"), 4) == [500, 500, 200, 200]


def test_failures_follow_each_other(prompt: Prompt) -> None:
    script = FAILING.replace(
        "[[session.turn]]", "[[session.turn]]\nerror={status=429,times=1}\n[[session.turn]]", 1
    )
    assert _statuses(_player(script), prompt(task="T-1"), 4) == [429, 500, 500, 200]


def test_a_failure_without_times_never_ends(prompt: Prompt) -> None:
    script = '[[session]]\ninstruction = "coding"\n[[session.turn]]\nerror = {status = 401}\n'
    assert _statuses(_player(script), prompt(), 5) == [401] * 5


def test_every_conversation_has_its_own_failures(prompt: Prompt) -> None:
    player = _player(FAILING.replace("task =", "repeat = true\ntask ="))
    talk = prompt(task="T-1")
    first, second = (_statuses(player, talk, 3, agent) for agent in "ab")
    assert first == second == [500, 500, 200]


def test_the_last_marker_prompt_of_a_conversation_counts(prompt: Prompt) -> None:
    player = _player(TWO_TURNS + TWO_TURNS.replace("T-1", "T-2").replace("one", "next"))
    talk = _goes_on(prompt(task="T-1"), _ask(player, prompt(task="T-1")))
    assert _said(_ask(player, talk + prompt(task="T-2"))) == "next"


def test_the_same_prompt_again_in_a_conversation_takes_the_next_session(prompt: Prompt) -> None:
    player = _player(TWO_TURNS + TWO_TURNS.replace("one", "next"))
    talk = _goes_on(prompt(task="T-1"), _ask(player, prompt(task="T-1")))
    assert _said(_ask(player, talk + prompt(task="T-1"))) == "next"


def test_a_marker_in_a_tool_result_is_no_prompt(prompt: Prompt) -> None:
    player = _player(TWO_TURNS)
    talk = _goes_on(prompt(task="T-1"), _ask(player, prompt(task="T-1")))
    talk[-1]["content"][0]["content"] = str(prompt(task="T-9")[0]["content"])
    assert _said(_ask(player, talk)) == "two"


def test_a_marker_quoted_in_a_reminder_is_no_prompt(prompt: Prompt) -> None:
    player = _player(TWO_TURNS)
    talk = _goes_on(prompt(task="T-1"), _ask(player, prompt(task="T-1")))
    quoted = f"<system-reminder>\n{prompt(task='T-9')[0]['content']}\n</system-reminder>"
    talk[-1]["content"].append({"type": "text", "text": quoted})
    assert _said(_ask(player, talk)) == "two"


def test_a_reminder_before_the_prompt_does_not_hide_it(prompt: Prompt) -> None:
    talk = prompt(task="T-1")
    talk[0]["content"] = f"<system-reminder>Mind.</system-reminder>\n{talk[0]['content']}"
    assert _said(_ask(_player(TWO_TURNS), talk)) == "one"


def test_housekeeping_without_marker_and_tools_gets_a_short_answer() -> None:
    player = _player(TWO_TURNS + '[[session]]\nfallback = true\n[[session.turn]]\ntext = "any"\n')
    answer = _ask(player, [{"role": "user", "content": "Give this a title"}])
    assert (_said(answer), player.divergences) == ("OK", [])


def test_any_other_client_is_served_by_the_fallback() -> None:
    player = _player('[[session]]\nfallback = true\n[[session.turn]]\ntext = "any"\n')
    assert _said(_ask(player, [{"role": "user", "content": "Hi"}], tools=[{"name": "A"}])) == "any"


def test_placeholders_come_from_marker_and_project(prompt: Prompt) -> None:
    script = TWO_TURNS.replace('"one"', '"{{project}} {{task}} {{phase}} {{iteration}}"')
    talk = prompt(task="T-1", phase="p", iteration=3)
    assert _said(_ask(_player(script, Path("/w")), talk)) == "/w T-1 p 3"


def test_a_placeholder_that_nothing_is_known_for_is_a_divergence(prompt: Prompt) -> None:
    player = _player(TWO_TURNS.replace('"ls"', '"ls {{project}}"'))
    _ask(player, prompt(task="T-1"))
    assert [d.message for d in player.divergences] == [
        "Nothing is known to put in place of {{project}}."
    ]


def test_usage_is_what_the_script_says(prompt: Prompt) -> None:
    usage = "usage = {input_tokens = 7, output_tokens = 8, cache_read_input_tokens = 9}"
    answer = _ask(_player(TWO_TURNS.replace("text =", f"{usage}\ntext =")), prompt(task="T-1"))
    assert isinstance(answer, ModelAnswer)
    assert answer.usage == {
        "input_tokens": 7,
        "output_tokens": 8,
        "cache_read_input_tokens": 9,
        "cache_creation_input_tokens": 0,
    }


def test_usage_is_estimated_from_the_text_otherwise(prompt: Prompt) -> None:
    short, long = (
        _ask(_player(TWO_TURNS.replace('"one"', f'"{text}"')), prompt(task="T-1"))
        for text in ("x", "x" * 4000)
    )
    assert isinstance(short, ModelAnswer)
    assert isinstance(long, ModelAnswer)
    assert 0 < short.usage["output_tokens"] < long.usage["output_tokens"] - 900


def test_parallel_calls_have_ids_of_their_own(prompt: Prompt) -> None:
    calls = 'tools = [{name = "A"}, {name = "A"}]'
    script = TWO_TURNS.replace('tools = [{name = "Bash", input = {command = "ls"}}]', calls)
    answer = _ask(_player(script), prompt(task="T-1"))
    assert isinstance(answer, ModelAnswer)
    assert len({b["id"] for b in answer.blocks if b["type"] == "tool_use"}) == 2


@given(order=st.lists(st.sampled_from("abc"), min_size=1, max_size=20))
def test_conversations_do_not_disturb_each_other(order: list[str]) -> None:
    """However requests of several agents interleave or repeat, each sees its turns in order."""
    script = TWO_TURNS.replace("task =", "repeat = true\ntask =")
    player = _player(script)
    marker = PromptMarker(Instruction.CODING, 1, task="T-1")
    start: Talk = [{"role": "user", "content": marker.render()}]
    talks = dict.fromkeys("abc", start)
    for agent in order:
        turn = find_place(talks[agent], agent).turn
        answer = _ask(player, talks[agent], agent=agent)
        assert _said(answer) == ("one" if turn == 0 else "two")
        talks[agent] = _goes_on(start, answer) if turn == 0 else talks[agent]
    assert player.divergences == []


def test_usage_at_the_top_of_a_script_holds_for_turns_without_their_own(prompt: Prompt) -> None:
    table = "[usage]\ninput_tokens = 0\noutput_tokens = 0\n"
    answer = _ask(_player(table + TWO_TURNS), prompt(task="T-1"))
    assert isinstance(answer, ModelAnswer)
    assert (answer.usage["input_tokens"], answer.usage["output_tokens"]) == (0, 0)
