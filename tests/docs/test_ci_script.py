"""The script of docs/how-to/ci.md, with programs that stand in for Python and runner."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "ci.md"
KEPT = ".runner-cache/state.tgz"
PYTHON = """#!/bin/sh
mkdir -p ~/runner-program/bin
echo 'exit 0' > ~/runner-program/bin/pip
cp "$STAND_IN" ~/runner-program/bin/runner
chmod +x ~/runner-program/bin/*
"""
RUNNER = f"""#!/bin/sh
if [ "$1" = report ]; then echo page > "$3"; exit 0; fi
[ -e {KEPT} ] && echo archive
cat .runner/autonomy/session ~/.local/state/runner/secret
mkdir -p .runner/autonomy ~/.local/state/runner
echo session > .runner/autonomy/session
echo secret > ~/.local/state/runner/secret
exit 4
"""


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A machine that has nothing but a checkout with the script."""
    (script,) = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    for name in ("checkout", "programs", "home"):
        (tmp_path / name).mkdir()
    (tmp_path / "checkout" / "implement.sh").write_text(script, encoding="utf-8")
    (tmp_path / "stand-in").write_text(RUNNER, encoding="utf-8")
    python = tmp_path / "programs" / "python3"
    python.write_text(PYTHON, encoding="utf-8")
    python.chmod(0o755)
    return tmp_path


def start(job: Path) -> tuple[int, str]:
    """Run the script on a machine whose earlier jobs left the cache alone."""
    shutil.rmtree(job / "home")
    (job / "home").mkdir()
    shutil.rmtree(job / "checkout" / ".runner", ignore_errors=True)
    done = subprocess.run(
        ["sh", "implement.sh"],
        cwd=job / "checkout",
        env={
            "PATH": f"{job}/programs:/usr/bin:/bin",
            "HOME": f"{job}/home",
            "STAND_IN": f"{job}/stand-in",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    result = job / "home" / "result.json"
    return done.returncode, result.read_text("utf-8")


def test_the_job_ends_with_the_code_of_the_run(job: Path) -> None:
    assert start(job)[0] == 4


def test_the_next_job_finds_the_state_and_no_agent_finds_the_archive(job: Path) -> None:
    first, second = start(job)[1], start(job)[1]
    assert (first, second) == ("", "session\nsecret\n")


def test_the_page_for_people_is_kept(job: Path) -> None:
    start(job)
    assert (job / "checkout" / ".runner-cache" / "report.html").read_text("utf-8") == "page\n"
