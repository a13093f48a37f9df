"""Seed 000 «Testing Strategy», contract section: what every command has in common."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.cli.control.kit import Cli, gate_words

from runner.cli.lazy import RootGroup

jsonschema = pytest.importorskip("jsonschema")  # it brings no types

_META = {
    "type": "object",
    "required": ["version", "request_id"],
    "properties": {
        "version": {"const": "response-v2"},
        "request_id": {"type": "string", "pattern": "^req_[0-9A-HJKMNP-TV-Z]{26}$"},
        "warnings": {"type": "array", "items": {"type": "string"}},
        "pagination": {
            "type": "object",
            "required": ["cursor", "has_more", "page_size"],
            "properties": {
                "cursor": {"type": ["string", "null"]},
                "has_more": {"type": "boolean"},
                "page_size": {"type": "integer", "minimum": 1},
                "total_count": {"type": "integer", "minimum": 0},
            },
            "additionalProperties": False,
        },
    },
    "additionalProperties": False,
}
_SUCCESS = {
    "type": "object",
    "required": ["success", "data", "error", "meta"],
    "properties": {
        "success": {"const": True},
        "data": {"type": "object"},
        "error": {"type": "null"},
        "meta": _META,
    },
    "additionalProperties": False,
}
_FAILURE = {
    "type": "object",
    "required": ["success", "data", "error", "meta"],
    "properties": {
        "success": {"const": False},
        "data": {
            "type": "object",
            "required": ["error_code", "error_type", "remediation", "details"],
            "properties": {
                "error_code": {"type": "string", "pattern": "^[A-Z_]+$"},
                "error_type": {
                    "enum": [
                        "validation", "not_found", "conflict", "unavailable", "authorization",
                        "feature_flag", "internal",
                    ]
                },
                "remediation": {"type": "string", "minLength": 1},
                "details": {"type": "object"},
                "loop_signal": {"enum": [None, "failed", "blocked_runtime"]},
            },
        },
        "error": {"type": "string", "minLength": 1},
        "meta": _META,
    },
    "additionalProperties": False,
}  # fmt: skip

Words = Callable[[Cli], tuple[str, ...]]


def _in_session(*words: str) -> Words:
    def prepared(cli: Cli) -> tuple[str, ...]:
        cli.start()
        return words

    return prepared


def _paused(*words: str) -> Words:
    def prepared(cli: Cli) -> tuple[str, ...]:
        cli.start()
        cli.ok("session", "pause")
        return words

    return prepared


def _reset(cli: Cli) -> tuple[str, ...]:
    cli.start()
    cli.session_file().write_text("{", encoding="utf-8")
    return ("session", "reset", "--session-id", cli.session_id)


def _reported(command: str) -> Words:
    def prepared(cli: Cli) -> tuple[str, ...]:
        cli.start()
        return ("step", command, "--result", json.dumps(cli.report(cli.next())))

    return prepared


def _replayed(cli: Cli) -> tuple[str, ...]:
    cli.start()
    cli.next()
    return ("step", "replay")


def _reviewed(cli: Cli) -> tuple[str, ...]:
    cli.start()
    step = cli.until("run_fidelity_gate")
    return ("review", "gate", *gate_words(step), "--verdict", "warn")


def _proven(*words: str) -> Words:
    def prepared(cli: Cli) -> tuple[str, ...]:
        cli.start()
        return (*words, "--autonomy-step-proof", cli.next()["step_proof_token"])

    return prepared


def _alone(*words: str) -> Words:
    return lambda _: words


SUCCESSES: list[Words] = [
    _alone("session", "start"),
    _in_session("session", "status"),
    _in_session("session", "pause"),
    _paused("session", "resume"),
    _paused("session", "rebase"),
    _in_session("session", "end"),
    _in_session("session", "list"),
    _reset,
    _in_session("session", "events"),
    _reported("next"),
    _reported("report"),
    _replayed,
    _in_session("step", "heartbeat", "--context-usage-pct", "1"),
    _reviewed,
    _alone("task", "list"),
    _alone("task", "prepare", "A-001"),
    _proven("task", "start", "A-001"),
    _proven("task", "complete", "A-001"),
    _proven("task", "block", "A-001"),
    _proven("task", "unblock", "A-001"),
    _proven("task", "update-status", "A-001", "--status", "passed"),
    _in_session("journal", "list"),
    _in_session("journal", "add", "--title", "a note"),
]


@pytest.mark.parametrize("prepare", SUCCESSES)
def test_a_success_is_a_response_v2_envelope(cli: Cli, prepare: Words) -> None:
    code, envelope = cli.envelope(*prepare(cli))
    assert code == 0
    jsonschema.validate(envelope, _SUCCESS)


@pytest.mark.parametrize("prepare", SUCCESSES)
def test_people_get_words_and_no_json(cli: Cli, prepare: Words) -> None:
    said = cli.text(*prepare(cli))
    assert said.strip()
    assert not said.startswith("{")


@pytest.mark.parametrize(
    "words",
    [
        ("session", "status"), ("step", "next"), ("step", "heartbeat"), ("journal", "list"),
        ("review", "gate"), ("task", "prepare", "Z-1"), ("session", "nonsense"),
        ("session", "list", "--limit", "0"), ("session", "list", "--cursor", "x"),
    ],
)  # fmt: skip
def test_a_refusal_is_a_response_v2_envelope(cli: Cli, words: tuple[str, ...]) -> None:
    done = cli.run(*words, "--workspace", str(cli.workspace), "--json")
    assert done.code in (1, 2)
    jsonschema.validate(json.loads(done.out), _FAILURE)


@pytest.mark.parametrize("command", ["next", "report", "replay", "heartbeat"])
def test_session_takes_no_command_of_the_hot_path(cli: Cli, command: str) -> None:
    assert cli.run("session", command, "--json").code == 2


@pytest.mark.parametrize(
    "command", ["start", "status", "pause", "resume", "rebase", "end", "reset"]
)
def test_step_takes_no_command_of_the_lifecycle(cli: Cli, command: str) -> None:
    assert cli.run("step", command, "--json").code == 2


def _pages(cli: Cli) -> dict[str, Any]:
    _, envelope = cli.envelope("session", "list", "--limit", "1")
    found: dict[str, Any] = envelope["meta"]["pagination"]
    return found


def test_a_list_says_how_it_goes_on(cli: Cli) -> None:
    cli.start()
    assert _pages(cli) == {"cursor": None, "has_more": False, "page_size": 1, "total_count": 1}
    cli.start("--force")
    assert (_pages(cli)["has_more"], _pages(cli)["total_count"]) == (True, 2)


@pytest.mark.parametrize("name", RootGroup.lazy)
def test_every_group_explains_itself(cli: Cli, name: str) -> None:
    assert cli.run(name, "-h").out.startswith(f"Usage: runner {name} ")
