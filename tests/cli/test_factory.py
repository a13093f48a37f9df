import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.scenes import whole_run

from runner.cli.presenter import OutputFormat, make_presenter

SCENES = Path(__file__).with_name("scenes.py")


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


XTERM = {"TERM": "xterm-256color"}


def shown(
    output_format: OutputFormat,
    stdout: io.StringIO,
    stderr: io.StringIO,
    environ: dict[str, str],
) -> tuple[str, str]:
    with make_presenter(
        output_format=output_format,
        quiet=False,
        debug=False,
        stdout=stdout,
        stderr=stderr,
        environ=environ,
    ) as presenter:
        for event in whole_run():
            presenter(event)
    return stdout.getvalue(), stderr.getvalue()


@pytest.mark.parametrize(
    ("stdout", "environ", "is_coloured"),
    [
        (FakeTerminal, XTERM, True),
        (FakeTerminal, XTERM | {"NO_COLOR": "1"}, False),
        (FakeTerminal, XTERM | {"NO_COLOR": ""}, True),
        (FakeTerminal, {"TERM": "dumb"}, False),
        (FakeTerminal, {}, False),
        (io.StringIO, XTERM, False),
        (io.StringIO, {"FORCE_COLOR": "1"}, True),
        (io.StringIO, {"FORCE_COLOR": "0"}, False),
        (io.StringIO, {"FORCE_COLOR": "1", "TERM": "dumb"}, True),
        (io.StringIO, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_who_gets_control_characters(
    stdout: type[io.StringIO], environ: dict[str, str], is_coloured: bool
) -> None:
    out, _ = shown("text", stdout(), io.StringIO(), environ)
    assert ("\x1b" in out) is is_coloured


def test_forced_colours_move_no_cursor() -> None:
    out, _ = shown("text", io.StringIO(), io.StringIO(), {"FORCE_COLOR": "1"})
    assert "\r" not in out


def test_a_piped_stderr_stays_plain_beside_a_terminal() -> None:
    _, err = shown("text", FakeTerminal(), io.StringIO(), XTERM)
    assert "\x1b" not in err


def test_both_kinds_write_the_same_permanent_lines() -> None:
    plain, _ = shown("text", io.StringIO(), io.StringIO(), XTERM)
    painted, _ = shown("text", io.StringIO(), io.StringIO(), {"FORCE_COLOR": "1"})
    assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == plain


def test_in_json_stdout_is_one_object_and_people_read_stderr() -> None:
    out, err = shown("json", io.StringIO(), io.StringIO(), {})
    assert json.loads(out)["type"] == "result"
    assert "[PASS] UI-001 Parse the arguments\n" in err


def test_in_stream_json_every_line_is_an_object_and_the_last_the_result() -> None:
    out, _ = shown("stream-json", io.StringIO(), io.StringIO(), {})
    kinds = [json.loads(line)["type"] for line in out.splitlines()]
    assert (kinds[0], kinds[-1]) == ("run_started", "result")


def test_a_terminal_full_of_json_lines_has_no_activity_line() -> None:
    _, err = shown("stream-json", FakeTerminal(), FakeTerminal(), XTERM)
    assert "\r" not in err


def test_github_files_are_written_beside_any_format(tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    shown("text", io.StringIO(), io.StringIO(), {"GITHUB_STEP_SUMMARY": str(summary)})
    assert summary.read_text().startswith("### runner run: All achievable")


def test_a_report_that_can_not_be_written_is_a_warning(tmp_path: Path) -> None:
    environ = {"GITHUB_OUTPUT": str(tmp_path / "no" / "such")}
    out, err = shown("text", io.StringIO(), io.StringIO(), environ)
    assert "Warning: The report for GitHub Actions could not be written" in err
    assert "Overall:" in out


@pytest.mark.process
@pytest.mark.parametrize("output_format", ["text", "json", "stream-json"])
def test_without_a_terminal_rich_is_not_imported(output_format: str) -> None:
    code = (
        "import sys, io; from runner.cli.presenter import make_presenter; "
        f"make_presenter(output_format={output_format!r}, quiet=False, debug=False, "
        "stdout=io.StringIO(), stderr=io.StringIO(), environ={}); "
        "print([name for name in sys.modules if name.split('.')[0] in ('rich', 'pydantic')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
