"""Texts of a report are bounded and free of credentials, whatever is in them."""

from hypothesis import given
from hypothesis import strategies as st
from tests.report.bench import CANARY

from runner.credentials import Redactor
from runner.report.words import Words, amount, count, moment

REDACT = Redactor({}).text
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(JSON, st.integers(1, 50))
def test_whatever_comes_is_a_bounded_text(value: object, limit: int) -> None:
    assert len(Words(REDACT).text(value, limit)) <= limit + 40


def test_what_is_cut_is_counted() -> None:
    assert Words(REDACT).text("x" * 100, 10) == "x" * 10 + " […90 more characters]"


def test_the_end_of_an_output_is_what_counts() -> None:
    assert Words(REDACT).end("first\n" + "last" * 3, 12).endswith("\nlastlastlast")


def test_a_credential_on_the_border_is_taken_out_before_the_cut() -> None:
    assert CANARY[:12] not in Words(REDACT).text("x" * 20 + " " + CANARY, 35)


def test_a_report_holds_so_much_text_and_no_more() -> None:
    words = Words(lambda text: text, characters=1000)
    assert sum(len(words.text("x" * 500, 500)) for _ in range(20)) < 4000


def test_what_was_left_out_is_told() -> None:
    words = Words(REDACT)
    assert words.first(iter(range(10)), 3, "steps") == [0, 1, 2]
    words.newest([1, 2, 3], 2, "steps")
    assert words.cuts == ("8 steps",)


@given(JSON)
def test_every_value_has_an_amount_a_count_and_perhaps_a_time(value: object) -> None:
    assert amount(value) >= 0
    assert count(value) >= 0
    assert moment(value) is None or isinstance(value, str)
