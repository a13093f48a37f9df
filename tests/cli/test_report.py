"""`runner report`: in the terminal, as data, and as a page that nothing in it can take over."""

import base64
import hashlib
import json
import os
import re
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from tests.cli.control.kit import Cli, make_workspace

from runner.deliverables.model import Counts
from runner.deliverables.workspace import status_path
from runner.records.agent_sessions import history_path
from runner.report.facts import (
    AutonomousSessionFact,
    CommandFact,
    DeliverableFact,
    Denial,
    Event,
    EvidenceFact,
    FindingFact,
    ModelUse,
    Need,
    PhaseFact,
    Report,
    Review,
    RunFact,
    RunOutcome,
    SessionFact,
    StepFact,
    Took,
    VerificationFact,
    WorkFact,
)
from runner.report.page import html_page, report_object
from runner.report.text import report_lines

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
OWN_ELEMENTS = {"script", "iframe", "object", "embed", "form", "link", "img", "base", "input"}


def full(text: str) -> Report:
    """Return a report that holds `text` wherever a report holds words."""
    took = Took(1.5, 90.0, 2)
    session = SessionFact(
        1, text, text, text, text, NOW, text, text, text, NOW, 60.0, text, text, text, 0.5
    )
    step = StepFact(text, text, text, text, NOW, NOW, text, text, text, text)
    commands = (CommandFact(text, 1, text, f"{text}\n{text}"),)
    finding = FindingFact(text, text, text, text, text)
    return Report(
        generated_at=NOW,
        runner_version=text,
        project_dir=text,
        spec_id=text,
        spec_title=text,
        session=AutonomousSessionFact(text, text, NOW, NOW, text, text, 1, text, last_error=text),
        outcome=RunOutcome("attention", text, text),
        counts=Counts(3, 1, 1, 1),
        began_at=NOW,
        last_at=NOW,
        took=took,
        took_over_all=took,
        recorded=True,
        driven_by=text,
        denied_total=1,
        needs=(Need(text, text),),
        phases=(
            PhaseFact(
                text,
                text,
                gate="failed",
                verdict=text,
                waiver_reason=text,
                steps=(step,),
                verifications=(
                    VerificationFact(text, NOW, 1, passed=False, accepted=True, commands=commands,
                                 receipt_path=text, receipt_hash=text),
                ),
                reviews=(Review(NOW, text, text, False, text, (finding,), text, text),),
                took=took,
                models=(ModelUse(text, 1, 10, 20, 30, 40, 0.5),),
            ),
        ),
        deliverables=(
            DeliverableFact(text, text, "blocked", text, (text,), (text,), (text,),
                        EvidenceFact(NOW, text, text, text, text, 1)),
        ),
        sessions=(session, replace(session, number=2, ended_at=None, outcome=None)),
        runs=(RunFact(NOW, text, text, text, text, text, 1, 60.0, 0.5),),
        models=(ModelUse(text, 1, 10, 20, 30, 40, 0.5),),
        models_outside=(ModelUse(text, 1, 10, 20, 30, 40, 0.5),),
        work=(WorkFact(text, took),),
        denials=(Denial(NOW, 1, text, text, text),),
        events=(Event(NOW, text, text, text),),
        note=text,
        other_sessions=(text,),
        problems=(text,),
        cuts=(text,),
    )  # fmt: skip


