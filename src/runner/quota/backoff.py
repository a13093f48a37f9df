"""How long to wait before trying a failed session again."""

_FIRST_SECONDS = 2.0
_LONGEST_SECONDS = 300.0


def retry_delay(consecutive_errors: int) -> float:
    """Return the wait in seconds before the next try: 2, 4, 8, … up to 5 minutes.

    Args:
        consecutive_errors: failed sessions in a row, at least 1.
    """
    # The exponent is bounded because a float power overflows long before a run ends.
    exponent = min(consecutive_errors - 1, 20)
    return float(min(_FIRST_SECONDS * 2**exponent, _LONGEST_SECONDS))
