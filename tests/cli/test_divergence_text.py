"""Where a replay left its recording, on a terminal of 80 columns."""

from runner.cli.present import divergence_lines

RESULT = "Turn 3 of coding CLI-001 (iteration 2): The result of Bash (python3 greet.py) is not the "


def test_what_was_and_what_is_stand_one_below_the_other() -> None:
    said = RESULT + "recorded one; line 2: recorded “hello”, now …“Traceback (most”…."
    assert divergence_lines(said).splitlines()[-2:] == [
        "         recorded “hello”",
        "         now      …“Traceback (most”…",
    ]


def test_no_line_is_wider_than_a_terminal() -> None:
    said = RESULT + f"recorded one; line 2: recorded “{'word ' * 22}”, now “{'x' * 110}”."
    assert max(map(len, divergence_lines(said).splitlines())) <= 80


def test_texts_of_a_program_can_not_move_the_cursor() -> None:
    assert "\x1b" not in divergence_lines("line 2: recorded “\x1b[2J”, now “a\rb”.")


def test_another_divergence_is_a_paragraph() -> None:
    assert divergence_lines("None of the recording's 2 sessions is for this prompt.") == (
        "       None of the recording's 2 sessions is for this prompt."
    )
