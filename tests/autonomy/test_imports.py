"""What cheap commands must not pay for."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.process


@pytest.mark.parametrize("module", ["runner.autonomy", "runner.autonomy.signals"])
def test_the_vocabulary_comes_without_pydantic(module: str) -> None:
    code = f"import sys, {module}; print('pydantic' in sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "False"


def test_the_control_plane_is_offered_by_name() -> None:
    code = "from runner.autonomy import ControlPlane; print(ControlPlane.__name__)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "ControlPlane"
