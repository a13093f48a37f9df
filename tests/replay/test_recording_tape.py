import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.errors import StateWriteError, UsageError
from runner.marker import Instruction, PromptMarker
from runner.replay.cleaner import Cleaner
from runner.replay.places import Places
from runner.replay.player import ConversationPlace, find_place
from runner.replay.recording.assemble import Said
from runner.replay.recording.file import RecordingFile, check_target
from runner.replay.recording.tape import Tape
from runner.replay.script import load_script
from runner.replay.secrets import Scrubber

MARKER = PromptMarker(Instruction.CODING, 2, task="T-1")
CLEANER = Cleaner(Places(Path("/home/ada/greeter")), Scrubber())
PROMPT = {"role": "user", "content": f"{MARKER.render()}\nWork in /home/ada/greeter."}
OVERLOADED = {"status": 529, "message": "Overloaded", "type": "overloaded_error"}


def _said(*blocks: dict[str, Any], stop_reason: str | None = None) -> Said:
    return Said(blocks, {"input_tokens": 7, "output_tokens": 3}, stop_reason)


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _call(**given_input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": "t1", "name": "Bash", "input": given_input}


def _place(turn: int = 0, marker: PromptMarker | None = MARKER) -> ConversationPlace:
    return ConversationPlace("agent", marker, 1, turn)


def _tape() -> Tape:
    tape = Tape(CLEANER)
    tape.asked(_place(), [PROMPT])
    return tape


def _session(tape: Tape) -> dict[str, Any]:
    ((_, session),) = tape.sessions()
    return session


def test_a_session_says_which_prompt_it_is_for() -> None:
    session = _session(_tape())
    assert (session["instruction"], session["iteration"], session["task"]) == ("coding", 2, "T-1")
    assert session["prompt"] == f"{MARKER.render()}\nWork in {{{{project}}}}."


def test_a_turn_has_what_was_said_and_what_it_cost() -> None:
    tape = _tape()
    tape.said(_place(), [PROMPT], _said(_text("Look."), _call(command="ls /home/ada/greeter")))
    assert _session(tape)["turn"] == [
        {
            "text": "Look.",
            "tools": [{"name": "Bash", "input": {"command": "ls {{project}}"}}],
            "usage": {"input_tokens": 7, "output_tokens": 3},
        }
    ]


def test_a_turn_has_the_results_it_answers_in_the_order_of_the_calls() -> None:
    talk: list[dict[str, Any]] = [
        PROMPT,
        {"role": "assistant", "content": [{**_call(), "id": "a"}, {**_call(), "id": "b"}]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "b", "content": "two", "is_error": True},
                {"type": "tool_result", "tool_use_id": "a", "content": [_text("one")]},
            ],
        },
    ]
    tape = _tape()
    tape.said(_place(), [PROMPT], _said(_call()))
    tape.said(find_place(talk, "agent"), talk, _said(_text("Done.")))
    assert _session(tape)["turn"][1]["results"] == ["one", "[error] two"]


def test_equal_failures_are_one_turn_that_counts() -> None:
    tape = _tape()
    tape.failed(_place(), OVERLOADED)
    tape.failed(_place(), OVERLOADED)
    tape.said(_place(), [PROMPT], _said(_text("Here.")))
    turns = _session(tape)["turn"]
    assert turns[0] == {"error": {**OVERLOADED, "times": 2}}
    assert turns[1]["text"] == "Here."


def test_a_request_sent_again_is_one_turn() -> None:
    tape = _tape()
    tape.said(_place(), [PROMPT], _said(_text("lost")))
    tape.said(_place(), [PROMPT], _said(_text("kept")))
    assert [turn["text"] for turn in _session(tape)["turn"]] == ["kept"]


def test_a_session_ends_at_an_answer_that_is_missing_and_says_so() -> None:
    tape = _tape()
    tape.said(_place(), [PROMPT], _said(_call()))
    tape.said(_place(2), [PROMPT], _said(_text("Done.")))
    assert len(_session(tape)["turn"]) == 1
    assert any("up to an answer" in warning for warning in tape.warnings())


