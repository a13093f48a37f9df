from itertools import takewhile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from tests.cli.phases import row
from tests.cli.scenes import result

from runner.app.notify.github import (
    GithubReporter,
    annotations,
    markdown_text,
    output_lines,
    summary_markdown,
)
from runner.app.result import result_object
from runner.events import RunEnded, StatusChanged


def ignore(_: str) -> None:
    """Where no annotation is expected."""


def parse_outputs(text: str) -> dict[str, str]:
    """Read step outputs as GitHub does."""
    found, lines = {}, iter(text.split("\n"))
    for line in lines:
        name, _, delimiter = line.partition("<<")
        if delimiter and "=" not in name:
            found[name] = "\n".join(takewhile(delimiter.__ne__, lines))
        elif line:
            name, _, value = line.partition("=")
            found[name] = value
    return found


def outputs(**changes: object) -> dict[str, str]:
    return parse_outputs(output_lines(result_object(RunEnded(result(**changes)))))


def test_outputs_are_flat() -> None:
    found = outputs()
    assert (found["exit_reason"], found["exit_code"]) == ("all_passed", "0")
    assert (found["deliverables_passed"], found["deliverables_total"]) == ("2", "3")


def test_an_unknown_field_is_an_empty_output() -> None:
    assert outputs()["session_id"] == ""


def test_lists_are_json() -> None:
    assert outputs()["blocked_ids"] == '["UI-003"]'


def test_several_lines_are_one_output() -> None:
    assert outputs(message="first\nsecond")["message"] == "first\nsecond"


def test_the_delimiter_differs_each_time() -> None:
    objects = [output_lines(result_object(RunEnded(result(message="a\nb")))) for _ in range(2)]
    assert objects[0] != objects[1]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_no_message_sets_another_output(message: str) -> None:
    assert set(outputs(message=message)) == set(outputs())


def test_escape_sequences_do_not_reach_an_output() -> None:
    assert outputs(message="\x1b[31mred")["message"] == "␛[31mred"


@pytest.mark.parametrize(
    "text", ["<img src=x>", "![a](b)", "a|b", "`code`", "**bold**", "[x](y)", "# head"]
)
def test_markdown_is_shown_not_interpreted(text: str) -> None:
    (line,) = [token for token in MarkdownIt().parse(markdown_text(text)) if token.children]
    assert {part.type for part in line.children or []} <= {"text", "text_special", "code_inline"}


def test_the_summary_has_the_counts_and_the_changed_deliverables() -> None:
    changes = {"A-1": StatusChanged("A-1", "passed", "Sum | difference")}
    text = summary_markdown(result_object(RunEnded(result())), changes)
    assert "| Deliverables | 2/3 passed |" in text
    assert r"| A-1 | passed | `Sum `\|` difference` |" in text


def test_the_reporter_appends_to_the_named_files(tmp_path: Path) -> None:
    summary, output = tmp_path / "summary", tmp_path / "output"
    output.write_text("before=1\n")
    environ = {"GITHUB_STEP_SUMMARY": str(summary), "GITHUB_OUTPUT": str(output)}
    reporter = GithubReporter(environ, ignore)
    reporter(StatusChanged("A-1", "blocked", "Send mail"))
    reporter(RunEnded(result()))
    assert parse_outputs(output.read_text())["before"] == "1"
    assert "| A-1 | blocked | Send mail |" in summary.read_text()


def test_without_the_variables_nothing_is_wanted() -> None:
    assert not GithubReporter({}, ignore).wanted


def annotated(description: str, **details: object) -> list[str]:
    run = result_object(RunEnded(result(), details))
    return annotations(run, {"UI-003": StatusChanged("UI-003", "blocked", description)})


def test_a_blocked_deliverable_is_a_warning() -> None:
    assert annotated("Send mail: 100%") == ["::warning title=Blocked%3A UI-003::Send mail: 100%25"]


def test_a_failed_gate_is_an_error_and_a_passed_one_is_nothing() -> None:
    phases = [
        row(phase_id="one", gate_status="failed", verdict="warn", review_path="one.md"),
        row(phase_id="two", gate_status="passed", verdict="pass"),
    ]
    assert annotated("x", phases=phases)[1:] == [
        "::error title=Gate failed%3A one::The review says warn: one.md"
    ]


def test_a_gate_that_waits_for_a_person_is_a_warning() -> None:
    waiting = row(verdict="warn", review_path="p.md", awaits_acknowledgement=True)
    assert annotated("x", phases=[waiting])[1:] == [
        "::warning title=Gate waits for a person%3A p::The review says warn: p.md"
    ]


@given(st.text(min_size=1))
def test_no_words_of_a_review_add_a_workflow_command(text: str) -> None:
    failed = row(phase_id=text, gate_status="failed", verdict="fail", review_path=text)
    line = annotated("x", phases=[failed])[1]
    assert len(line.splitlines()) == 1
    title, _, message = line.removeprefix("::error title=").partition("::")
    assert not {":", ","} & set(title)
    assert "##[" not in title + message


def test_the_summary_has_a_line_for_each_phase() -> None:
    took = row(agent_sessions=1, agent_seconds=5.0, cost_usd=0.5)
    text = summary_markdown(result_object(RunEnded(result(), {"phases": [took]})), {})
    assert "| p | 2/2 claimed | not reviewed yet | `1 session, 5s, $0.50` |" in text
    assert "| Deliverables | 0/3 passed (2 claimed) |" in text


def test_a_command_in_the_advice_can_be_copied_from_the_summary() -> None:
    run = result_object(RunEnded(result(hint="Decide:\n  runner session resume --x-y `z`")))
    assert "\n`` runner session resume --x-y `z` ``\n" in summary_markdown(run, {})


@given(st.text())
def test_no_description_adds_a_workflow_command(text: str) -> None:
    (line,) = annotated(text)
    assert len(line.splitlines()) == 1


def test_annotations_are_written_at_the_end_on_github() -> None:
    written: list[str] = []
    GithubReporter({"GITHUB_ACTIONS": "true"}, written.append)(RunEnded(result()))
    assert written == ["::warning title=Blocked%3A UI-003::See .runner-note.md\n"]
