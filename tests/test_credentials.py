"""What counts as a credential in a text: how long that takes, and what it does not count."""

import base64
import json
import random
import re
import string
import time
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from runner.credentials import KEYS_BY_THEIR_FORM, environment_secrets, without_shapes


def cleaned(text: str) -> str:
    return without_shapes(text, lambda _: "[it]")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("DB_PASSWORD=correcthorse", "DB_PASSWORD=[it]"),
        ('{\\"password\\": \\"hunter2!\\"}', '{\\"password\\": \\"[it]\\"}'),
        ("password%3Dhunter2%26a%3D1", "password%3D[it]%26a%3D1"),
        ("postgres://ada:p@ss@db:5432/x", "postgres://ada:[it]@db:5432/x"),
        ("redis%3A%2F%2F%3As3cret%40cache", "redis%3A%2F%2F%3A[it]%40cache"),
        ("https://0123456789abcdef0123@example.com", "https://[it]@example.com"),
        ("Set-Cookie: sid=abc123; Path=/", "Set-Cookie: [it]"),
        ("AccountKey=abc123def456==;Endpoint", "AccountKey=[it];Endpoint"),
        ("?X-Amz-Signature=0123456789abcdef&x", "?X-Amz-Signature=[it]&x"),
    ],
)
def test_a_credential_ends_where_it_ends(text: str, left: str) -> None:
    assert cleaned(text) == left


@pytest.mark.parametrize(
    "text",
    [
        'if "-----BEGIN ' + 'PRIVATE KEY-----" in text: pass',
        "https://ada:${PASSWORD}@example.com http://localhost:8080/a@b",
        "Authorization: Bearer $TOKEN",
        "password: str = Field(min_length=8)",
        "len(password)>8 and tests_pass=12",
        "export GOOGLE_CREDENTIALS=/home/ada/x1.json",
        "PASSWORD=[secret 2] password: [redacted: DB_PASSWORD]",
    ],
)
def test_what_only_talks_about_credentials_stays(text: str) -> None:
    assert cleaned(text) == text


def test_a_password_in_an_address_of_the_environment_is_known() -> None:
    environ = {"DATABASE_URL": "postgres://ada:correct-horse@db/x", "EDITOR": "vi"}
    assert environment_secrets(environ) == {"correct-horse": "DATABASE_URL"}


KEY_LINES = [
    base64.b64encode(random.Random(number).randbytes(size)).decode()  # noqa: S311 - no real key
    for number, size in enumerate([48] * 5 + [20])
]
BEGIN, END = "-----BEGIN " + "PRIVATE KEY-----", "-----END " + "PRIVATE KEY-----"
KEY = "\n".join([BEGIN, *KEY_LINES, END])


def each_line(write: str) -> Callable[[str], str]:
    return lambda text: "\n".join(write.format(line) for line in text.split("\n"))


@pytest.mark.parametrize(
    "write",
    [
        str,
        json.dumps,
        lambda text: json.dumps(json.dumps(text)),
        lambda text: json.dumps(text).replace("/", "\\/"),
        lambda text: quote(text, safe=""),
        lambda text: quote(quote(text, safe=""), safe=""),
        quote_plus,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", " "),
        lambda text: text.replace("\n", ""),
        lambda text: text.replace(BEGIN, f"{BEGIN}\nProc-Type: 4,ENCRYPTED\n"),
        lambda text: text.replace(END, f"=aB3/\n{END}"),
        each_line("     7\t{}"),
        each_line("    12→{}"),
        each_line("+{}"),
        each_line("> {}"),
        each_line("conf/id.pem:{}"),
        each_line("web_1  | 2026-11-22T10:00:00.123Z {}"),
        each_line('  "{}\\n" +'),
        each_line("\x1b[32m+\x1b[m\x1b[32m{}\x1b[m"),
    ],
)
def test_no_line_of_a_private_key_stays(write: Callable[[str], str]) -> None:
    left = cleaned(f"before\n{write(KEY)}\nafter\n")
    kept = [line for line in KEY_LINES if any(each in left for each in (line, write(line)))]
    assert (kept, left[:7], left[-7:]) == ([], "before\n", "\nafter\n")


def test_of_a_key_that_was_cut_no_line_stays() -> None:
    middle = len(KEY) // 2
    assert cleaned(f"{KEY[:middle]}\n...\n") == f"{BEGIN}\n[it]\n...\n"
    assert cleaned(f"...\n{KEY[KEY.index(KEY_LINES[2]) :]}") == f"...\n[it]\n{END}"


