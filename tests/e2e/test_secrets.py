"""A credential that an agent says is kept nowhere and shown nowhere."""

import base64
import json
import os
from pathlib import Path

import pytest
from tests.e2e.harness import Project, project

LONG = (
    pytest.mark.storm,
    pytest.mark.skipif("RUNNER_STORM" not in os.environ, reason="long: set RUNNER_STORM=1"),
)
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

KEY = "zq81-canary-of-the-agent-77"
PASSWORD = "zq82-canary-of-a-registry"
OF_A_REGISTRY = base64.b64encode(f"ada:{PASSWORD}".encode()).decode()

SCRIPT = f"""
[[session]]
instruction = "initializer"
[[session.turn]]
text = "The key is {KEY}."
[[session.turn.tools]]
name = "mcp__runner__create"
[[session.turn.tools.input.deliverables]]
id = "CLI-001"
description = "a file that says {KEY}"
acceptanceCriteria = ["it says {KEY}", "and {PASSWORD}"]
verification = ["python3 -m unittest test_it"]
[[session.turn]]
text = "Planned with {KEY}."

[[session]]
instruction = "coding"
repeat = true
[[session.turn]]
text = "First a half: {KEY[:16]}"
tools = [{{ name = "Bash", input = {{ command = "ls" }} }}]
[[session.turn]]
text = "{KEY[16:]} was the rest; the registry: {PASSWORD} {OF_A_REGISTRY}"
tools = [{{ name = "Bash", input = {{ command = "echo {KEY}" }} }}]
[[session.turn]]
tools = [{{ name = "mcp__runner__set_status", input = {{ deliverableId = "{{{{task}}}}", status = "passed" }} }}]
[[session.turn]]
text = "Done, with {KEY}."

[[session]]
instruction = "review"

[[session.turn]]
[[session.turn.tools]]
name = "mcp__runner__submit_review"
[session.turn.tools.input]
verdict = "fail"
summary = "It shows {KEY}."
[[session.turn.tools.input.findings]]
severity = "high"
title = "{KEY} is shown"
detail = "Look: {KEY}, {OF_A_REGISTRY}"
[[session.turn]]
text = "Reviewed {KEY}."

[[session]]
instruction = "remediate"
repeat = true
[[session.turn]]
tools = [{{ name = "Bash", input = {{ command = "touch mended" }} }}]
[[session.turn]]
text = "I leave {KEY} where it is."

[[session]]
instruction = "review"
repeat = true
[[session.turn]]
tools = [{{ name = "mcp__runner__submit_review", input = {{ verdict = "pass", summary = "{KEY}", findings = [] }} }}]
[[session.turn]]
text = "Reviewed."
"""
TEST = f"import unittest\nclass T(unittest.TestCase):\n    def test_it(self): print('{KEY}')\n"


def shown(text: str) -> list[str]:
    """Return which parts of the credentials stand in a text."""
    forms = (KEY, KEY[:16], KEY[-12:], PASSWORD, OF_A_REGISTRY)
    return [form for form in forms if form in text]


def kept(ours: Project) -> dict[str, list[str]]:
    """Return the files below the project that show a credential, but for what is the project's."""
    own = {ours.path / "test_it.py"}
    files = [path for path in ours.path.rglob("*") if path.is_file() and path not in own]
    found = {
        str(path.relative_to(ours.path)): shown(path.read_text(encoding="utf-8", errors="replace"))
        for path in files
        if "__pycache__" not in path.parts
    }
    return {name: parts for name, parts in found.items() if parts}


@pytest.mark.parametrize(
    "output",
    [
        "stream-json",
        pytest.param("json", marks=LONG),
        pytest.param("text", marks=LONG),
    ],
)
def test_what_an_agent_says_of_a_credential_is_kept_and_shown_nowhere(
    tmp_path: Path, output: str
) -> None:
    with project(tmp_path, SCRIPT) as ours:
        (ours.path / "test_it.py").write_text(TEST, encoding="utf-8")
        registry = json.dumps({"auths": {"registry.example.com": {"auth": OF_A_REGISTRY}}})
        ours.environment |= {"ANTHROPIC_API_KEY": KEY, "DOCKER_AUTH_CONFIG": registry}
        done = ours.run("--output-format", output, timeout=280)
        events = ours.run("events", "--json", command="session")
        reviews = list((ours.path / ".runner").rglob("reviews/*.md"))
        logs = list((ours.path / ".runner").rglob("receipts/**/*.log"))
        assert kept(ours) == {}
    assert done.returncode == 0, done.stdout + done.stderr
    assert shown(done.stdout + done.stderr) == []
    assert shown(events.stdout + events.stderr) == []
    assert "[redacted: ANTHROPIC_API_KEY]" in events.stdout
    assert reviews
    assert logs
