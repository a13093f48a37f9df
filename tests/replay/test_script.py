import contextlib
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.errors import ScriptError
from runner.marker import Instruction, PromptMarker
from runner.replay.script import ModelScript, fill, load_script, parse_script

SMALLEST = """
[[session]]
instruction = "coding"
[[session.turn]]
text = "Hello"
"""


def _parse(text: str) -> ModelScript:
    return parse_script(text, name="demo.toml")


def _complaint(text: str) -> ScriptError:
    with pytest.raises(ScriptError) as caught:
        _parse(text)
    return caught.value


def test_the_smallest_script_has_one_turn() -> None:
    assert _parse(SMALLEST).session[0].turn[0].text == "Hello"


@pytest.mark.parametrize(
    ("marker", "fits"),
    [
        (PromptMarker(Instruction.CODING, 2, "p1", "T-1"), True),
        (PromptMarker(Instruction.CODING, 2, "p1", "T-2"), False),
        (PromptMarker(Instruction.CODING, 3, "p1", "T-1"), False),
        (PromptMarker(Instruction.CODING, 2, None, "T-1"), False),
        (PromptMarker(Instruction.VERIFY, 2, "p1", "T-1"), False),
    ],
)
def test_every_match_key_given_must_agree(marker: PromptMarker, fits: bool) -> None:
    keys = 'instruction = "coding"\niteration = 2\nphase = "p1"\ntask = "T-1"'
    session = _parse(SMALLEST.replace('instruction = "coding"', keys)).session[0]
    assert session.matches(marker) is fits


def test_match_keys_left_out_match_anything() -> None:
    marker = PromptMarker(Instruction.CODING, 9, "p", "T", "step_1")
    assert _parse(SMALLEST).session[0].matches(marker)


@pytest.mark.parametrize(
    ("text", "place", "problem", "instead"),
    [
        ("", "demo.toml", '"session" is missing', "[[session]]"),
        ('[[session]]\ninstruction="coding"', "session 1", '"turn" is missing', "[[session.turn]]"),
        (SMALLEST + "txt = 1", "session 1, turn 1", 'no key "txt"', "text, thinking, tools"),
        (
            SMALLEST + 'tools = [{name = "A"}, {nam = "B"}]',
            "session 1, turn 1, tool 2",
            '"name" is missing',
            "name = ",
        ),
        (
            SMALLEST + 'tools = [{name = "A", inputs = {}}]',
            "session 1, turn 1, tool 1",
            'no key "inputs"',
            "name, input, input_json, content_file",
        ),
        (SMALLEST + "delay_ms = -1", "session 1, turn 1", '"delay_ms"', "delay_ms"),
        (SMALLEST + "error = {}", "session 1, turn 1", '"error.status" is missing', "error.status"),
        (
            SMALLEST + "error = {status = 200}",
            "session 1, turn 1",
            '"error.status"',
            "error.status",
        ),
        (
            SMALLEST + 'error = {status = 500, headers = {a = "b\\nc: d"}}',
            "session 1, turn 1",
            '"error.headers.a"',
            "error.headers.a",
        ),
        (
            SMALLEST + "usage = {tokens = 1}",
            "session 1, turn 1",
            'no key "usage.tokens"',
            "input_tokens, output_tokens",
        ),
        (
            SMALLEST + SMALLEST.replace("coding", "codding"),
            "session 2",
            "'initializer', 'coding'",
            "instruction",
        ),
        (
            SMALLEST + 'tools = [{name = "A", input = {at = 2026-01-01}}]',
            "session 1, turn 1, tool 1",
            '"input.at',
            "input.at",
        ),
    ],
)
def test_a_mistake_is_named_with_its_place_and_a_remedy(
    text: str, place: str, problem: str, instead: str
) -> None:
    error = _complaint(text)
    assert f"{place}: " in error.message
    assert problem in error.message
    assert instead in str(error.hint)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            SMALLEST.replace('text = "Hello"', "delay_ms = 1"),
            'needs "text", "tools", "stop_reason" or "error"',
        ),
        ("session = []", "at least one [[session]]"),
        ('session = [{instruction = "coding", turn = []}]', "at least one [[session.turn]]"),
        (
            SMALLEST.replace("text =", "thinking ="),
            'needs "text", "tools", "stop_reason" or "error"',
        ),
        (
            SMALLEST.replace("text =", "error = {status = 500}\nthinking ="),
            '"thinking" also needs',
        ),
        (SMALLEST.replace("instruction", "task"), 'needs "instruction", or fallback = true'),
        (SMALLEST.replace("[[session]]", "[[session]]\nfallback=true"), "no other match keys"),
        (
            SMALLEST + 'error = {status = 401}\n[[session.turn]]\ntext = "never"',
            "turn 1 fails for ever, so turn 2 is never reached",
        ),
        (SMALLEST + 'tools = [{name = "Write", content_file = "x"}]', "a script that is a file"),
    ],
)
def test_what_makes_no_sense_is_refused(text: str, problem: str) -> None:
    assert problem in _complaint(text).message


def test_several_mistakes_are_counted() -> None:
    assert "1 more to mend" in str(_complaint(SMALLEST + "txt = 1\nthink = 2").hint)


def test_broken_toml_is_reported_with_its_line() -> None:
    assert "line 2" in _complaint("[[session]]\ninstruction = oops\n").message


def test_a_script_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScriptError, match=r"none\.toml does not exist"):
        load_script(tmp_path / "none.toml")


