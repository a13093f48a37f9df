"""Clocks that stand still until a test moves them."""


class Clock:
    """Seconds, as a callable."""

    def __init__(self, seconds: float = 1_000.0) -> None:
        self.seconds = seconds

    def __call__(self) -> float:
        return self.seconds
