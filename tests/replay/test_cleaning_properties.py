"""Wherever a secret or the name of a place stands in what is recorded, the recording has neither."""

import json
import re
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.replay.cleaner import Cleaner
from runner.replay.heard import difference
from runner.replay.places import Places
from runner.replay.script import parse_script
from runner.replay.secrets import Scrubber

WORDS = st.text("abcdefghijklmnopqrstuvwxyz", min_size=3, max_size=9)
FOLDERS = st.builds(
    "{}{}{}".format, WORDS, st.sampled_from(["", "-", "_", ".", " ", "ü", "7"]), WORDS
)
ALNUM = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"


@st.composite
def machines(draw: st.DrawFn) -> Places:
    """Draw a project in somebody's home."""
    user = f"zq{draw(WORDS)}"
    make, homes = draw(
        st.sampled_from(
            [
                (PurePosixPath, "/home"),
                (PurePosixPath, "/Users"),
                (PurePosixPath, "/srv/homes"),
                (PureWindowsPath, "C:\\Users"),
            ]
        )
    )
    home = make(homes) / user
    return Places(home.joinpath(*draw(st.lists(FOLDERS, min_size=1, max_size=3))), home, user=user)


def random_text(size: int) -> st.SearchStrategy[str]:
    """Return what draws a text with a digit and both cases in it, as generators make passwords."""
    return st.text(ALNUM, min_size=size, max_size=size).map(lambda text: f"qZ7{text}")


# What leads to a secret, and what follows it. `@` stands for the secret.
KEYS = st.one_of(
    random_text(30).map("sk-ant-api03-{}".format),
    random_text(36).map("ghp_{}".format),
    random_text(24).map("glpat-{}".format),
    random_text(30).map("AIza{}".format),
    st.text("ABCDEFGHIJKLMNOP234567", min_size=16, max_size=16).map("AKIA{}".format),
)
LEADS = st.sampled_from(
    [
        "password=@",
        "password: @",
        '{"password": "@"}',
        'config["password"] = "@"',
        "PGPASSWORD=@ psql",
        "export DB_PASSWORD='@'",
        "STRIPE_KEY=@",
        "client_secret = @",
        "Authorization: Bearer @",
        "authorization: Basic @",
        "x-api-key: @",
        "postgres://ada:@@db:5432/app",
        "https://:@@example.com",
        "curl -u ada:@ https://example.com",
        "login ada password @",
        "--password @ --verbose",
        "<password>@</password>",
    ]
)


@st.composite
def announced(draw: st.DrawFn) -> tuple[str, str]:
    """Draw a text that holds a secret, and the secret."""
    if draw(st.booleans()):
        secret = draw(KEYS)
        return f"it is {secret}, no?", secret
    secret = draw(random_text(17))
    lead = draw(LEADS)
    at = lead.index("@")
    return f"{lead[:at]}{secret}{lead[at + 1 :]}", secret


def _nested(levels: int) -> Any:
    def write(text: str) -> str:
        for _ in range(levels):
            text = json.dumps([text])
        return text

    return write


def _small_escapes(text: str) -> str:
    return re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), text)


WRITINGS = st.sampled_from(
    [
        str,
        _nested(1),
        _nested(2),
        _nested(3),
        lambda text: _nested(1)(text).replace("/", "\\/"),
        lambda text: json.dumps(json.dumps(text).replace("/", "\\/")),
        lambda text: quote(text, safe=""),
        lambda text: _small_escapes(quote(text, safe="")),
    ]
)


@st.composite
def placed(draw: st.DrawFn, text: str) -> Any:
    """Draw a JSON value with the text in it, as a value or as a name."""
    said = draw(WRITINGS)(text)
    value = draw(st.sampled_from([said, {said: 1}, {"a": [said, {"b": f"see: {said}"}]}]))
    return draw(st.sampled_from([value, [None, value, 1.5], {"outer": value}]))


@settings(max_examples=300)
@given(data=st.data(), places=machines())
def test_no_place_of_a_machine_is_left(data: st.DataObject, places: Places) -> None:
    path = data.draw(st.sampled_from([str(places.project), str(places.home)]))
    separators = {"/": ["/", "\\"], "\\": ["\\", "/"]}["\\" if "\\" in path else "/"]
    path = path.replace(separators[0], data.draw(st.sampled_from(separators)))
    given_input = data.draw(placed(f"in {path}/src"))
    cleaned = json.dumps(Cleaner(places, Scrubber()).portable_json(given_input), ensure_ascii=False)
    assert str(places.user) not in re.sub(r"\{\{.*?\}\}", "", cleaned)
    assert "{{" in cleaned


@given(data=st.data(), places=machines())
def test_the_folder_of_a_project_s_notes_is_not_left(data: st.DataObject, places: Places) -> None:
    slug = re.sub("[^A-Za-z0-9]", "-", str(places.project))
    given_input = data.draw(placed(f"~/.claude/projects/{slug}/notes.md"))
    assert slug not in json.dumps(Cleaner(places, Scrubber()).portable_json(given_input))


@settings(max_examples=400)
@given(data=st.data(), both=announced())
def test_no_secret_of_a_known_form_is_left(data: st.DataObject, both: tuple[str, str]) -> None:
    text, secret = both
    cleaner = Cleaner(Places(), Scrubber())
    given_input = data.draw(placed(text))
    assert secret not in json.dumps(cleaner.portable_json(given_input))
    assert secret not in cleaner.comparable(json.dumps(given_input))


