"""What a replay says when it is not what was recorded."""

from pathlib import Path
from typing import Any

import pytest

from runner.marker import Instruction, PromptMarker
from runner.replay.cleaner import Cleaner
from runner.replay.places import Places
from runner.replay.player import Player, find_place
from runner.replay.script import parse_script
from runner.replay.secrets import Scrubber

MARKER = PromptMarker(Instruction.CODING, 1, task="T-1")
PLACES = Places(Path("/home/ada/greeter"))
RECORDING = f"""
[recording]
version = 1
runner = "0.1.0"

[[session]]
instruction = "coding"
prompt = '''
{MARKER.render()}

Work in {{{{project}}}}.'''

[[session.turn]]
tools = [
  {{ name = "Bash", input = {{ command = "date; make" }} }},
  {{ name = "Read", input = {{ file_path = "a" }} }},
]

[[session.turn]]
text = "Done."
results = ["<time>\\nbuilt in <duration>", "[error] no such file"]

[[session]]
instruction = "review"
[[session.turn]]
text = "Good."
"""
BUILT = "Sun Nov 22 02:00:42 UTC 2026\nbuilt in 0.2s\n"


def _player() -> Player:
    return Player(parse_script(RECORDING, name="test"), PLACES, Cleaner(PLACES, Scrubber()))


def _play(player: Player, *messages: dict[str, Any]) -> None:
    player.play({"messages": list(messages), "tools": [{}]}, find_place(messages, "agent"))


def _prompt(where: str = "/home/ada/greeter") -> dict[str, Any]:
    return {"role": "user", "content": f"{MARKER.render()}\n\nWork in {where}.\n"}


CALLS = {
    "role": "assistant",
    "content": [
        {"type": "tool_use", "id": "a", "name": "Bash", "input": {}},
        {"type": "tool_use", "id": "b", "name": "Read", "input": {}},
    ],
}


def _results(built: str = BUILT, *, read_fails: bool = True) -> dict[str, Any]:
    return {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": built},
            {
                "type": "tool_result",
                "tool_use_id": "b",
                "content": "no such file",
                "is_error": read_fails,
            },
        ],
    }


def _told(player: Player) -> list[str]:
    return [f"{divergence.turn}: {divergence.message}" for divergence in player.divergences]


def test_what_differs_legitimately_is_no_divergence() -> None:
    player = _player()
    _play(player, _prompt())
    _play(player, _prompt(), CALLS, _results())
    assert _told(player) == []


def test_another_prompt_is_shown_where_it_differs() -> None:
    player = _player()
    _play(player, _prompt("/srv"))
    told = (
        "1: The prompt is not the recorded one; "
        "line 3: recorded “Work in {{project}}.”, now “Work in /srv.”."
    )
    assert _told(player) == [told]


def test_another_result_is_shown_with_its_call() -> None:
    player = _player()
    _play(player, _prompt(), CALLS, _results("Sun Nov 22 02:00:42 UTC 2026\nbroken"))
    told = (
        "2: The result of Bash (date; make) is not the recorded one; "
        "line 2: recorded “built in <duration>”, now “broken”."
    )
    assert _told(player) == [told]


def test_a_tool_that_no_longer_fails_is_a_divergence() -> None:
    player = _player()
    _play(player, _prompt(), CALLS, _results(read_fails=False))
    told = (
        "2: The result of Read (a) is not the recorded one; "
        "line 1: recorded “[error] no such file”, now “no such file”."
    )
    assert _told(player) == [told]


def test_a_missing_result_is_a_divergence() -> None:
    player = _player()
    _play(player, _prompt(), CALLS)
    assert _told(player) == ["2: The recording has 2 tool results here, and now there are 0."]


def test_results_in_another_order_are_no_divergence() -> None:
    player = _player()
    results = _results()
    results["content"].reverse()
    _play(player, _prompt(), CALLS, results)
    assert _told(player) == []


def test_what_a_recording_goes_on_with_is_told_when_the_replay_ends() -> None:
    player = _player()
    _play(player, _prompt())
    assert player.unplayed() == [
        "Session 1 of the recording (coding) ended after 1 of 2 answers.",
        "Session 2 of the recording (review) was not asked for.",
    ]


def test_a_recording_that_nothing_was_asked_of_says_where_to_look() -> None:
    (said,) = _player().unplayed()
    assert "Is the project as it was before the recorded run" in said


def test_a_recording_played_to_its_end_has_nothing_left() -> None:
    player = _player()
    review = {"role": "user", "content": PromptMarker(Instruction.REVIEW, 1).render()}
    _play(player, _prompt(), CALLS, _results())
    _play(player, review)
    assert player.unplayed() == []


def test_a_script_that_is_no_recording_need_not_be_played_to_its_end() -> None:
    script = parse_script(RECORDING.partition("[[session]]")[1] + "\ninstruction = 'coding'\n"
                          "[[session.turn]]\ntext = 'Hi'\n", name="test")  # fmt: skip
    assert Player(script).unplayed() == []


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{{braces}}task}}", "{{task}}"),
        ("{{temp_dir}}/x", "/scratch/x"),
        ("{{home_dir}}/x", "/home/ada/x"),
    ],
)
def test_a_recording_has_placeholders_of_its_own(text: str, filled: str) -> None:
    script = parse_script(
        f"[[session]]\ninstruction = 'coding'\n[[session.turn]]\ntext = '{text}'\n", name="test"
    )
    player = Player(script, Places(Path("/p"), Path("/home/ada"), Path("/scratch")))
    said = player.play({"messages": [_prompt()]}, find_place([_prompt()], "agent"))
    assert [block["text"] for block in getattr(said, "blocks", ())] == [filled]
