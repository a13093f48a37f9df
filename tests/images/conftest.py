"""What the tests of the images share: the base images, a workspace, a volume for the state."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.images.bases import ensure_bases, missing_tools, run


@pytest.fixture(scope="session")
def bases() -> None:
    missing = missing_tools()
    assert not missing, f"install first: apt-get install {' '.join(missing)}"
    ensure_bases()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Return an empty folder that belongs to an ordinary user, 4242."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    os.chown(folder, 4242, 4242)
    tmp_path.chmod(0o755)
    return folder


@pytest.fixture
def volume() -> Iterator[str]:
    name = f"runner-test-{os.getpid()}"
    run("podman", "volume", "create", name)
    yield name
    run("podman", "volume", "rm", "--force", name)