def test_a_hole_in_a_key_ends_neither_part() -> None:
    lines = [BEGIN, *KEY_LINES[:2], "... 3 lines left out ...", *KEY_LINES[4:], END]
    left = ["-----BEGIN " + "PRIVATE KEY-----", "[it]", "... 3 lines left out ...", "[it]", END]
    assert cleaned("\n".join(lines)) == "\n".join(left)


def test_the_mask_of_a_key_says_how_many_lines_it_hides() -> None:
    left = f"{BEGIN}\n[redacted: private key, 6 lines]\n{END}"
    assert KEYS_BY_THEIR_FORM.text(KEY) == left
    assert KEYS_BY_THEIR_FORM.text(left) == left


FAILURE = "FAILED tests/test_price.py::test_rounding - assert 12 == 13"
ALONE = [BEGIN, BEGIN.replace(" PRIV", " RSA PRIV"), END]


@pytest.mark.parametrize("marker", ALONE)
@pytest.mark.parametrize("end", ["", END])
@pytest.mark.parametrize(
    "line",
    [
        FAILURE,
        "FAILED",
        "AssertionError",
        "tests/unit/billing/currencies/rounding/of/large/amounts",
        "Comment: FAILED",
        "0123456789abcdef" * 4,
        json.dumps(FAILURE),
    ],
)
def test_a_marker_hides_no_line_that_is_none_of_a_key(marker: str, end: str, line: str) -> None:
    text = f"{marker}\n{line}\n{line} again\n{end}"
    assert cleaned(text) == text


def test_a_failure_after_an_unfinished_key_stays() -> None:
    text = "\n".join([BEGIN, *KEY_LINES[:3], FAILURE, *KEY_LINES[3:4], FAILURE])
    assert cleaned(text) == "\n".join([BEGIN, "[it]", FAILURE, KEY_LINES[3], FAILURE])


# Something that begins each of the patterns, with a secret of its own behind it or without.
SECRET = "qZ7abcd1234EFGH5678ijkl"
OPENERS = [
    *ALONE, KEY, f"{BEGIN}\n{KEY_LINES[0]}", f"{KEY_LINES[0]}\n{END}",
    *(lead + SECRET for lead in (
        "Authorization: Bearer ", "authorization: ", "bearer ", "x-api-key: ", "Set-Cookie: sid=",
        "Cookie: a=1234; b=", "https://ada:", "?sig=", "X-Amz-Signature=", "curl -u ada:",
        "login ada password ", "--password ", "DB_PASSWORD=", "STRIPE_KEY=", "sshpass -p ",
        "mysql -u root -p", "$6$abcdefgh$", '"auth": "', "password: '", "secret=", "sk-ant-", "ghp_",
        "https://hooks.slack.com/services/", "https://api.telegram.org/bot123456789:", "token>",
    )),
    "Authorization: Bearer", "bearer ", "Set-Cookie:", "cookie: a=", "://", "https://ada:", "?sig=",
    "curl -u", "curl -u ada:", "login ada password", "--password", "DB_PASSWORD=", "sshpass -p",
    "password=", "password: '", "token:", '"auth": "', "mysql -p", "x-api-key:",
    "https://hooks.slack.com/services/", "$6$abcdefgh$", "sk-ant-", "eyJhbGciOi.",
]  # fmt: skip
PLAIN_LINES = st.lists(
    st.text("abc XYZ019_.:-=()<>[]'\"/+%\\@", min_size=1, max_size=70), min_size=1, max_size=5
)


@given(
    opener=st.sampled_from(OPENERS), lines=PLAIN_LINES, writing=st.sampled_from([str, json.dumps])
)
def test_nothing_hides_the_lines_after_it(
    opener: str, lines: list[str], writing: Callable[[str], str]
) -> None:
    after = "\n".join(["Summary", *lines, FAILURE])
    assume(not re.search(r"[A-Za-z0-9+/=%\\]{15}", after.replace(FAILURE, "")))
    assume(cleaned(writing(after)) == writing(after))
    assert writing(after)[1:] in cleaned(writing(f"{opener}\n{after}"))


