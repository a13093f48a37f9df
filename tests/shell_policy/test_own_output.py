"""What our own output goes to is left out of every walk, and nothing else is."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

LOOK = """
import sys, time
from pathlib import Path
from runner.checkpoints.folder_digest import walk
deadline = time.monotonic() + 30
while True:  # the other end of a pipe may still be starting
    names = sorted(entry.name for entry, _ in walk(sys.argv[1], lambda _: False))
    if "run.log" not in names or sys.argv[2] == "once" or time.monotonic() > deadline:
        break
    time.sleep(0.05)
Path(sys.argv[1]).with_name("seen").write_text(" ".join(names))
"""


def names_seen(project: Path, redirection: str, *, tries: str = "many") -> list[str]:
    """Return the names that a walk yields whose output goes where `redirection` says."""
    project.mkdir()
    (project / "app.py").touch()
    (project / "run.log").touch()
    look = shlex.join([sys.executable, "-c", LOOK, str(project), tries])
    subprocess.run(["bash", "-c", f"{look} {redirection}"], cwd=project, check=True)
    return (project.parent / "seen").read_text().split()


@pytest.mark.parametrize("redirection", ["> run.log", "2>> run.log", "> run.log 2>&1"])
def test_a_file_that_output_is_sent_to_is_left_out(tmp_path: Path, redirection: str) -> None:
    assert names_seen(tmp_path / "project", redirection) == ["app.py"]


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize(
    "redirection", ["| tee run.log", "2>&1 | cat | tee -a run.log >/dev/null", "| cat > run.log"]
)
def test_a_file_behind_pipes_is_left_out(tmp_path: Path, redirection: str) -> None:
    assert names_seen(tmp_path / "project", redirection) == ["app.py"]


@pytest.mark.parametrize(
    "redirection", ["> /dev/null", "| cat > /dev/null", ">&- 2>&-", "< run.log"]
)
def test_a_file_that_no_output_goes_to_stays(tmp_path: Path, redirection: str) -> None:
    seen = names_seen(tmp_path / "project", redirection, tries="once")
    assert seen == ["app.py", "run.log"]


@pytest.mark.skipif(sys.platform != "linux", reason="needs setsid")
def test_what_another_session_makes_of_the_output_is_not_followed(tmp_path: Path) -> None:
    # Agents are in sessions of their own: none can pass a file off as ours.
    seen = names_seen(tmp_path / "project", "| setsid tee run.log", tries="once")
    assert seen == ["app.py", "run.log"]