def test_an_answer_without_calls_ends_the_session() -> None:
    tape = _tape()
    assert tape.said(_place(), [PROMPT], _said(_call())) is False
    assert tape.said(_place(1), [PROMPT], _said(_text("Done."))) is True


def test_only_an_unusual_end_is_written_down() -> None:
    tape = _tape()
    tape.said(_place(), [PROMPT], _said(_text("a"), stop_reason="end_turn"))
    tape.said(_place(1), [PROMPT], _said(_text("b"), stop_reason="max_tokens"))
    assert [turn.get("stop_reason") for turn in _session(tape)["turn"]] == [None, "max_tokens"]


def test_a_prompt_without_a_marker_is_counted_and_not_recorded() -> None:
    tape = Tape(CLEANER)
    tape.asked(_place(marker=None), [{"role": "user", "content": "Explore."}])
    tape.said(_place(marker=None), [], _said(_text("No.")))
    assert tape.sessions() == []
    assert [warning[:10] for warning in tape.warnings()] == ["1 request "]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(text=st.text(), given_input=st.dictionaries(st.text(), JSON, max_size=3))
def test_whatever_is_said_can_be_read_from_the_file(
    tmp_path_factory: pytest.TempPathFactory, text: str, given_input: dict[str, Any]
) -> None:
    plain = Cleaner(Places(), Scrubber())
    tape = Tape(plain)
    tape.asked(_place(), [PROMPT])
    tape.said(_place(), [PROMPT], _said(_text(text), _call(**{"content": text, **given_input})))
    path = tmp_path_factory.mktemp("recording") / "run.toml"
    RecordingFile(path).write(tape.sessions())
    turn = load_script(path).session[0].turn[0]
    rendered = json.dumps(turn.tools[0].rendered({}), sort_keys=True)
    assert (turn.text or "").replace("{{braces}}", "{{") == text
    assert rendered == json.dumps({"content": text, **given_input}, sort_keys=True)


def test_only_what_changed_is_written_anew(tmp_path: Path) -> None:
    tape, file = _tape(), RecordingFile(tmp_path / "run.toml")
    tape.said(_place(), [PROMPT], _said(_call(command="one")))
    file.write(tape.sessions())
    tape.said(_place(1), [PROMPT], _said(_text("two")))
    file.write(tape.sessions())
    assert len(load_script(tmp_path / "run.toml").session[0].turn) == 2


def test_nothing_said_writes_no_file(tmp_path: Path) -> None:
    assert RecordingFile(tmp_path / "run.toml").write(_tape().sessions()) == 0
    assert not (tmp_path / "run.toml").exists()


def test_only_its_owner_reads_a_recording(tmp_path: Path) -> None:
    tape = _tape()
    tape.said(_place(), [PROMPT], _said(_text("Hi")))
    RecordingFile(tmp_path / "run.toml").write(tape.sessions())
    assert (tmp_path / "run.toml").stat().st_mode & 0o777 == 0o600


def test_a_folder_that_is_gone_is_told(tmp_path: Path) -> None:
    tape = _tape()
    tape.said(_place(), [PROMPT], _said(_text("Hi")))
    with pytest.raises(StateWriteError):
        RecordingFile(tmp_path / "gone" / "run.toml").write(tape.sessions())


@pytest.mark.parametrize("content", ["", "[recording]\nversion = 1\nrunner = '0.1'\n"])
def test_an_empty_file_or_a_recording_may_be_written_over(tmp_path: Path, content: str) -> None:
    path = tmp_path / "run.toml"
    path.write_text(content)
    check_target(path, tmp_path / "project")
    assert path.read_text() == content


@pytest.mark.parametrize("content", ["[[session]]\n", "dear diary", "\x00"])
def test_another_file_is_not_written_over(tmp_path: Path, content: str) -> None:
    path = tmp_path / "run.toml"
    path.write_text(content)
    with pytest.raises(UsageError, match="not a recording"):
        check_target(path, tmp_path / "project")


