"""A small program per image, which an agent writes and builds in there."""

import json
from collections.abc import Mapping
from typing import NamedTuple


class Language(NamedTuple):
    """What an agent does with an image's language; it ends with `hello` in greeting.txt."""

    files: Mapping[str, str]
    command: str


LANGUAGES: Mapping[str, Language] = {
    "base": Language({"Makefile": "greeting.txt:\n\techo hello >$@\n"}, "make greeting.txt"),
    "node": Language(
        {"package.json": '{"scripts": {"greet": "node greet.js"}}',
         "greet.js": "console.log('hello')\n"},
        "npm install && npm run --silent greet > greeting.txt",
    ),
    "bun": Language(
        {"package.json": "{}", "greet.ts": 'const word: string = "hello"\nconsole.log(word)\n'},
        "bun install && bun run greet.ts > greeting.txt",
    ),
    "python": Language(
        {"greet.py": "print('hello')\n"},
        "python3 -m venv .venv && .venv/bin/python greet.py > greeting.txt",
    ),
    "golang": Language(
        {"go.mod": "module greet\n\ngo 1.19\n",
         "greet.go": 'package main\n\nimport "fmt"\n\nfunc main() {\n\tfmt.Println("hello")\n}\n'},
        "go vet ./... && go build -o greet . && ./greet > greeting.txt",
    ),
    "ruby": Language(
        {"Gemfile": "gem 'word', path: 'word'\n",
         "word/word.gemspec": "Gem::Specification.new { |s| s.name = 'word'; s.version = '1'; "
         "s.summary = 'a word'; s.authors = ['Ada']; s.files = ['lib/word.rb'] }\n",
         "word/lib/word.rb": "WORD = 'hello'\n",
         "greet.rb": "require 'word'\nputs WORD\n"},
        "bundle install --local && bundle exec ruby greet.rb > greeting.txt",
    ),
    "rust": Language(
        {"Cargo.toml": '[package]\nname = "greet"\nversion = "0.1.0"\nedition = "2021"\n',
         "src/main.rs": 'fn main() {\n    println!("hello");\n}\n'},
        "cargo build --offline && ./target/debug/greet > greeting.txt",
    ),
    "php": Language(
        {"composer.json": '{"autoload": {"files": ["word.php"]}}',
         "word.php": "<?php\nconst WORD = 'hello';\n",
         "greet.php": "<?php\nrequire 'vendor/autoload.php';\necho WORD, PHP_EOL;\n"},
        "composer dump-autoload && php greet.php > greeting.txt",
    ),
}  # fmt: skip
"""Target of the Dockerfile → what is built there."""

_SCRIPT = """
[[session]]
instruction = "initializer"
[[session.turn]]
tools = [{ name = "mcp__runner__create", input = { deliverables = [
  { id = "GREET-001", description = "A program greets", acceptanceCriteria = ["It says hello"] },
] } }]
[[session.turn]]
expect_error = false
text = "Planned."

[[session]]
instruction = "coding"
[[session.turn]]
tools = [%s]
[[session.turn]]
expect_error = false
tools = [{ name = "Bash", input = { command = %s } }]
[[session.turn]]
expect_error = false
tools = [{ name = "mcp__runner__set_status", input = { deliverableId = "GREET-001", status = "passed" } }]
[[session.turn]]
expect_error = false
text = "Done."

[[session]]
instruction = "review"
repeat = true
[[session.turn]]
tools = [{ name = "mcp__runner__submit_review", input = { verdict = "pass", summary = "It does.", findings = [] } }]
[[session.turn]]
text = "Reviewed."
"""


def script(language: Language) -> str:
    """Return what the model says in a run that builds the program; a failing tool fails the run."""
    writes = (
        f'{{ name = "Write", input = {{ file_path = "{{{{project}}}}/{name}", '
        f"content = {json.dumps(text)} }} }}"
        for name, text in language.files.items()
    )
    return _SCRIPT % (", ".join(writes), json.dumps(language.command))