class Elements(HTMLParser):
    """Keeps what elements and attributes a page has."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Cli(make_workspace(tmp_path / "demo"))


def ask(cli: Cli, *arguments: str) -> tuple[int, str, str]:
    return cli.run("report", "-p", str(cli.workspace), *arguments)


# --- what a page can't be made to do


HOSTILE = st.text(
    st.sampled_from("<>&\"'/= \n\x00\x07\x1b\x9b\u202e\u2066\u200b\ud800`{}%#abc"), max_size=40
) | st.sampled_from(
    [
        "</style><script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "{{ 7 * 7 }}{% raw %}",
        "<!--",
        "]]><svg onload=alert(1)>",
        "javascript:alert(1)",
    ]
)


@settings(max_examples=60)
@given(HOSTILE)
def test_no_word_adds_an_element_to_the_page(text: str) -> None:
    assert Elements(html_page(full(f"x{text}"))).names == Elements(html_page(full("x"))).names


@settings(max_examples=60)
@given(HOSTILE)
def test_no_word_adds_an_attribute_to_the_page(text: str) -> None:
    names = [name for name, _ in Elements(html_page(full(f"x{text}"))).attributes]
    assert names == [name for name, _ in Elements(html_page(full("x"))).attributes]


@settings(max_examples=60)
@given(HOSTILE)
def test_nothing_invisible_gets_into_the_page(text: str) -> None:
    page = html_page(full(f"x{text}"))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069]", page)


def test_the_page_loads_and_runs_nothing() -> None:
    elements = Elements(html_page(full("x")))
    assert not OWN_ELEMENTS & set(elements.names)
    outside = [v for name, v in elements.attributes if name in ("href", "src") and v[:1] != "#"]
    assert outside == []


def test_the_policy_of_the_page_allows_its_own_style_alone() -> None:
    page = html_page(full("x"))
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    style = re.search(r"<style>(.*)</style>", page, re.DOTALL)
    assert policy is not None
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style.group(1).encode()).digest()).decode()
    assert unescape(policy.group(1)) == (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )


def test_a_table_of_the_page_has_a_caption_and_every_figure_a_label() -> None:
    elements = Elements(html_page(full("x")))
    assert elements.names.count("caption") == elements.names.count("table")
    named = [v for name, v in elements.attributes if name in ("aria-label", "aria-labelledby")]
    assert all(named)


def test_a_report_of_nothing_is_a_page_too() -> None:
    given = full("x")
    listed = (f.name for f in fields(Report) if isinstance(getattr(given, f.name), tuple))
    nothing: dict[str, Any] = dict.fromkeys(listed, ())
    empty = replace(given, **nothing, began_at=None, last_at=None)
    assert "No time of anything is known." in html_page(empty)


# --- the terminal


@settings(max_examples=60)
@given(HOSTILE)
def test_lines_hold_nothing_that_a_terminal_would_act_on(text: str) -> None:
    assert all(line.isprintable() for line in report_lines(full(text)))


def test_lines_fit_into_eighty_columns() -> None:
    wide = "Gr\u00f6\u00dfe \u5927\u304d\u3044 word " * 20
    report = full(wide)
    # A command is told whole, so that it can be pasted.
    lines = list(report_lines(replace(report, needs=(replace(report.needs[0], command=""),))))
    assert [line for line in lines if cell_len(line) > 80] == []


def test_of_very_many_deliverables_those_come_first_that_have_not_passed() -> None:
    many = tuple(DeliverableFact(f"D-{n}", "x", "passed", "p") for n in range(99))
    items = (*many, DeliverableFact("D-99", "x", "blocked", "p"))
    lines = list(report_lines(replace(full("x"), deliverables=items, deliverables_total=5000)))
    first = lines.index("Deliverables") + 1
    assert lines[first].startswith("  [BLOCKED] D-99")
    assert "  and 4940 deliverables more" in lines


def test_a_phase_says_how_many_tokens_it_took() -> None:
    assert "    2 sessions, 1m 30s, $1.50, 100 tokens" in list(report_lines(full("x")))


@given(HOSTILE)
def test_data_can_be_read_again(text: str) -> None:
    assert json.loads(json.dumps(report_object(full(text))))["type"] == "report"


# --- the command


def test_before_the_first_session_it_says_what_to_do(cli: Cli) -> None:
    code, _, err = ask(cli)
    assert code == 2
    assert "has no autonomous session yet" in err
    assert "`runner run` starts one" in err


@pytest.fixture
def planning(cli: Cli) -> Path:
    """Return a project where an agent planned, and no more."""
    history = history_path(cli.workspace)
    history.parent.mkdir(parents=True, exist_ok=True)
    line = {"event": "session_started", "at": NOW.isoformat(), "run": "r", "number": 1}
    history.write_text(json.dumps({**line, "instruction": "initializer", "model": "opus"}) + "\n")
    status_path(cli.workspace).unlink()
    return cli.workspace


@pytest.mark.usefixtures("planning")
def test_before_the_first_session_planning_is_told(cli: Cli) -> None:
    code, out, _ = ask(cli, "--json")
    told = json.loads(out)
    assert (code, [one["instruction"] for one in told["sessions"]]) == (0, ["initializer"])
    assert told["outcome"]["headline"] == "Stopped before the first step"


@pytest.mark.usefixtures("planning")
def test_what_is_not_there_while_an_agent_plans_is_not_missing(cli: Cli) -> None:
    assert json.loads(ask(cli, "--json")[1])["problems"] == []


@pytest.mark.usefixtures("planning")
def test_after_planning_the_command_that_goes_on_is_told(cli: Cli) -> None:
    (need,) = json.loads(ask(cli, "--json")[1])["needs"]
    assert need["command"].startswith("runner run")


@pytest.mark.usefixtures("planning")
def test_planning_has_a_page(cli: Cli, tmp_path: Path) -> None:
    ask(cli, "--html", str(tmp_path / "page.html"))
    assert "none yet" in (tmp_path / "page.html").read_text()


def test_a_project_that_is_not_there_is_wrong_usage(cli: Cli, tmp_path: Path) -> None:
    code, _, err = cli.run("report", "-p", str(tmp_path / "nowhere"))
    assert (code, "nowhere" in err, "no autonomous session" in err) == (2, True, False)


def test_a_damaged_session_is_reported_and_named(cli: Cli) -> None:
    cli.start()
    cli.session_file().write_text("no json")
    code, out, err = ask(cli)
    assert (code, err) == (0, "")
    assert "Damaged or missing" in out


def test_the_latest_session_is_told(cli: Cli) -> None:
    session = cli.start()
    code, out, err = ask(cli)
    assert (code, err) == (0, "")
    assert f"{session} (running)" in out


def test_an_ended_session_is_told_too(cli: Cli) -> None:
    session = cli.start()
    cli.ok("session", "end", "--session-id", session)
    code, out, _ = ask(cli, "--json")
    found = json.loads(out)
    assert (code, found["session"]["id"], found["outcome"]["state"]) == (0, session, "ended")


def test_a_session_can_be_chosen(cli: Cli) -> None:
    first = cli.start()
    cli.ok("session", "end", "--session-id", first)
    cli.start()
    assert json.loads(ask(cli, "--json", "--session-id", first)[1])["session"]["id"] == first


@pytest.mark.parametrize("name", ["auto_01HZZZZZZZZZZZZZZZZZZZZZZZ", "../../etc/passwd", ""])
def test_a_session_that_is_not_there_is_wrong_usage(cli: Cli, name: str) -> None:
    cli.start()
    code, out, err = ask(cli, "--session-id", name)
    assert (code, out) == (2, "")
    assert "session" in err


def test_commands_of_a_report_name_the_project(cli: Cli) -> None:
    cli.start()
    needs = json.loads(ask(cli, "--json")[1])["needs"]
    assert [need["command"] for need in needs] == [f"runner run --project-dir {cli.workspace}"]


def test_the_page_is_written_to_a_file(cli: Cli, tmp_path: Path) -> None:
    cli.start()
    file = tmp_path / "report.html"
    code, out, _ = ask(cli, "--html", str(file))
    assert (code, str(file) in out) == (0, True)
    assert file.read_text().startswith("<!doctype html>")


def test_a_report_is_replaced_by_a_newer_one(cli: Cli, tmp_path: Path) -> None:
    cli.start()
    file = tmp_path / "report.html"
    ask(cli, "--html", str(file))
    first = file.read_text()
    cli.ok("session", "end")
    assert ask(cli, "--html", str(file))[0] == 0
    assert file.read_text() != first


def test_what_is_no_report_is_never_overwritten(cli: Cli) -> None:
    cli.start()
    spec = cli.workspace / "SPEC.md"
    spec.write_text("# mine\n")
    code, _, err = ask(cli, "--html", str(spec))
    assert (code, spec.read_text()) == (2, "# mine\n")
    assert "is no report of runner" in err


@pytest.mark.parametrize(
    "name",
    [
        ".", "no/such/folder/report.html", "link.html", "pipe.html", "",
        "~nobody-of-this-name/report.html", f"{'a' * 300}.html",
    ],
)  # fmt: skip
def test_a_place_that_can_not_be_written_is_wrong_usage(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    cli.start()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link.html").symlink_to(tmp_path / "elsewhere")
    os.mkfifo("pipe.html")
    code, out, err = ask(cli, "--html", name)
    assert (code, out) == (2, "")
    assert err.startswith("Error: ")


def test_only_one_thing_goes_to_stdout(cli: Cli) -> None:
    cli.start()
    assert ask(cli, "--html", "-", "--json")[0] == 2


def test_data_and_page_can_be_had_together(cli: Cli, tmp_path: Path) -> None:
    cli.start()
    code, out, _ = ask(cli, "--html", str(tmp_path / "r.html"), "--json")
    assert (code, json.loads(out)["type"]) == (0, "report")
    assert (tmp_path / "r.html").is_file()


def test_a_run_that_took_a_day_is_told_with_its_date() -> None:
    report = replace(full("x"), last_at=NOW + timedelta(days=1, seconds=5))
    assert "Last change   2 Mar 2026, 12:00:05 UTC, after 24h 5s" in list(report_lines(report))
