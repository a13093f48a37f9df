import base64
import json
import re
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.replay.cleaner import Cleaner, without_volatile
from runner.replay.heard import difference
from runner.replay.places import Places
from runner.replay.script import fill
from runner.replay.secrets import MASK, Scrubber, secret_values
from runner.replay.wire import without_reminders

KEY = "canary-4711-do-not-keep"
PLACES = Places(Path("/home/ada/greeter"), Path("/home/ada"), Path("/scratch/tmp"))
CLEANER = Cleaner(PLACES, Scrubber([KEY]))

VOLATILE = [
    ("on 2026-11-22 02:00:42 +0000 it", "on <time> it"),
    ("2026-11-22T02:00:42.123Z", "<time>"),
    ("Sun Nov 22 02:00:42 UTC 2026", "<time>"),
    ("Sun Nov 22 02:00:42 AM CEST 2026", "<time>"),
    ("Nov 22 02:00 SPEC.md", "<time> SPEC.md"),
    ("Date:   Sun Nov 22 02:00:42 2026 +0000", "Date:   <time>"),
    ("-rw-r--r-- 1 ada users 12 Nov 22 02:00 A.py", "-rw-r--r-- <owner> 12 <time> A.py"),
    ("drwxr-xr-x 3 ada ada 4096 Nov 22  2025 lib", "drwxr-xr-x <owner> <time> lib"),
    ("drwx------ 4 ada ada 4096 Nov 22 02:00 ..", "<parent>"),
    ("total 24", "total <size>"),
    ("logs/20261122T020042Z-run-4711.jsonl", "logs/<time>.jsonl"),
    ("at 12:00:01,5 sharp", "at <time> sharp"),
    ("mtime 1793318442.25", "mtime <time>"),
    ("Ran 3 tests in 0.001s", "Ran 3 tests in <duration>"),
    ("real\t0m0.005s", "real\t<duration>"),
    ("took 12 ms", "took <duration>"),
    ("step_01JD3Z0K5R8Q9V7W6X5Y4T3S2R", "step_<id>"),
    ("a 6F9619FF-8B86-D011-B42D-00CF4FC964FF b", "a <id> b"),
    ("commit 3f2a9c1d4e5b6a7980123456789abcdef0123456", "commit <hash>"),
    ("[main (root-commit) 1234567] Add it", "[main (root-commit) <hash>] Add it"),
    ("1234567 Add it", "<hash> Add it"),
    ("index 1111111..2222222 100644", "index <hash>..<hash> 100644"),
    ("<object at 0x7f3a2b1c4d5e>", "<object at <address>>"),
    ("pid 4242 ended", "pid <pid> ended"),
    ('{"pid": 4242}', '{"pid": <pid>}'),
    ("[1] 4242", "[1] <pid>"),
    ("http://127.0.0.1:40123/x", "http://127.0.0.1:<port>/x"),
    ("listening on port 40123", "listening on port <port>"),
    ("in /tmp/tmpab12/x.txt", "in /tmp/<name>/x.txt"),
]


@pytest.mark.parametrize(("text", "left"), VOLATILE)
def test_what_differs_each_time_is_taken_out(text: str, left: str) -> None:
    assert without_volatile(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "3 tests passed, 12345678 bytes",
        "x = 42; y = 3.14",
        "http://127.0.0.1:8080/",
        "the added facade",
        "src/tmp/name.txt",
        "version 1.2.3",
        "step 5 of 7",
    ],
)
def test_what_is_the_same_each_time_stays(text: str) -> None:
    assert without_volatile(text) == text


PIECES = st.sampled_from(
    [
        *(text for text, _ in VOLATILE),
        *" \n\t.,:-_/[]<>{}0123456789abcdefs",
        "Nov",
        "\n-rw-r--r-- 1 a b ",
        "\ndrwxr-xr-x 1 a b ",
        " ..\n",
        " UTC",
        " 22",
        "2026",
        "pid ",
        "/tmp/",
        "{{project}}",
        "/home/ada",
        "/home/ada/greeter",
        KEY,
        "Bearer ",
        "sk-ant-api03-abcdefghij0123456789",
        "://u:p@h",
        "<system-reminder>",
        "</system-reminder>",
    ]
)


@settings(max_examples=400)
@given(st.lists(PIECES, max_size=12).map("".join))
def test_taking_out_twice_changes_nothing(text: str) -> None:
    once = without_volatile(text)
    assert without_volatile(once) == once


