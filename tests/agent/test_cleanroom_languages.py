"""Honest small projects of five languages pass in a clean room, after what their agents left."""

import functools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.agent.test_cleanroom import LONG, RUSTUP, Stage, cargo_runs, commit
from tests.sandbox.test_probe import contains

from runner.sandbox.probe import ContainmentRequest, contained

pytestmark = [pytest.mark.anyio, pytest.mark.storm, LONG, pytest.mark.timeout(600), contains]


@dataclass(frozen=True)
class Language:
    """A project: its files, what an agent does to work on it, and what proves it.

    Attributes:
        broken: a file, and a text of it for which the proof must fail.
        registry: a command that succeeds where the packages can be reached.
    """

    tool: str
    files: Mapping[str, str]
    works: str
    proof: str
    broken: tuple[str, str]
    registry: tuple[str, ...] = ()


LANGUAGES = {
    "python": Language(
        "python3",
        {
            ".gitignore": ".venv/\n__pycache__/\n*.egg-info/\n.pytest_cache/\n",
            "pyproject.toml": '[build-system]\nrequires = ["setuptools>=64"]\n'
            'build-backend = "setuptools.build_meta"\n[project]\nname = "greet"\nversion = "1"\n'
            'dependencies = ["click>=8"]\n[project.optional-dependencies]\ndev = ["pytest>=8"]\n'
            '[project.scripts]\ngreet = "greet:main"\n',
            "src/greet/__init__.py": "import click\n\n@click.command()\ndef main():\n"
            '    click.echo("hello")\n',
            "tests/test_greet.py": "import subprocess\n\ndef test_greet():\n"
            '    done = subprocess.run(["greet"], capture_output=True, text=True)\n'
            '    assert done.stdout == "hello\\n"\n',
        },
        "python3 -m venv .venv && .venv/bin/python -m pip install -q -e '.[dev]'",
        "python3 -m pytest -q",
        ("src/greet/__init__.py", "def main():\n    pass\n"),
        ("python3", "-m", "pip", "download", "-q", "--no-deps", "-d", "{}", "click"),
    ),
    "node": Language(
        "npm",
        {
            ".gitignore": "node_modules/\n",
            "package.json": '{"name": "n", "version": "1.0.0", "scripts": {"test": "mocha"},'
            ' "dependencies": {"left-pad": "1.3.0"}, "devDependencies": {"mocha": "^10"}}',
            "test/a.js": "const pad = require('left-pad');\nconst assert = require('assert');\n"
            "it('pads', () => assert.equal(pad('a', 3), '  a'));\n",
        },
        "npm install --silent --no-audit --no-fund",
        "npm test",
        ("test/a.js", "it('pads', () => { throw new Error(); });\n"),
        ("npm", "view", "left-pad", "version"),
    ),
    "go": Language(
        "go",
        {
            ".gitignore": "bin/\n",
            "go.mod": "module example.com/g\n\ngo 1.18\n\nrequire example.com/dep v1.0.0\n\n"
            "replace example.com/dep => ./dep\n",
            "dep/go.mod": "module example.com/dep\n\ngo 1.18\n",
            "dep/dep.go": "package dep\n\nfunc Twice(a int) int { return 2 * a }\n",
            "g_test.go": 'package g\n\nimport (\n\t"testing"\n\n\t"example.com/dep"\n)\n\n'
            "func TestTwice(t *testing.T) {\n\tif dep.Twice(2) != 4 {\n\t\tt.Fatal()\n\t}\n}\n",
        },
        "go build ./...",
        "go test ./...",
        ("dep/dep.go", "package dep\n\nfunc Twice(a int) int { return a }\n"),
    ),
    "rust": Language(
        "cargo",
        {
            ".gitignore": "target/\n",
            "Cargo.toml": '[package]\nname = "r"\nversion = "0.1.0"\nedition = "2021"\n'
            '[dependencies]\ntwice = { path = "vendor/twice" }\n',
            "vendor/twice/Cargo.toml": '[package]\nname = "twice"\nversion = "0.1.0"\n',
            "vendor/twice/src/lib.rs": "pub fn twice(a: i32) -> i32 { 2 * a }\n",
            "src/lib.rs": "#[test]\nfn twice() { assert_eq!(twice::twice(2), 4) }\n",
        },
        "cargo build --offline -q",
        "cargo test --offline -q",
        ("vendor/twice/src/lib.rs", "pub fn twice(a: i32) -> i32 { a }\n"),
    ),
    "ruby": Language(
        "bundle",
        {
            ".gitignore": "vendor/bundle/\n.bundle/\n",
            "Gemfile": 'source "https://rubygems.org"\ngem "twice", path: "twice"\n',
            "twice/twice.gemspec": "Gem::Specification.new do |s|\n  s.name = 'twice'\n"
            "  s.version = '1.0'\n  s.summary = 'x'\n  s.authors = ['x']\nend\n",
            "twice/lib/twice.rb": "def twice(a) = 2 * a\n",
            "check.rb": 'require "twice"\nraise "wrong" unless twice(2) == 4\n',
        },
        "bundle config set --local path vendor/bundle && bundle install --local",
        "bundle exec ruby check.rb",
        ("twice/lib/twice.rb", "def twice(a) = a\n"),
    ),
}


@functools.cache
def reachable(words: tuple[str, ...]) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        command = [word.format(folder) for word in words]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("name", LANGUAGES)
async def test_an_honest_project_passes_and_a_broken_one_does_not(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    language = LANGUAGES[name]
    if shutil.which(language.tool) is None or (language.tool == "cargo" and not cargo_runs()):
        pytest.skip(f"{language.tool} can't run here")
    if language.registry and not reachable(language.registry):
        pytest.skip("the registry can't be reached")
    project = _made(tmp_path, language)
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RUSTUP_HOME", str(RUSTUP))
    monkeypatch.setenv("PATH", f"{project}/.venv/bin:{os.environ['PATH']}")
    with contained(ContainmentRequest(project, Path("/bin/sh"))) as containment:
        stage = Stage(project, containment)
        stage.agent_runs(language.works)
        honest = await stage.one(language.proof)
        (project / language.broken[0]).write_text(language.broken[1])
        broken = await stage.one(language.proof)
    assert (honest.exit_code, broken.exit_code != 0) == (0, True), honest.output_tail


def _made(folder: Path, language: Language) -> Path:
    project = folder / "project"
    for name, text in language.files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    subprocess.run(["git", "init", "-q", project], check=True)
    commit(project)
    return project
