from pathlib import Path

import pytest

from runner.sandbox.binary import Bubblewrap, candidates, parse_version

pytestmark = pytest.mark.process


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("bubblewrap 0.11.0\n", (0, 11, 0)),
        ("bubblewrap 0.8\n", (0, 8, 0)),
        ("bwrap: unknown option\n", (0, 0, 0)),
        ("", (0, 0, 0)),
    ],
)
def test_versions_are_read(said: str, version: tuple[int, int, int]) -> None:
    assert parse_version(said) == version


def test_a_program_that_is_not_there_has_no_version(tmp_path: Path) -> None:
    assert Bubblewrap(tmp_path / "bwrap").version == (0, 0, 0)


def test_the_program_on_the_path_comes_last(tmp_path: Path) -> None:
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho bubblewrap 0.8.0\n")
    program.chmod(0o755)
    found = list(candidates({"PATH": str(tmp_path)}))
    assert found[-1].path == program
    assert found[-1].label == "bubblewrap 0.8.0"
