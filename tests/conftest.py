"""What all tests share."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """The backend that runner itself uses."""
    return "asyncio"
