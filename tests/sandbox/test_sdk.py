from pathlib import Path

import pytest

from runner.marker import Instruction
from runner.sandbox.probe import ContainmentRequest, contained
from runner.sandbox.sdk import nested_sandbox, sdk_sandbox


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home" / ".ssh").mkdir(parents=True)
    return tmp_path / "home"


def test_it_never_opens_silently(home: Path) -> None:
    settings = sdk_sandbox(Path("/p"), home, {}, read_only=False)
    assert settings["failIfUnavailable"] is True
    assert settings["allowUnsandboxedCommands"] is False
    assert settings["autoAllowBashIfSandboxed"] is False


def test_nested_it_is_as_strict_and_leaves_scratch_writable() -> None:
    settings = nested_sandbox([Path("/tmp")])
    assert (settings["failIfUnavailable"], settings["allowUnsandboxedCommands"]) == (True, False)
    assert settings["filesystem"] == {"allowWrite": ["/tmp"]}


def test_secrets_are_denied_by_path(home: Path) -> None:
    settings = sdk_sandbox(Path("/p"), home, {}, read_only=False)
    assert str(home / ".ssh") in settings["filesystem"]["denyRead"]


def test_on_macos_the_agents_own_sandbox_is_the_layer(tmp_path: Path, home: Path) -> None:
    request = ContainmentRequest(tmp_path, Path("/agent"), {"HOME": str(home)}, platform="darwin")
    with contained(request) as containment:
        coding = containment.sdk_settings(Instruction.CODING)
        verify = containment.sdk_settings(Instruction.VERIFY)
        assert containment.wrap(Instruction.CODING, ["agent"]) == ["agent"]
    assert containment.active
    assert coding is not None
    assert verify is not None
    assert str(tmp_path / ".runner") in coding["filesystem"]["denyWrite"]
    assert verify["filesystem"]["denyWrite"] == [str(tmp_path)]
