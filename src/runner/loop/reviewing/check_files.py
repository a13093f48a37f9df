"""Which files decide whether work passes, and what may have been weakened in them."""

import re
import shlex
from collections.abc import Iterable
from pathlib import PurePosixPath

_FOLDERS = frozenset(
    {
        "test", "tests", "spec", "specs", "__tests__", "testing", "e2e", "cypress", "testdata",
        "fixtures", "__snapshots__", ".github", ".circleci", ".ci", ".gitlab", ".buildkite",
        ".woodpecker", ".husky",
    }
)  # fmt: skip
_NAMES = re.compile(
    r"""
      test_.*\.py | .*_test\.\w+ | .*\.(?:test|spec)\.\w+ | .*_spec\.rb | .*Tests?\.(?:java|kt|cs|php)
    | conftest\.py | pytest\.ini | tox\.ini | noxfile\.py | setup\.cfg | pyproject\.toml
    | \.coveragerc | mypy\.ini | \.?ruff\.toml | \.flake8 | \.pylintrc | pyrightconfig\.json
    | package\.json | tsconfig.*\.json | (?:jest|vitest|vite|playwright|cypress|karma|ava)\.conf.*
    | \.mocharc.* | \.?eslint.* | biome\.jsonc? | \.c8rc.* | \.nycrc.* | deno\.jsonc? | bunfig\.toml
    | (?:GNU)?[Mm]akefile | .*\.mk | [Jj]ustfile | Taskfile\.ya?ml | Rakefile | \.rspec | Gemfile
    | Cargo\.toml | clippy\.toml | \.golangci\..* | go\.mod | build\.gradle.* | pom\.xml
    | CMakeLists\.txt | phpunit.*\.xml.* | phpstan.* | composer\.json
    | \.gitlab-ci\.yml | Jenkinsfile | azure-pipelines.* | \.travis\.yml | bitbucket-pipelines\.yml
    | \.pre-commit-config\.yaml | \.?codecov\.yml | sonar-project\.properties | \.gitattributes | \.gitignore
    """,
    re.VERBOSE,
)
_LESS_TELLING = re.compile(
    r"(?:.*/)?(?:package-lock\.json|.*\.lock|.*lock\.ya?ml|go\.sum|.*\.min\.\w+|.*\.map|.*\.svg)"
)
_WEAKENING = re.compile(
    r"""
      \bskip(?:if|unless|test)?\b | \bxfail\b | \bxit\b | \bxdescribe\b | \.(?:only|skip|todo)\b
    | \bt\.Skip | \#\[ignore | @(?:Ignore|Disabled) | \bexpectedFailure\b
    | \|\|\s*(?:true|:|exit\s+0) | \bset\s+\+e\b | ^\s*exit\s+0\b | ^\s*-\s*@?\w+.*\#\s*ignore
    | continue-on-error | allow_failure | --exit-zero | --passWithNoTests | --no-verify
    | pragma:\s*no\s*cover | \bnoqa\b | type:\s*ignore | eslint-disable | @ts-(?:ignore|nocheck)
    | istanbul\s+ignore | fail[-_]under | coverageThreshold | --deselect | --ignore\b | filterwarnings
    | assert\s+True\b | expect\(true\) | except\s*(?:Exception)?\s*:\s*pass
    """,
    re.VERBOSE | re.IGNORECASE,
)


def is_check_file(path: str, commands: Iterable[str] = ()) -> bool:
    """Whether a file is a test, a check's configuration, or named by a verification command.

    Args:
        path: relative to the project, with slashes.
        commands: the verification commands.
    """
    place = PurePosixPath(path)
    if any(part.lower() in _FOLDERS for part in place.parts[:-1]):
        return True
    if _NAMES.fullmatch(place.name):
        return True
    return any(path in _named_by(command) for command in commands)


def is_less_telling(path: str) -> bool:
    """Whether a file is written by tools and rarely worth a reviewer's time."""
    return _LESS_TELLING.fullmatch(path) is not None


def may_weaken(line: str) -> bool:
    """Whether an added line is of the kind that lets a check pass more easily."""
    return _WEAKENING.search(line) is not None


def _named_by(command: str) -> set[str]:
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    return {str(PurePosixPath(word.partition("::")[0])) for word in words if word}
