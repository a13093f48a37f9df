"""`runner journal`, for programs and for people."""

import json

from tests.cli.control.kit import Cli


def test_a_note_is_the_newest_entry(cli: Cli) -> None:
    cli.start()
    added = cli.ok("journal", "add", "--title", "Key rotated", "--content", "As every month.")
    newest = cli.ok("journal", "list", "--limit", "1")["events"][0]
    assert (newest["seq"], newest["title"], newest["content"]) == (
        added["seq"],
        "Key rotated",
        "As every month.",
    )


def test_adding_says_where_the_note_is(cli: Cli) -> None:
    cli.start()
    said = cli.text("journal", "add", "--title", "Key rotated")
    assert said.startswith(f"Entry #2 is in the journal of {cli.session_id}.\n")


def test_an_entry_takes_a_line_and_what_it_says(cli: Cli) -> None:
    cli.start()
    lines = cli.text("journal", "list").splitlines()
    assert lines[0].startswith("#1  20")
    assert lines[0].endswith("Z  session: Autonomous session started")
    assert lines[1] == f"    Session {cli.session_id} started with gate_policy=strict"


def test_the_next_page_is_one_paste_away(cli: Cli) -> None:
    cli.start()
    cli.ok("journal", "add", "--title", "a note")
    said = cli.text("journal", "list", "--limit", "1").replace("\\\n", " ")
    command = said[said.index("runner journal list") : said.index("Older")].split()
    assert "Autonomous session started" in cli.run(*command[1:]).out


def test_the_journal_of_a_session_that_was_reset_can_be_read(cli: Cli) -> None:
    cli.start()
    cli.session_file().write_text("{", encoding="utf-8")
    cli.ok("session", "reset", "--session-id", cli.session_id)
    assert "Session reset" in cli.text("journal", "list", "--session-id", cli.session_id)


def test_an_edited_entry_is_shown_as_far_as_it_goes(cli: Cli) -> None:
    cli.start()
    journal = cli.workspace / f".runner/autonomy/journal/{cli.session_id}.jsonl"
    text = journal.read_text(encoding="utf-8").replace('"at":"20', '"at":"XX')
    journal.write_text(text, encoding="utf-8")
    assert "#1  at an unknown time  session:" in cli.text("journal", "list")


def test_a_pause_at_the_end_of_a_phase_names_the_phase(cli: Cli) -> None:
    cli.start("--stop-on-phase-completion")
    cli.until("pause")
    newest = cli.ok("session", "events", "--limit", "1")["events"][0]
    assert (newest["title"], newest["phase_id"]) == ("Session paused", "p1")


def test_an_entry_whose_data_was_edited_is_still_an_event(cli: Cli) -> None:
    cli.start()
    journal = cli.workspace / f".runner/autonomy/journal/{cli.session_id}.jsonl"
    entry = json.loads(journal.read_text(encoding="utf-8")) | {"data": "nothing"}
    journal.write_text(json.dumps(entry) + "\n", encoding="utf-8")
    assert cli.ok("session", "events")["events"][0]["data"] == {}
