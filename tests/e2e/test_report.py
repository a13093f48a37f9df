"""`runner report` of a real run, and its page in a real browser."""

import json
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.browser import Browser, browser, browser_path
from tests.e2e.harness import Project, project
from tests.e2e.reported import CANARY, HOSTILE, SCRIPT, SPEC

pytestmark = pytest.mark.e2e

NEEDS_BROWSER = pytest.mark.skipif(
    browser_path() is None, reason="needs chromium (apt-get install chromium)"
)
_DESKTOP, _PHONE = 1280, 390


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    with project(tmp_path_factory.mktemp("report"), SCRIPT, spec=SPEC) as done:
        end = done.run()
        assert end.returncode == 3, end.stderr
        yield done


@pytest.fixture(scope="module")
def facts(ran: Project) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ran.run("--json", command="report").stdout)
    return found


@pytest.fixture(scope="module")
def page(ran: Project) -> Path:
    written = ran.run("--html", "report.html", command="report")
    assert written.returncode == 0, written.stderr
    return ran.path / "report.html"


def test_every_agent_session_is_in_the_report(facts: dict[str, Any]) -> None:
    assert [session["instruction"] for session in facts["sessions"][:5]] == [
        "initializer",
        "coding",
        "review",
        "coding",
        "coding",
    ]
    assert all(session["outcome"] == "completed" for session in facts["sessions"])


def test_tokens_and_cost_are_told_by_model(facts: dict[str, Any]) -> None:
    assert {use["model"].split("-")[1] for use in facts["models"]} == {"opus", "sonnet"}
    by_model = sum(use["cost_usd"] for use in facts["models"])
    assert by_model == pytest.approx(facts["took"]["cost_usd"], abs=1e-4)
    assert all(use["cache_read_tokens"] >= 14_500 for use in facts["models"])


def test_refused_calls_are_told_with_their_reason(facts: dict[str, Any]) -> None:
    asked = [denial["input"] for denial in facts["denials"]]
    assert '{"command": "rm -rf /"}' in asked
    assert all(denial["reason"] for denial in facts["denials"])


def test_no_credential_is_in_any_file_of_the_report(ran: Project, page: Path) -> None:
    history = ran.path / ".runner" / "autonomy" / "agent-sessions.jsonl"
    assert CANARY not in page.read_text() + history.read_text()
    assert "[redacted]" in page.read_text()


def test_what_failed_and_what_passed_is_told_of_each_phase(facts: dict[str, Any]) -> None:
    runs = {p["id"]: [v["passed"] for v in p["verifications"]] for p in facts["phases"]}
    gates = {phase["id"]: phase["gate"] for phase in facts["phases"]}
    assert runs == {"catalogue": [True], "checkout": [False, True]}
    assert gates == {"catalogue": "passed", "checkout": "failed"}


def test_the_output_of_a_verification_is_kept(facts: dict[str, Any]) -> None:
    (command,) = facts["phases"][0]["verifications"][0]["commands"]
    assert (command["exit_code"], "Dune, 14.50 EUR" in command["output"]) == (0, True)


def test_findings_are_told_in_full(facts: dict[str, Any]) -> None:
    (review,) = facts["phases"][1]["reviews"]
    assert [finding["severity"] for finding in review["findings"]] == ["major", "minor"]
    assert "decimal.Decimal" in review["findings"][0]["detail"]


def test_lines_for_people_fit_a_terminal(ran: Project) -> None:
    shown = ran.run(command="report")
    commands = ("      runner ",)
    assert [
        li for li in shown.stdout.splitlines() if len(li) > 80 and li[:13] not in commands
    ] == []


def test_the_page_can_be_piped(ran: Project) -> None:
    assert ran.run("--html", "-", command="report").stdout.startswith("<!doctype html>")


@pytest.fixture(scope="module")
def shown(page: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    path = browser_path()
    assert path is not None
    with browser(path, tmp_path_factory.mktemp("profile")) as window:
        window.open(page)
        yield window


@NEEDS_BROWSER
def test_a_browser_loads_the_page_alone_and_runs_nothing(shown: Browser, page: Path) -> None:
    assert shown.requests == [page.as_uri()]
    assert (shown.said, shown.dialogs) == ([], [])


@NEEDS_BROWSER
def test_hostile_words_are_shown_as_words(shown: Browser) -> None:
    visible = shown.ask("document.body.innerText")
    assert HOSTILE[: HOSTILE.index("\u202e")] in visible
    assert shown.ask("document.querySelectorAll('script, img, b b').length") == 0


@NEEDS_BROWSER
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [_DESKTOP, _PHONE])
def test_the_page_fits_and_is_drawn(
    shown: Browser, tmp_path: Path, width: int, *, dark: bool
) -> None:
    shown.show(width, dark=dark)
    assert shown.ask("document.documentElement.scrollWidth") <= width
    picture = shown.picture()
    _keep(picture, tmp_path, f"report-{width}-{'dark' if dark else 'light'}.png")
    assert _different_rows(picture) > 1000
    background = shown.ask("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(15, 18, 23)" if dark else "rgb(245, 246, 248)")


@NEEDS_BROWSER
def test_every_word_stands_out_from_what_is_behind_it(shown: Browser) -> None:
    for dark in (False, True):
        shown.show(_DESKTOP, dark=dark)
        assert shown.ask(_POOR_CONTRAST) == []


@NEEDS_BROWSER
def test_what_is_folded_is_printed_too(shown: Browser, tmp_path: Path) -> None:
    shown.show(_DESKTOP)
    shown.call("Emulation.setEmulatedMedia", media="print")
    hidden = "[...document.querySelectorAll('details .inside')].filter(e => !e.offsetHeight).length"
    assert shown.ask(hidden) == 0
    assert shown.printed().startswith(b"%PDF")


def _keep(picture: bytes, folder: Path, name: str) -> None:
    """Keep a picture where somebody asks for it, to be looked at."""
    kept = Path(os.environ.get("RUNNER_SCREENSHOTS", folder))
    kept.mkdir(parents=True, exist_ok=True)
    (kept / name).write_bytes(picture)


def _different_rows(picture: bytes) -> int:
    """Return how many rows of a PNG differ: few when next to nothing is drawn."""
    data, position, stride = b"", 8, 1
    while position < len(picture):
        length, kind = struct.unpack(">I4s", picture[position : position + 8])
        body = picture[position + 8 : position + 8 + length]
        if kind == b"IHDR":
            width, _, _, colours = struct.unpack(">IIBB", body[:10])
            stride = width * (4 if colours == 6 else 3) + 1
        if kind == b"IDAT":
            data += body
        position += length + 12
    rows = zlib.decompress(data)
    return len({rows[i : i + stride] for i in range(0, len(rows), stride)})


_POOR_CONTRAST = """(() => {
  const parts = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const behind = e => {
    for (; e; e = e.parentElement) {
      const colour = parts(getComputedStyle(e).backgroundColor);
      if (colour.length < 4 || colour[3] > .99) return colour;
    }
    return [255, 255, 255];
  };
  const found = new Set();
  for (const e of document.querySelectorAll('body *')) {
    if (e.closest('svg, nav') || ![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
    const [a, b] = [light(parts(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
    if ((a + .05) / (b + .05) < 4.5) found.add(`${e.tagName}.${e.className}`);
  }
  return [...found];
})()"""