def test_a_script_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ScriptError, match="can't be read"):
        load_script(tmp_path / "s.toml")


def _with_content_file(folder: Path, name: str) -> ModelScript:
    path = folder / "s.toml"
    path.write_text(SMALLEST + f'tools = [{{name = "Write", content_file = "{name}"}}]')
    return load_script(path)


def test_a_content_file_is_taken_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("a = '{{project}}'\n")
    call = _with_content_file(tmp_path, "x.py").session[0].turn[0].tools[0]
    assert call.rendered({"project": "/p"}) == {"content": "a = '{{project}}'\n"}


@pytest.mark.parametrize("name", ["../x.py", "/etc/hostname"])
def test_a_content_file_outside_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "x.py").write_text("outside")
    inner = tmp_path / "inner"
    inner.mkdir()
    with pytest.raises(ScriptError, match="must lie in the folder"):
        _with_content_file(inner, name)


def test_a_missing_content_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScriptError, match=r'"gone\.py" beside the script'):
        _with_content_file(tmp_path, "gone.py")


def test_content_is_not_given_twice(tmp_path: Path) -> None:
    text = SMALLEST + 'tools = [{name = "W", content_file = "x", input = {content = "y"}}]'
    with pytest.raises(ScriptError, match="not both"):
        parse_script(text, name="s", folder=tmp_path)


def test_placeholders_are_filled_at_any_depth() -> None:
    call = 'tools = [{name = "A", input = {a = ["{{task}}"], b = {c = "{{project}}/x", d = 1}}}]'
    rendered = (
        _parse(SMALLEST + call)
        .session[0]
        .turn[0]
        .tools[0]
        .rendered({"task": "T-1", "project": "/p"})
    )
    assert rendered == {"a": ["T-1"], "b": {"c": "/p/x", "d": 1}}


def test_a_placeholder_without_a_value_stays() -> None:
    assert fill("{{task}} {{other}}", {"project": "/p"}) == "{{task}} {{other}}"


def test_a_value_is_not_searched_for_placeholders() -> None:
    assert fill("{{task}}", {"task": "{{project}}", "project": "/p"}) == "{{project}}"


def test_a_turn_that_only_fails_takes_no_place() -> None:
    session = _parse(
        SMALLEST.replace("text =", "error = {status = 500, times = 2}\n[[session.turn]]\ntext =")
    ).session[0]
    failures, turn = session.step(0)
    assert ([f.times for f in failures], turn and turn.text) == ([2], "Hello")


def test_a_failure_after_the_last_answer_comes_instead_of_the_end() -> None:
    session = _parse(SMALLEST + "[[session.turn]]\nerror = {status = 529}").session[0]
    failures, turn = session.step(1)
    assert ([f.status for f in failures], turn) == ([529], None)


@given(st.text(alphabet=string.printable))
def test_any_text_is_a_script_or_a_script_error(text: str) -> None:
    with contextlib.suppress(ScriptError):
        assert _parse(text).session


_WORDS = st.sampled_from(["coding", "Write", "", 1, -1, True, 2.5, [], {}, [{}], {"status": 500}])
_KEYS = st.sampled_from(
    ["session", "turn", "tools", "instruction", "text", "error", "fallback", "name", "x"]
)


@given(
    st.recursive(
        _WORDS, lambda inner: st.lists(inner) | st.dictionaries(_KEYS, inner), max_leaves=12
    )
)
def test_any_structure_is_a_script_or_a_script_error(value: object) -> None:
    with contextlib.suppress(ScriptError):
        assert _parse(f"session = {_toml(value)}").session


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key} = {_toml(inner)}' for key, inner in value.items())}}}"
    return f'"{value}"' if isinstance(value, str) else str(value)


@pytest.mark.parametrize(
    "text",
    ["a = " + "[" * 5000, f"{SMALLEST}usage = {{ input_tokens = {'9' * 5000} }}"],
)
def test_toml_that_the_reader_gives_up_on_is_reported(text: str) -> None:
    assert "demo.toml is not valid TOML" in str(_complaint(text))


def test_a_recording_of_a_later_version_says_what_to_do() -> None:
    complaint = _complaint('[recording]\nversion = 2\nrunner = "9.0"\nmore = 1\n')
    assert "version 2 of the format" in str(complaint)
    assert complaint.hint == "Update runner, or record it again with this one."


def test_an_input_that_is_nested_too_deep_is_refused_at_once() -> None:
    given = '{"a":' + "[" * 900 + "]" * 900 + "}"
    complaint = _complaint(f"{SMALLEST}tools = [{{ name = \"A\", input_json = '{given}' }}]")
    assert "at most 100 levels" in str(complaint)


def test_a_complaint_stays_short_however_deep_it_is() -> None:
    deep = "[" * 300 + "]" * 300
    complaint = _complaint(f'{SMALLEST}tools = [{{ name = "A", input = {{ a = {deep} }} }}]')
    assert len(str(complaint)) < 500


@pytest.mark.parametrize("header", ['"x\\r\\ny" = "a"', 'x = "é€"'])
def test_headers_that_can_not_be_sent_are_refused(header: str) -> None:
    turn = f"[[session.turn]]\nerror = {{ status = 500, headers = {{ {header} }} }}\n"
    assert "headers" in str(_complaint(f'[[session]]\ninstruction = "coding"\n{turn}'))


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(SMALLEST, encoding="utf-8-sig")
    assert load_script(path).session