@given(st.lists(PIECES, max_size=12).map("".join) | st.text())
def test_scrubbing_twice_changes_nothing(text: str) -> None:
    scrub = Scrubber([KEY])
    assert scrub(scrub(text)) == scrub(text)


@given(st.lists(PIECES, max_size=12).map("".join))
def test_no_known_secret_is_left(text: str) -> None:
    assert KEY not in CLEANER.portable(text) + CLEANER.comparable(text)


@given(st.text(st.sampled_from("{}abcdeprojctskhm_i"), max_size=40) | st.text())
def test_portable_text_is_filled_to_what_it_was(text: str) -> None:
    cleaner = Cleaner(Places(), Scrubber())
    written = text.encode(errors="replace").decode()
    assert fill(cleaner.portable(text), {"project": "p", "task": "t"}) == written


def test_text_with_paths_and_placeholders_is_filled_to_what_it_was() -> None:
    text = "{{task}} in /home/ada/greeter/{{project}}, ~ is /home/ada, /scratch/tmp/x {{braces}}"
    assert fill(CLEANER.portable(text), {**PLACES.values(), "task": "no"}) == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("/home/ada/greeter/a.py", "{{project}}/a.py"),
        ("-I/home/ada/greeter.", "-I{{project}}."),
        ("/home/ada/greeter-old", "{{home_dir}}/greeter-old"),
        ("/home/adam", "/home/adam"),
        ("/home/ada.bak", "/home/ada.bak"),
        ("file:///scratch/tmp/x", "file://{{temp_dir}}/x"),
        ("/c/projects/-home-ada-greeter/x", "/c/projects/{{project:slug}}/x"),
    ],
)
def test_paths_of_this_machine_become_placeholders(text: str, left: str) -> None:
    assert CLEANER.portable(text) == left


def test_the_names_in_an_input_are_cleaned_too() -> None:
    cleaner = Cleaner(PLACES, Scrubber([KEY]))
    assert cleaner.portable_json({KEY: [KEY, 1, None]}) == {MASK: [MASK, 1, None]}


@pytest.mark.parametrize(
    "secret",
    [
        "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWx",
        "ghp_0123456789abcdefghijABCDEFGHIJ012345",
        "AKIAIOSFODNN7EXAMPLE",
        "Bearer abc.def-ghi_jkl",
        "https://ada:hunter2@example.org/x",
        f"-----BEGIN RSA PRIVATE KEY-----\n{'aB3/' * 16}\naB3/\n-----END RSA PRIVATE KEY-----",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
        "sk_live_0123456789abcdefABCDEF",
        "whsec_0123456789abcdefABCDEF",
        "Authorization: Token 0123456789abcdef",
    ],
)
def test_what_looks_like_a_key_is_taken_out(secret: str) -> None:
    cleaned = Scrubber()(f"it is {secret}, no?")
    assert MASK in cleaned
    assert secret not in cleaned


@pytest.mark.parametrize("name", ["STRIPE_KEY", "SIGNING_KEY", "DB_PASS", "NPM_AUTH", "FTP_PWD"])
def test_the_value_of_a_variable_with_a_telling_name_is_secret(name: str) -> None:
    assert secret_values({name: "canary-0123", "PWD": "canary-4567"}) == {"canary-0123"}


@pytest.mark.parametrize(
    "written",
    [
        json.dumps('pa"ss\\w/rd?ÿ01')[1:-1],
        quote('pa"ss\\w/rd?ÿ01'),
        'pa"ss\\w/rd?ÿ01'.encode().hex(),
        base64.urlsafe_b64encode('pa"ss\\w/rd?ÿ01'.encode()).decode(),
    ],
    ids=["JSON", "address", "hexadecimal", "base64 for addresses"],
)
def test_a_secret_is_taken_out_however_it_is_written(written: str) -> None:
    assert Scrubber(['pa"ss\\w/rd?ÿ01'])(f"it is {written} no?").startswith(f"it is {MASK}")


@pytest.mark.parametrize("lead", ["", "a", "ab", "abc"])
def test_a_secret_within_base64_is_taken_out(lead: str) -> None:
    code = base64.b64encode(f"{lead}{KEY}\n".encode()).decode()
    assert MASK in Scrubber([KEY])(code)


