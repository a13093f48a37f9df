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
