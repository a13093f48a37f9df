import io
import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from tests.cli.scenes import result, whole_run
from tests.cli.test_plain import EVENTS

from runner.app.event_json import EVENT_TYPES, event_object, field_name, timestamp
from runner.cli.main import wants_json
from runner.cli.presenter.event_schema import events_schema, schema_text
from runner.cli.presenter.json_output import JsonPresenter
from runner.cli.presenter.plain import PlainPresenter
from runner.events import RunEnded, RunEvent, RunStarted, SessionActivity, StreamText
from runner.text.output import Output

DOCS = Path(__file__).parents[2] / "docs"
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
STARTED = RunStarted("0.1.0", "Implementing SPEC.md", (("Model", "sonnet"),))


def written(*events: RunEvent, stream: bool = True) -> list[dict[str, Any]]:
    out, people = Output(raw := io.StringIO()), Output(io.StringIO())
    with JsonPresenter(
        PlainPresenter(people, people), out, stream=stream, now=lambda: NOON
    ) as presenter:
        for event in events:
            presenter(event)
    return [json.loads(line) for line in raw.getvalue().splitlines()]


def test_an_object_has_type_version_and_time_first() -> None:
    assert written(STARTED) == [
        {
            "type": "run_started",
            "version": 1,
            "time": "2026-01-31T12:00:00.000Z",
            "runner_version": "0.1.0",
            "message": "Implementing SPEC.md",
            "facts": [["Model", "sonnet"]],
        }
    ]


def test_an_activity_is_its_stream_event() -> None:
    (found,) = written(SessionActivity(StreamText("words")))
    assert (found["type"], found["text"]) == ("agent_text", "words")


def test_json_writes_the_result_alone() -> None:
    (found,) = written(*whole_run(), stream=False)
    assert found["type"] == "result"


def test_times_are_utc() -> None:
    moment = datetime(2026, 1, 31, 14, tzinfo=timezone(timedelta(hours=2)))
    assert timestamp(moment) == "2026-01-31T12:00:00.000Z"


def test_every_event_class_has_a_type_of_its_own() -> None:
    assert len(set(EVENT_TYPES.values())) == len(EVENT_TYPES)


def test_no_field_hides_a_common_one() -> None:
    hidden = {
        (kind, name)
        for kind in EVENT_TYPES
        for name in getattr(kind, "__dataclass_fields__", {})
        if field_name(kind, name) in ("type", "version", "time")
    }
    assert not hidden


@given(EVENTS)
def test_no_event_breaks_the_line_or_the_encoding(event: RunEvent) -> None:
    raw = io.StringIO()
    people = Output(io.StringIO())
    JsonPresenter(PlainPresenter(people, people), Output(raw), stream=True)(event)
    text = raw.getvalue()
    assert text.isascii()
    assert text[:-1].isprintable()


def validator() -> Any:
    jsonschema = pytest.importorskip("jsonschema")
    return jsonschema.Draft202012Validator(events_schema())


def test_the_published_schema_is_that_of_the_code() -> None:
    assert (DOCS / "events.schema.json").read_text(encoding="utf-8") == schema_text()


def test_a_whole_run_fits_the_schema() -> None:
    check = validator()
    errors = [
        error.message for found in written(*whole_run()) for error in check.iter_errors(found)
    ]
    assert errors == []


@given(EVENTS)
def test_every_event_fits_the_schema(event: RunEvent) -> None:
    found = json.loads(json.dumps(event_object(event, NOON)))
    assert validator().is_valid(found)


def test_the_schema_refuses_a_result_without_its_exit_code() -> None:
    found = event_object(RunEnded(result()), NOON)
    del found["exit_code"]
    assert not validator().is_valid(json.loads(json.dumps(found)))


def test_the_document_describes_every_type_and_field() -> None:
    text = (DOCS / "events.md").read_text(encoding="utf-8")
    definitions = events_schema()["$defs"]
    names = {f"`{name}`" for name in definitions}
    names |= {f"`{field}`" for schema in definitions.values() for field in schema["properties"]}
    assert sorted(name for name in names if name not in text) == []


@pytest.mark.parametrize("wanted", ["json", "stream-json"])
def test_a_refused_run_answers_in_the_format_of_the_file(tmp_path: Path, wanted: str) -> None:
    (tmp_path / ".runner").mkdir()
    text = f'output_format = "{wanted}"\n'
    (tmp_path / ".runner" / "runner.toml").write_text(text, encoding="utf-8")
    assert wants_json(["run", "-p", str(tmp_path)], {})


@pytest.mark.parametrize("content", ["output_format = ", 'output_format = ["json"]', "", "\x00"])
def test_a_file_without_a_readable_format_means_text(tmp_path: Path, content: str) -> None:
    (tmp_path / ".runner").mkdir()
    (tmp_path / ".runner" / "runner.toml").write_text(content, encoding="utf-8")
    assert not wants_json(["run", "-p", str(tmp_path)], {})


@pytest.mark.parametrize(
    "line",
    [
        "--output-format json",
        "--output-format=stream-json",
        "--bogus --output-format json",
        "--quiet=1 --output-format json",
        "--output-format json --model",
        "--thinking --output-format json",
        "extra --output-format json",
        "--output-format text --output-format json",
    ],
)
def test_json_is_wanted_also_by_a_line_with_a_mistake(line: str) -> None:
    assert wants_json(["run", *line.split()], {})


@pytest.mark.parametrize(
    "line",
    ["run", "run --output-format", "run --output-format text", "status --output-format json"],
)
def test_json_is_not_wanted(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert not wants_json(line.split(), {})