@settings(max_examples=200)
@given(data=st.data(), places=machines(), both=announced())
def test_cleaning_twice_changes_nothing(
    data: st.DataObject, places: Places, both: tuple[str, str]
) -> None:
    cleaner = Cleaner(places, Scrubber(learns=True))
    text = data.draw(placed(f"{both[0]} in {places.project}"))
    once = cleaner.settled(json.dumps(text))
    assert cleaner.settled(once) == once
    assert cleaner.scrubbed(once) == once


@given(data=st.data(), places=machines(), there=machines())
def test_a_path_is_played_as_one_of_the_machine_at_hand(
    data: st.DataObject, places: Places, there: Places
) -> None:
    write = data.draw(WRITINGS)
    cleaner = Cleaner(places, Scrubber())
    cleaned = cleaner.portable_json({write(f"x {places.project} y"): write(str(places.project))})
    script = parse_script(
        f"""
[[session]]
fallback = true
[[session.turn]]
tools = [{{ name = "Write", input_json = {json.dumps(json.dumps(cleaned), ensure_ascii=False)} }}]
""",
        name="test",
    )
    ((name, value),) = script.session[0].turn[0].tools[0].rendered(places.values()).items()
    as_it_was = (write(f"x {places.project} y"), write(str(places.project)))
    # How the letters of an escape are written is the one thing that is lost.
    assert [_small_escapes(name), _small_escapes(str(value))] == list(
        map(_small_escapes, as_it_was)
    )
    elsewhere = json.dumps(script.session[0].turn[0].tools[0].rendered(there.values()))
    assert "{{" not in elsewhere


ORDINARY = st.sampled_from(
    [
        "token = scanner.next_token()",
        'password = os.environ["DB_PASSWORD_2"]',
        "password=self.password, token=token",
        '"password": {"type": "string", "minLength": 8}',
        "-H 'Authorization: Bearer $TOKEN'",
        "https://ada:${PASS}@example.com:8080/path",
        "MAX_TOKENS=4096",
        "use bearer authentication",
        "GOOGLE_CREDENTIALS=/srv/keys/app1.json",
        'if "-----BEGIN PRIVATE KEY-----" in text:',
        "the homework of adam",
        "/usr/local/bin and C:\\Windows",
    ]
)


@given(st.lists(ORDINARY | WORDS | st.integers().map(str), max_size=6).map(" \n".join))
def test_what_holds_neither_is_unchanged(text: str) -> None:
    places = Places(PurePosixPath("/home/ada/greeter"), PurePosixPath("/home/ada"), user="ada")
    cleaner = Cleaner(places, Scrubber())
    value = {text: [text, json.dumps(text), quote(text)]}
    assert cleaner.portable_json(value) == value


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("ada@box-7:~$ ls", "{{user}}@{{host}}:~$ ls"),
        ("Linux box-7 6.1.0 x86_64", "Linux {{host}} 6.1.0 x86_64"),
        ("uid=1000(ada) gid=1000(ada)", "uid=1000({{user}}) gid=1000({{user}})"),
        ("drwxr-xr-x 3 ada ada 4096", "drwxr-xr-x 3 {{user}} {{user}} 4096"),
        ("/Users/ada/x USER=ada", "/Users/{{user}}/x USER={{user}}"),
        ("/mnt/c/Users/ada", "/mnt/c/Users/{{user}}"),
        ("ada wrote box-7x, ada@example.org", "ada wrote box-7x, ada@example.org"),
    ],
)
def test_the_user_and_the_machine_are_named_where_nothing_else_is_meant(
    text: str, left: str
) -> None:
    places = Places(PurePosixPath("/srv/work"), PurePosixPath("/home/ada"), None, "ada", "box-7")
    assert Cleaner(places, Scrubber()).portable(text) == left


def test_a_secret_that_was_seen_once_is_known_in_every_text() -> None:
    cleaner = Cleaner(Places(), Scrubber(learns=True))
    before = cleaner.portable("ada:qZ7-correct-horse")
    cleaner.portable("PGPASSWORD=qZ7-correct-horse")
    assert cleaner.scrubbed({"a": before}) == {"a": "ada:[secret]"}


def test_a_word_with_a_number_is_not_learned() -> None:
    cleaner = Cleaner(Places(), Scrubber(learns=True))
    cleaner.portable("password=python3.11")
    assert cleaner.portable("python3.11 -m pytest") == "python3.11 -m pytest"


def test_two_secrets_stay_two() -> None:
    cleaner = Cleaner(Places(), Scrubber())
    assert cleaner.portable_json({"password=abc123": "password=xyz789"}) == {
        "password=[secret]": "password=[secret 2]"
    }
    assert cleaner.portable("password=xyz789") == "password=[secret 2]"


def test_names_that_become_the_same_stay_two() -> None:
    places = Places(PurePosixPath("/srv/home/ada"))
    cleaned = Cleaner(places, Scrubber()).portable_json({"/srv/home/ada": 1, "{{project}}": 2})
    assert sorted(cleaned.values()) == [1, 2]


@pytest.mark.parametrize(
    ("recorded", "now", "same"),
    [
        ("key: [secret].", "key: hunter2.", True),
        ("key: hunter2.", "key: [secret 3].", True),
        ("[secret] and [secret 2]", "abc and def", True),
        ("key: [secret].", "key: .", False),
        ("key: [secret].", "kay: hunter2.", False),
        ("[secret] and [secret 2]", "abc or def", False),
        ("a\n[secret]", "b\nhunter2", False),
    ],
)
def test_what_only_one_machine_knows_as_a_secret_is_no_difference(
    recorded: str, now: str, same: bool
) -> None:
    assert (difference(recorded, now) is None) == same