def test_each_line_of_a_long_secret_is_taken_out() -> None:
    scrub = Scrubber(["first-line-of-the-secret\nsecond-line-of-the-secret"])
    assert scrub("2\tsecond-line-of-the-secret") == f"2\t{MASK}"


def test_secrets_are_found_by_the_names_of_variables(tmp_path: Path) -> None:
    environ = {
        "ANTHROPIC_API_KEY": KEY,
        "MY_DB_PASSWORD": "correct horse",
        "GH_TOKEN": "short",
        "GOOGLE_APPLICATION_CREDENTIALS": str(tmp_path),
        "LANG": "en_GB.UTF-8",
    }
    assert secret_values(environ) == {KEY, "correct horse"}


def test_a_reminder_of_the_agent_is_not_compared() -> None:
    assert CLEANER.comparable("a\n<system-reminder>be good</system-reminder>\n") == "a"


@given(st.lists(st.sampled_from(["<system-reminder>", "</system-reminder>", "a", "\n"])))
def test_reminders_are_found_as_by_looking_at_the_whole_text(parts: list[str]) -> None:
    text = "".join(parts)
    whole = re.sub("<system-reminder>.*?</system-reminder>", "", text, flags=re.DOTALL)
    assert without_reminders(text) == whole


def test_a_long_text_is_compared_by_its_digest() -> None:
    one, other = CLEANER.comparable("x " * 50_000 + "a"), CLEANER.comparable("x " * 50_000 + "b")
    assert len(one) < 41_000
    assert one != other


def test_half_a_character_can_be_kept() -> None:
    assert CLEANER.portable("a\ud800b").encode() == b"a?b"


@pytest.mark.parametrize(
    ("recorded", "now", "told"),
    [
        ("a\nb", "a\nc", "line 2: recorded “b”, now “c”"),
        ("a", "a\nc", "line 2: recorded nothing, now “c”"),
        ("a b", "a\tb", "line 1, in white space only: recorded “a b”, now “a\tb”"),
        (
            "x" * 100 + "1",
            "x" * 100 + "2",
            f"line 1: recorded …“{'x' * 30}1”, now …“{'x' * 30}2”",
        ),
    ],
)
def test_a_difference_is_shown_where_it_is(recorded: str, now: str, told: str) -> None:
    assert difference(recorded, now) == told


CUT = "one\ntwo{0}\n\n... [{1} characters truncated] ...\n\n{2}\nlast"


@pytest.mark.parametrize(
    ("now", "told"),
    [
        (CUT.format("\nthr", 900, "ine"), None),
        (CUT.format("\n", 12, "eight\nnine"), None),
        (CUT.format("\nTHREE", 907, "ne").replace("two", "2"), "line 2: recorded “two”, now “2”"),
        (CUT.format("\n", 907, "x").replace("last", "end"), "line 3: recorded “last”, now “end”"),
    ],
)
def test_an_output_that_the_agent_cut_is_compared_by_its_whole_lines(
    now: str, told: str | None
) -> None:
    assert difference(CUT.format("\nthree\nfo", 907, "nine"), now) == told


@given(st.text(), st.text())
def test_only_equal_texts_have_no_difference(one: str, other: str) -> None:
    assert (difference(one, other) is None) == (one == other)


def test_thousands_of_secrets_in_one_text_are_taken_out_in_reasonable_time() -> None:
    scrub = Scrubber(learns=True)
    secrets = [f"q{number:05}Zx-horse" for number in range(4000)]
    text = scrub("\n".join(f"password={secret}" for secret in secrets))
    assert (scrub.knows, "horse" in text) == (4000, False)
    assert scrub(f"user:{secrets[-1]}") == "user:[secret 4000]"


def test_of_secrets_that_begin_alike_the_longest_is_taken_out() -> None:
    scrub = Scrubber(["abcdefgh-1", "abcdefgh-1-more"])
    assert scrub("x=abcdefgh-1-more y=abcdefgh-1") == "x=[secret] y=[secret 2]"


def test_a_file_that_looks_like_one_key_is_not_looked_for_line_by_line() -> None:
    scrub = Scrubber(learns=True)
    lines = "\n".join(f"{'aB3/' * 10}{number:06}abcdef" for number in range(2000))
    assert scrub(f"-----BEGIN PRIVATE KEY-----\n{lines}").endswith("\n[secret]")
    assert scrub.knows == 0
