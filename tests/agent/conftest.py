import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.agent.processes import ON_LINUX, wait_until_none_is_left
from tests.agent.stage import Stage


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def no_login() -> Iterator[None]:
    """Keep what this machine knows of a real agent out of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name.startswith(("ANTHROPIC_", "CLAUDE")):
                patch.delenv(name)
        yield


@pytest.fixture
def stage(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    no_login: None,
) -> Iterator[Stage]:
    """Give a project; no process and no launcher may be left after the test."""
    launchers = tmp_path / "launchers"
    launchers.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(launchers))
    stage = Stage(tmp_path / "stage", f"{os.getpid()}-{request.node.name}")
    yield stage
    if ON_LINUX:
        wait_until_none_is_left(stage.mark)
    assert list(launchers.iterdir()) == []