def test_a_recording_does_not_stand_in_the_project(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="agents can change it"):
        check_target(tmp_path / "run.toml", tmp_path)


def test_a_recording_needs_a_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        check_target(tmp_path / "a" / "run.toml", tmp_path / "project")


@pytest.mark.process
def test_a_disk_without_room_is_told_before_the_run(tmp_path: Path) -> None:
    code = f"""
import resource, signal, sys
from pathlib import Path
from runner.errors import UsageError
from runner.replay.recording.file import check_target
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    check_target(Path({str(tmp_path / "run.toml")!r}), Path("/nowhere"))
except UsageError as error:
    sys.exit(f"{{error}} {{error.hint}}")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "can't be written: File too large. Raise the file size limit" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_writer_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".run.toml.0123456789abcdef.tmp").touch()
    (tmp_path / ".other.toml.0123456789abcdef.tmp").touch()
    check_target(tmp_path / "run.toml", tmp_path / "project")
    assert [entry.name for entry in tmp_path.iterdir()] == [".other.toml.0123456789abcdef.tmp"]


def test_the_names_of_tools_are_cleaned_and_filled_in(tmp_path: Path) -> None:
    cleaner = Cleaner(Places(Path("/home/ada/app"), Path("/home/ada")), Scrubber())
    tape = Tape(cleaner)
    tape.asked(_place(), [PROMPT])
    tape.said(_place(), [PROMPT], _said({**_call(), "name": "mcp__x-home-ada-app__look"}))
    (call,) = _session(tape)["turn"][0]["tools"]
    assert call["name"] == "mcp__x{{project:slug}}__look"


def test_a_secret_that_shows_later_is_taken_out_of_what_was_said_before(tmp_path: Path) -> None:
    tape = Tape(Cleaner(Places(), Scrubber(learns=True)))
    tape.asked(_place(), [PROMPT])
    file = RecordingFile(tmp_path / "run.toml")
    tape.said(_place(), [PROMPT], _said(_text("ada:qZ7-correct-horse"), _call()))
    file.write(tape.sessions())
    tape.said(_place(1), [PROMPT], _said(_text("PGPASSWORD=qZ7-correct-horse psql")))
    file.write(tape.sessions())
    assert "correct-horse" not in (tmp_path / "run.toml").read_text()


def test_errors_of_the_api_are_cleaned_whole() -> None:
    tape = _tape()
    tape.failed(_place(), {"status": 429, "message": "no", "headers": {"x": "Bearer abc123defg"}})
    (failed,) = _session(tape)["turn"]
    assert failed["error"]["headers"] == {"x": "Bearer [secret]"}


class _Counting(Scrubber):
    """Counts the texts that it is given."""

    texts = 0

    def __call__(self, text: str) -> str:
        self.texts += 1
        return super().__call__(text)


def test_what_was_cleaned_is_not_cleaned_again_for_every_write() -> None:
    scrub = _Counting(learns=True)
    tape = Tape(Cleaner(Places(), scrub))
    tape.asked(_place(), [PROMPT])
    tape.said(_place(), [PROMPT], _said(_text("Hello."), _call()))
    before = scrub.texts
    tape.sessions()
    assert scrub.texts == before


def test_a_secret_that_shows_later_costs_only_the_texts_that_have_it() -> None:
    scrub = _Counting(learns=True)
    tape = Tape(Cleaner(Places(), scrub))
    tape.asked(_place(), [PROMPT])
    tape.said(_place(), [PROMPT], _said(_text("ada:qZ7-correct-horse"), _call()))
    scrub.learn("qZ7-correct-horse")
    before = scrub.texts
    assert tape.sessions()[0][1]["turn"][0]["text"] == "ada:[secret]"
    assert scrub.texts == before + 1


def test_why_the_model_stopped_is_cleaned_too(tmp_path: Path) -> None:
    tape = _tape()
    tape.asked(_place(), [PROMPT])
    tape.said(_place(), [PROMPT], Said((_text("Half."),), {}, "odd \ud800"))
    assert RecordingFile(tmp_path / "run.toml").write(tape.sessions()) == 1
