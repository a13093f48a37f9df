"""The tutorial leads to «passed», with the specification and the script that it shows."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.e2e.harness import project

pytestmark = pytest.mark.e2e

DOCS = Path(__file__).parents[2] / "docs"
TUTORIAL = (DOCS / "tutorial.md").read_text(encoding="utf-8")
SCRIPT = DOCS / "tutorial-greet.toml"


def test_the_tutorial_leads_to_passed_without_a_key(tmp_path: Path) -> None:
    (spec,) = re.findall(r"^```markdown\n(.*?)^```", TUTORIAL, re.MULTILINE | re.DOTALL)
    with project(tmp_path, SCRIPT.read_text(encoding="utf-8"), spec=spec) as ours:
        done = ours.run("--replay", str(SCRIPT), "--max-iterations", "5", "--max-cost", "2")
        greeted = subprocess.run(
            [sys.executable, "-m", "greet", "Ada"], cwd=ours.path, capture_output=True, text=True,
            check=True,
        )  # fmt: skip
    assert (done.returncode, "[DENIED]" in done.stdout) == (0, False), done.stdout + done.stderr
    assert greeted.stdout == "Hello, Ada!\n"
    shown = re.findall(
        r"^(?:Planned|Tried|\[PASS\]|Verification|Review) .*", TUTORIAL, re.MULTILINE
    )
    assert [line for line in shown if line.removesuffix("…") not in done.stdout] == []
