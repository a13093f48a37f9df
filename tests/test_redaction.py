"""What leaves a text before it is written down, and what does not."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.credentials import REDACTED, Redactor
from runner.events import SessionEnded, SessionOutcome, SessionResult
from runner.marker import Instruction

SECRET = "s3cr3t/with+signs=="
BARE = Redactor({})
# In parts, so that no scanner takes a test for a leak.
KEYS = [
    "sk-" + "ant-api03-abcDEF123456_7890-xyz",
    "sk_" + "live_abcdefghijklmnop1234",
    "gh" + "p_abcdefghijklmnopqrstuvwxyz0123456789",
    "github" + "_pat_11ABCDEFG0123456789_abcdef",
    "glpat" + "-abcdefghij0123456789",
    "AKIA" + "ABCDEFGHIJKLMNOP",
    "AIza" + "a" * 35,
    "xoxb" + "-123456789012-abcdef",
    "npm" + "_" + "a1" * 18,
    "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0.SflKxwRJSMeKKF2QT4",
]


@pytest.mark.parametrize("name", ["ANTHROPIC_API_KEY", "MY_TOKEN", "PGPASSWORD", "DbSecret"])
def test_the_value_of_a_credential_variable_is_replaced_by_its_name(name: str) -> None:
    shown = Redactor({name: SECRET}).text(f"curl -H 'x: {SECRET}' example.com")
    assert shown == f"curl -H 'x: [redacted: {name}]' example.com"


def test_the_value_is_found_in_an_address_too() -> None:
    shown = Redactor({"MY_TOKEN": SECRET}).text("?t=s3cr3t%2Fwith%2Bsigns%3D%3D&x")
    assert shown == "?t=[redacted: MY_TOKEN]&x"


def test_a_key_that_begins_with_another_leaves_nothing() -> None:
    redactor = Redactor({"A_KEY": "abcdefgh", "B_KEY": "abcdefghij"})
    assert redactor.text("abcdefghij") == "[redacted: B_KEY]"


@pytest.mark.parametrize(
    ("name", "value"),
    [("HOME", "/home/ada"), ("ANTHROPIC_MODEL", "claude-sonnet"), ("A_KEY", "short")],
)
def test_other_variables_are_no_secrets(name: str, value: str) -> None:
    assert Redactor({name: value}).text(f"it is {value}") == f"it is {value}"


@pytest.mark.parametrize("key", KEYS)
def test_a_string_of_the_form_of_a_key_goes(key: str) -> None:
    assert BARE.text(f"before {key}").strip() == f"before {REDACTED}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Authorization: Bearer abc.def", f"Authorization: Bearer {REDACTED}"),
        ('"authorization": "Basic YTpi"', f'"authorization": "Basic {REDACTED}"'),
        ("https://ada:pass@example.com/x", f"https://ada:{REDACTED}@example.com/x"),
        ('password = "abcdef0123456789"', f'password = "{REDACTED}"'),
        ("API_KEY=abcdef0123456789xyz", f"API_KEY={REDACTED}"),
    ],
)
def test_what_follows_the_name_of_a_secret_goes(text: str, expected: str) -> None:
    assert BARE.text(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "token = scanner.next_token()",
        "the password is checked by login()",
        "https://example.com:8080/path",
        "commit 3f2b9c0d1e4a5b6c7d8e9f0a1b2c3d4e5f6a7b8c",
        "sha256:3f2b9c0d1e4a5b6c7d8e9f0a1b2c3d4e5f6a7b8c",
        "task-management-for-a-small-team",
        "def secret_santa(names): ...",
        "git@github.com:ada/app.git",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert BARE.text(text) == text


def test_every_text_in_a_value_is_looked_at() -> None:
    value = {"a": [{SECRET: 1}, SECRET, 2.5, None, True], "b": (SECRET,)}
    shown = Redactor({"X_TOKEN": SECRET}).value(value)
    name = "[redacted: X_TOKEN]"
    assert shown == {"a": [{name: 1}, name, 2.5, None, True], "b": [name]}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(value=JSON, around=st.text())
def test_no_value_shows_a_credential(value: Any, around: str) -> None:
    text = f"{around} {SECRET} {around}"
    shown = Redactor({"X_TOKEN": SECRET}).value([value, text, {text: value}])
    assert SECRET not in json.dumps(shown, ensure_ascii=False)


REGISTRY = base64.b64encode(b"ada:battery-staple").decode()


@pytest.mark.parametrize("part", [REGISTRY, "ada:battery-staple", "battery-staple"])
def test_what_a_value_holds_in_json_and_base64_goes_by_itself(part: str) -> None:
    config = json.dumps({"auths": {"registry.example.com": {"auth": REGISTRY}}})
    shown = Redactor({"DOCKER_AUTH_CONFIG": config}).text(f"it is {part}.")
    assert shown == "it is [redacted: DOCKER_AUTH_CONFIG]."


def test_of_a_key_file_in_a_variable_the_addresses_are_no_secrets() -> None:
    uri = "https://oauth2.googleapis.com/token"
    value = json.dumps(
        {"private_key": "correct-horse-0123", "token_uri": uri, "project_id": "my-project"}
    )
    redactor = Redactor({"GOOGLE_CREDENTIALS": value})
    assert redactor.text(f"{uri} my-project correct-horse-0123").startswith(
        f"{uri} my-project [red"
    )


LONG = "correct-horse-0123456789"


@pytest.mark.parametrize("at", range(12, len(LONG) - 11))
def test_both_halves_of_a_value_that_was_cut_go(at: int) -> None:
    redactor = Redactor({"A_TOKEN": LONG})
    shown = [redactor.text(f"it is {LONG[:at]}"), redactor.text(f"{LONG[at:]}\nand more")]
    assert shown == ["it is [redacted: A_TOKEN]", "[redacted: A_TOKEN]\nand more"]


def test_the_middle_of_a_value_goes() -> None:
    assert Redactor({"A_TOKEN": LONG}).text(LONG[4:18]) == "[redacted: A_TOKEN]"


@pytest.mark.parametrize("text", ["correct-hor", "the correct-h", "789 is left"])
def test_a_few_letters_of_a_value_are_an_ordinary_text(text: str) -> None:
    assert Redactor({"A_TOKEN": LONG}).text(text) == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"it says {LONG}", "it says [redacted: A_TOKEN]"),
        ("it uses postgres", "it uses postgres"),
        ("password = 'abcdef0123456789'", "password = 'abcdef0123456789'"),
        (KEYS[2], REDACTED),
    ],
)
def test_in_a_plan_only_what_is_certainly_a_credential_goes(text: str, left: str) -> None:
    redactor = Redactor({"A_TOKEN": LONG, "DB_PASSWORD": "postgres"})
    assert redactor.plan_value({"x": [text]}) == {"x": [left]}


def test_further_credentials_are_replaced_by_their_names() -> None:
    assert Redactor({}, {LONG: "Authorization"}).text(LONG) == "[redacted: Authorization]"


def test_the_texts_of_an_event_are_looked_at_and_its_kinds_stay() -> None:
    result = SessionResult(SessionOutcome.COMPLETED, text=LONG, error=None, cost_usd=0.5)
    ended = SessionEnded(1, Instruction.CODING, result)
    shown = Redactor({"A_TOKEN": LONG}).record(ended)
    expected = SessionResult(SessionOutcome.COMPLETED, text="[redacted: A_TOKEN]", cost_usd=0.5)
    assert shown == SessionEnded(1, Instruction.CODING, expected)
    assert shown.result.outcome is SessionOutcome.COMPLETED
