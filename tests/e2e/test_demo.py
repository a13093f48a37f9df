"""`runner demo`: the first thing that anybody runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e


def run_demo(
    home: Path, *arguments: str, path: str | None = None
) -> "subprocess.CompletedProcess[str]":
    kept = ("PYTHONPATH", "LANG", "VIRTUAL_ENV", "TMPDIR")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    environment |= {"HOME": str(home), "PATH": path or os.environ["PATH"]}
    return subprocess.run(
        [sys.executable, "-m", "runner", "demo", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
        cwd=home,
        stdin=subprocess.DEVNULL,
    )


@pytest.fixture(scope="module")
def demo(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, "subprocess.CompletedProcess[str]"]:
    home = tmp_path_factory.mktemp("home")
    return home / "built", run_demo(home, "-p", "built")


Demo = tuple[Path, "subprocess.CompletedProcess[str]"]


def test_the_demo_passes_every_deliverable(demo: Demo) -> None:
    _, done = demo
    assert done.returncode == 0, done.stderr
    assert "3/3 deliverables passed" in done.stdout


_JUDGING = ("Tried", "Verif", "Review of")


def test_the_demo_shows_each_verification_and_each_review(demo: Demo) -> None:
    _, done = demo
    lines = done.stdout.splitlines()
    judged = [line.partition(" (")[0] for line in lines if line.startswith(_JUDGING)]
    assert judged == [
        "Tried 2 verification commands before any work: 2 fail as expected.",
        "Review of the plan: pass",
        "Verification of conversion: 1 of 1 command passed.",
        "Review of conversion: pass",
        "Verification of command-line: 2 of 2 commands passed.",
        "Review of command-line: pass",
    ]


def test_the_demo_says_where_the_program_is(demo: Demo) -> None:
    folder, done = demo
    assert f"The program is in {folder}" in done.stdout


def test_the_program_that_the_demo_built_works(demo: Demo) -> None:
    folder, _ = demo
    program = [sys.executable, "-m", "measure", "26.2", "mi", "km"]
    ran = subprocess.run(program, cwd=folder, capture_output=True, text=True, check=True)
    assert ran.stdout == "26.2 mi = 42.1648 km\n"


def test_the_tests_that_the_demo_wrote_pass(demo: Demo) -> None:
    folder, _ = demo
    tests = [sys.executable, "-m", "unittest", "discover", "-s", "tests"]
    ran = subprocess.run(tests, cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_the_demo_commits_its_work(demo: Demo) -> None:
    folder, _ = demo
    log = ["git", "log", "--oneline"]
    ran = subprocess.run(log, cwd=folder, capture_output=True, text=True, check=True)
    assert len(ran.stdout.splitlines()) == 4


def test_the_demo_never_writes_into_existing_work(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "work.txt").write_text("precious", encoding="utf-8")
    done = run_demo(tmp_path, "-p", "mine")
    assert done.returncode == 2
    assert [p.name for p in (tmp_path / "mine").iterdir()] == ["work.txt"]
