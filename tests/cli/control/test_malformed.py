"""Whatever the command line is given: an envelope, no traceback, and no change after a refusal."""

import json
import os
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.cli.control.kit import Cli, Done

from runner.autonomy.codes import CODES, ErrorCode

_PROPERTY = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
_MOST = 500 if os.environ.get("RUNNER_STORM") else 150
# What a process can be given at all: no NUL, and bytes that are no UTF-8 as lone surrogates.
_TEXT = st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12
) | st.sampled_from(
    ["", "-", "--", "@", "@.", "\udcff", "../x", "1e9", "NaN", "true", "null", "9" * 30,
     "auto_01ARZ3NDEKTSV4RRFFQ69G5FAV", "step_01ARZ3NDEKTSV4RRFFQ69G5FAV", "demo", "A-001", "p1"]
)  # fmt: skip
_COMMANDS = st.sampled_from(
    [
        ("session", "start"), ("session", "status"), ("session", "pause"), ("session", "resume"),
        ("session", "rebase"), ("session", "end"), ("session", "list"), ("session", "reset"),
        ("session", "events"), ("session", "config"),
        ("step", "next"), ("step", "report"), ("step", "replay"), ("step", "heartbeat"),
        ("review", "gate"), ("task", "list"), ("task", "prepare"), ("task", "start"),
        ("task", "complete"), ("task", "block"), ("task", "unblock"),
        ("task", "update-status"), ("task", "gate-waiver"), ("journal", "list"),
        ("journal", "add"), ("capabilities",),
    ]
)  # fmt: skip
_OPTIONS = st.sampled_from(
    ["session-id", "spec-id", "limit", "cursor", "result", "context-usage-pct", "reason",
     "idempotency-key", "gate-policy", "max-tasks-per-session", "phase-id", "step-id", "verdict",
     "findings", "title", "content", "status-filter", "task-id", "status", "autonomy-step-proof",
     "acknowledged-gate-attempt-id", "nonsense", "reason-code", "summary", "review-path",
     "estimated-tokens-used", "consecutive-error-delta", "last-completed-task-id", "command"]
)  # fmt: skip
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
_REPORT_FIELDS = st.sampled_from(
    ["step_id", "step_type", "task_id", "phase_id", "outcome", "note", "step_proof",
     "files_touched", "verification_receipt", "gate_attempt_id", "gate_evidence_token"]
)  # fmt: skip


def _files(workspace: Path) -> dict[str, bytes]:
    """Return every file but locks, which are names and no state."""
    return {
        str(path): path.read_bytes()
        for path in workspace.rglob("*")
        if path.is_file() and path.suffix != ".lock"
    }


def _check(cli: Cli, done: Done, before: dict[str, bytes]) -> None:
    assert "Traceback" not in done.err
    assert "This is a bug" not in done.err
    envelope = json.loads(done.out)
    assert set(envelope) == {"success", "data", "error", "meta"}
    assert (done.code == 0) is envelope["success"]
    if envelope["success"]:
        return
    code = ErrorCode(envelope["data"]["error_code"])
    assert code is not ErrorCode.INTERNAL
    assert envelope["data"]["error_type"] == CODES[code].error_type
    assert envelope["data"]["remediation"]
    assert _files(cli.workspace) == before


@settings(_PROPERTY, max_examples=_MOST)
@given(
    command=_COMMANDS,
    options=st.lists(st.tuples(_OPTIONS, _TEXT), max_size=4),
    stray=st.lists(_TEXT, max_size=1),
)
def test_no_options_yield_an_internal_error_or_a_changed_file(
    cli: Cli, command: tuple[str, ...], options: list[tuple[str, str]], stray: list[str]
) -> None:
    if not cli.session_id:
        cli.start()
    before = _files(cli.workspace)
    given = [f"--{name}={value}" for name, value in options]
    done = cli.run(*command, "--json", *given, f"--workspace={cli.workspace}", *stray)
    _check(cli, done, before)


@_PROPERTY
@given(changes=st.dictionaries(_REPORT_FIELDS, _JSON, min_size=1, max_size=3))
def test_no_report_yields_an_internal_error_or_a_changed_file(
    cli: Cli, changes: dict[str, object]
) -> None:
    if not cli.session_id:
        cli.start()
        cli.next()
    step = cli.ok("step", "replay", "--session-id", cli.session_id)["next_step"]
    report = (cli.report(step) if step["type"] == "implement_task" else {}) | changes
    before = _files(cli.workspace)
    done = cli.people("step", "next", "--json", "--result", "-", stdin=json.dumps(report).encode())
    _check(cli, done, before)


@_PROPERTY
@given(content=st.binary(max_size=40))
def test_no_bytes_on_standard_input_yield_an_internal_error_or_a_changed_file(
    cli: Cli, content: bytes
) -> None:
    if not cli.session_id:
        cli.start()
        cli.next()
    before = _files(cli.workspace)
    done = cli.people("step", "report", "--json", "--result", "-", stdin=content)
    _check(cli, done, before)


@_PROPERTY
@given(command=_COMMANDS, options=st.lists(st.tuples(_OPTIONS, _TEXT), max_size=3))
def test_people_never_see_a_traceback_or_a_control_character(
    cli: Cli, command: tuple[str, ...], options: list[tuple[str, str]]
) -> None:
    if not cli.session_id:
        cli.start()
    given = [f"--{name}={value}" for name, value in options]
    done = cli.run(*command, *given, f"--workspace={cli.workspace}")
    assert "This is a bug" not in done.err
    assert done.code in (0, 1, 2)
    # What Typer says about bad usage is its own; all else is ours.
    said = done.out + (done.err if done.code != 2 else "")
    assert all(line.isprintable() for line in said.split("\n"))