@given(
    opener=st.sampled_from(
        [each for each in OPENERS if not each.endswith((" ", "=", ":", "'", '"'))]
    ),
    words=st.lists(st.text(string.ascii_letters, min_size=1, max_size=14), min_size=1, max_size=9),
)
def test_nothing_hides_the_words_after_a_blank(opener: str, words: list[str]) -> None:
    after = f" is {' '.join(words)}, no?"
    assume(cleaned(after) == after)
    assert cleaned(opener + after).endswith(after[3:])


HARD = [
    BEGIN, END, f"{BEGIN}\n", f"{KEY_LINES[0]}\n", f"{END}\n{KEY_LINES[0]}\n", "\n", "1 ", "\\n",
    "a", "-", "://", "password=", "A_", "AUTH_", "curl -u ", "eyJaaaaaaaaa.", "%20", "\\", "x1",
    "cookie: a=1234;", "a=bc; ",
]  # fmt: skip


@pytest.mark.parametrize("piece", HARD)
def test_no_text_takes_more_than_its_share_of_time(piece: str) -> None:
    started = time.process_time()
    cleaned(piece * (60_000 // len(piece)))
    # A pattern that starts again at each character takes minutes.
    assert time.process_time() - started < 20


def test_a_mask_is_no_credential() -> None:
    text = "PGPASSWORD=hunter2 token=abcdef123456 https://ada:pw@x.org"
    assert cleaned(cleaned(text)) == cleaned(text)


HEX = "0123456789abcdef" * 3
MIXED = "abcd1234EFGH5678ijkl9012MNOP3456"


@pytest.mark.parametrize(
    ("lead", "rest"),  # apart, so that nobody takes them for keys here
    [
        ("glrt-", MIXED), ("ya29.", MIXED), ("GOCSPX-", MIXED), ("gsk_", MIXED), ("r8_", MIXED),
        ("ntn_", MIXED), ("figd_", MIXED), ("glsa_", MIXED), ("sbp_", HEX), ("shpat_", HEX),
        ("lin_api_", MIXED), ("rubygems_", HEX), ("sntrys_", MIXED), ("dckr_pat_", MIXED),
        ("pscale_tkn_", MIXED), ("sq0atp-", MIXED), ("xai-", MIXED), ("pplx-", HEX),
        ("ATATT3x", MIXED), ("dapi", HEX[:32]), ("SK", HEX[:32]), ("key-", HEX[:32]),
        ("SG.", f"{MIXED}.{MIXED}{MIXED}"), ("hvs.", MIXED), ("dp.pt.", MIXED),
        ("AGE-SECRET-KEY-1", "QP" * 29), ("sk.eyJ1", f"IjoiYWRhIn0.{MIXED}"),
        ("abcd1234EFGH56.", f"atlasv1.{MIXED}{MIXED}"),
    ],
)  # fmt: skip
def test_keys_that_say_whose_they_are_are_known(lead: str, rest: str) -> None:
    assert cleaned(f"it is {lead}{rest} there") == "it is [it] there"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"https://hooks.slack.com/services/T01/B02/{MIXED}", "https://hooks.slack.com/services/[it]"),
        (f"https://discord.com/api/webhooks/123/{MIXED}", "https://discord.com/api/webhooks/[it]"),
        (f"https://api.telegram.org/bot123456789:{MIXED}/x", "https://api.telegram.org/bot[it]/x"),
        ('{"auth": "YWRhOmNvcnJlY3Q="}', '{"auth": "[it]"}'),
        ("sshpass -p correcthorse ssh x", "sshpass -p [it] ssh x"),
        ("mysqldump -u root -pqZ7correct db", "mysqldump -u root -p[it] db"),
        ("root:$6$abcdefgh$ABCDEFGHIJKLMNOPQRSTUV:1", "root:[it]:1"),
    ],
)  # fmt: skip
def test_where_a_credential_stands_tells_it(text: str, left: str) -> None:
    assert cleaned(text) == left


@pytest.mark.parametrize(
    "text",
    [
        '"auth": "authentication" "auth": "required"',
        f"cache-key-{HEX[:32]} secret_manager_version_1_of_the_project",
        "pplx_something xai_model_name_in_version_2_of_it ya29.js dp.pt.x key-value",
        "mysql -port3306 -pass s/$1$2/ '$5 for it' hooks.slack.com/services",
    ],
)
def test_what_only_looks_a_little_like_one_stays(text: str) -> None:
    assert cleaned(text) == text
