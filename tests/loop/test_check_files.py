"""Which files count as checks, and which lines as suspect."""

import pytest

from runner.loop.reviewing.check_files import is_check_file, is_less_telling, may_weaken


@pytest.mark.parametrize(
    "path",
    [
        "tests/deep/data.json",
        "src/__tests__/a.js",
        "app_test.go",
        "a.spec.ts",
        "FooTests.cs",
        "conftest.py",
        ".github/workflows/x.yml",
        ".gitlab-ci.yml",
        "web/package.json",
        "jest.config.js",
        ".eslintrc.json",
        "Cargo.toml",
        "CMakeLists.txt",
    ],
)
def test_these_decide_whether_work_passes(path: str) -> None:
    assert is_check_file(path)


@pytest.mark.parametrize(
    "path", ["app.py", "src/contest.py", "latest.txt", "docs/testing.md", "attest/x.py"]
)
def test_these_do_not(path: str) -> None:
    assert not is_check_file(path, ["make check"])


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("sh ./run.sh -q", "run.sh"),
        ("python3 tools/x.py", "tools/x.py"),
        ("pytest a/b.py::test_c", "a/b.py"),
        ("bash 'with blank.sh'", "with blank.sh"),
        ("unclosed ' check.sh", "check.sh"),
    ],
)
def test_what_a_command_names_is_a_check(command: str, path: str) -> None:
    assert is_check_file(path, [command])
    assert not is_check_file(path, ["true"])


@pytest.mark.parametrize("path", ["package-lock.json", "a/yarn.lock", "go.sum", "x.min.js"])
def test_what_tools_write_comes_last(path: str) -> None:
    assert is_less_telling(path)


@pytest.mark.parametrize(
    "line", ["assert total == 3", "def test_it():", "run: make test", "skipped = []", "import os"]
)
def test_an_ordinary_line_is_not_suspect(line: str) -> None:
    assert not may_weaken(line)
