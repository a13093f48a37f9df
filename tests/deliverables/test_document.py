"""No content, however damaged, ends in anything but a value or an error with its line."""

import json
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from runner.deliverables.codec import decode
from runner.deliverables.document import InvalidValueError, corrupt_value, parse_object
from runner.deliverables.model import StatusFile
from runner.errors import StateCorruptError

_PATH = Path("project/.runner/status.json")
_SEED = json.dumps(
    {
        "createdAt": "2025-01-01",
        "specId": "a",
        "phases": [{"id": "p", "title": "P"}],
        "deliverables": [
            {
                "id": "UI-001",
                "description": 'a "quoted" {text}\\',
                "acceptanceCriteria": ["x", "y"],
                "passed": False,
                "blocked": True,
                "weight": 1.5e3,
            }
        ],
    },
    indent=2,
)
_SNIPPETS = [
    *'{}[]":,\\ \n\0x-9',
    "null",
    "true",
    "NaN",
    "1e999",
    '"id":',
    '"passed": true,',
    "\ufeff",
]
_edits = st.lists(
    st.tuples(st.integers(0, len(_SEED)), st.integers(0, 9), st.sampled_from(_SNIPPETS)),
    min_size=1,
    max_size=4,
)


def _read(data: bytes) -> StatusFile | StateCorruptError:
    try:
        raw, text = parse_object(_PATH, data)
        try:
            return decode(raw, derived_spec_id="derived")
        except InvalidValueError as error:
            return corrupt_value(_PATH, text, error)
    except StateCorruptError as error:
        return error


def _lines(data: bytes) -> int:
    return data.count(b"\n") + 1


def _assert_usable_answer(data: bytes) -> None:
    answer = _read(data)
    if isinstance(answer, StateCorruptError):
        line = int(str(answer).split(", line ")[1].split(",")[0])
        assert 1 <= line <= _lines(data)


@settings(max_examples=400, deadline=None)
@given(edits=_edits)
def test_edited_files_are_read_or_refused_with_a_line(edits: list[tuple[int, int, str]]) -> None:
    text = _SEED
    for position, removed, inserted in edits:
        text = text[:position] + inserted + text[position + removed :]
    _assert_usable_answer(text.encode())


@settings(max_examples=200, deadline=None)
@given(data=st.binary(max_size=60))
@example(data=b"\xef\xbb\xbf")
@example(data=b'{"n": 1e9992025-01-01}')
@example(data=b'{"deliverables": [{"id": "\\ud800"}]}')
def test_arbitrary_bytes_are_refused_with_a_line(data: bytes) -> None:
    _assert_usable_answer(data)


def test_every_truncation_is_refused() -> None:
    for length in range(len(_SEED)):
        assert isinstance(_read(_SEED[:length].encode()), StateCorruptError)
