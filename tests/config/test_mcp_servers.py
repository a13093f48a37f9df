"""The user's MCP servers: checked, and shown without credentials."""

import json
from typing import Any

import pytest

from runner.config.agent_file import HIDDEN, check_server, check_server_name, redacted


@pytest.mark.parametrize(
    "server",
    [
        {"command": "npx"},
        {"type": "stdio", "command": "npx", "args": ["x"], "env": {"A": "b"}},
        {"type": "http", "url": "https://example.com/mcp", "headers": {"X": "y"}},
        {"type": "sse", "url": "https://example.com/mcp"},
        {"url": "https://example.com/mcp"},
        {"command": "npx", "something_newer": 1},
    ],
)
def test_a_server_is_taken_as_it_stands(server: dict[str, Any]) -> None:
    assert check_server(dict(server)) == server


@pytest.mark.parametrize(
    ("server", "problem"),
    [
        ({}, "type stdio needs a command"),
        ({"command": ""}, "needs a command"),
        ({"command": ["npx"]}, "needs a command"),
        ({"type": "http"}, "type http needs a url"),
        ({"type": "ftp", "url": "x"}, "type must be one of stdio, http, sse"),
        ({"command": "x", "args": "y"}, "args must be a list of strings"),
        ({"command": "x", "env": {"A": 1}}, "env must be an object of strings"),
        ({"url": "x", "headers": []}, "headers must be an object of strings"),
    ],
)
def test_a_server_that_can_not_work_is_refused(server: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        check_server(server)


@pytest.mark.parametrize("name", ["runner", "Runner", "", "a b", "a__b", "a.b", "_a"])
def test_a_name_that_would_be_mistaken_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"server"):
        check_server_name(name)


@pytest.mark.parametrize(
    "server",
    [
        {"command": "x", "env": {"ANYTHING": "hush"}},
        {"url": "https://h/", "headers": {"X-Any": "hush"}},
        {"command": "x", "args": ["--api-key", "hush"]},
        {"command": "x", "args": ["--token=hush"]},
        {"command": "x", "args": ["sk-ant-hush1234"]},
        {"url": "https://user:hush@h/mcp"},
        {"url": "https://h/mcp?key=hush"},
        {"command": "x", "oauth": {"clientSecret": "hush"}},
        {"command": "x", "password": "hush"},
    ],
)
def test_credentials_are_hidden(server: dict[str, Any]) -> None:
    assert "hush" not in json.dumps(redacted(server))


def test_the_rest_is_shown() -> None:
    server = {"command": "npx", "args": ["-y", "server", "--port=3"], "env": {"A": "b"}}
    assert redacted(server) == {**server, "env": {"A": HIDDEN}}
