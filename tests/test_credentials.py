"""What counts as a credential in a text: how long that takes, and what it does not count."""

import time

import pytest

from runner.credentials import environment_secrets, without_shapes


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
        (
            "-----BEGIN OPENSSH PRIVATE KEY-----\\nb3Bl\\n-----END OPENSSH PRIVATE KEY-----\\n",
            "[it]\\n",
        ),
        ("     1\t-----BEGIN " + "PRIVATE KEY-----\n     2\tMIIE+/x=\n", "     1\t[it]"),
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


HARD = ["a", "-", "://", "password=", "A_", "AUTH_", "curl -u ", "eyJaaaaaaaaa.", "%20", "\\", "x1"]


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
