from hypothesis import given
from hypothesis import strategies as st

from runner.quota.waiting import retry_delay


def test_the_first_waits_double() -> None:
    assert [retry_delay(n) for n in (1, 2, 3, 4)] == [2, 4, 8, 16]


@given(st.integers(min_value=1, max_value=10**9))
def test_a_wait_is_never_longer_than_five_minutes(errors: int) -> None:
    assert 2 <= retry_delay(errors) <= 300
