"""The events of a run reach a list of subscribers."""

from pathlib import Path

from tests.cli.scenes import result
from tests.loop.fakes import Recorder

from runner.app.job import Job
from runner.app.run_log import RunLog
from runner.app.subscribers import Subscribers, subscribers_of
from runner.config.options import RunOptions
from runner.credentials import Redactor
from runner.events import Notice, RunEnded, RunEvent, RunStarted
from runner.project import Project

STARTED = RunStarted("0.1.0", "Implementing SPEC.md")
ENDED = RunEnded(result())
KEY = "sk-ant-api03-" + "a" * 40


def subscribers(*sinks: Recorder, environ: dict[str, str] | None = None) -> Subscribers:
    return Subscribers(Redactor(environ or {}), lambda ended: ended, *sinks)


def test_every_subscriber_gets_every_event() -> None:
    first, second = Recorder(), Recorder()
    events = subscribers(first, second)
    events(STARTED)
    events(ENDED)
    assert [list(first), list(second)] == [[STARTED, ENDED]] * 2


def test_no_subscriber_gets_a_credential() -> None:
    sink = Recorder()
    subscribers(sink, environ={"API_KEY": KEY})(Notice("warning", f"{KEY} is a file"))
    assert KEY not in str(list(sink))


def test_those_put_first_get_an_event_first() -> None:
    order: list[str] = []
    events = subscribers()
    events.put_first(lambda _: order.append("screen"))
    events.put_first(lambda _: order.append("account"))
    events(STARTED)
    assert order == ["account", "screen"]


def shown(project: Path, *published: RunEvent) -> list[type]:
    """Return what a presenter gets where the log can't be written."""
    (project / ".runner").write_text("a file in the way")
    screen = Recorder()
    events = subscribers(screen)
    with RunLog(project, "run", events, redactor=Redactor({})) as log:
        events.put_first(log)
        for event in published:
            events(event)
    return [type(event) for event in screen]


def test_the_startup_display_comes_before_a_warning_of_the_log(tmp_path: Path) -> None:
    assert shown(tmp_path, STARTED) == [RunStarted, Notice]


def test_nothing_comes_after_the_end(tmp_path: Path) -> None:
    assert shown(tmp_path, ENDED) == [Notice, RunEnded]


def test_a_subscriber_that_fails_does_not_hold_up_the_next_event() -> None:
    sink = Recorder()

    def account(event: RunEvent) -> None:
        if event is STARTED:
            events(Notice("warning", "full"))
            raise OSError

    events = subscribers(sink)
    events.put_first(account)
    try:
        events(STARTED)
    except OSError:
        events(ENDED)
    assert [type(event) for event in sink] == [Notice, RunEnded]


def test_the_end_says_where_the_conversation_left_its_script(tmp_path: Path) -> None:
    sink = Recorder()
    job = Job(Project(tmp_path, {}), RunOptions(), "Test", divergences=lambda: ["Turn 3 of coding"])
    subscribers_of(job, Redactor({}), sink)(ENDED)
    (ended,) = sink
    assert isinstance(ended, RunEnded)
    assert ended.details["divergences"] == ["Turn 3 of coding"]
