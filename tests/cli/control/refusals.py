"""How to meet each refusal on the command line: a scene for every code (CONTRACT §6)."""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple
from unittest import mock

from filelock import FileLock
from tests.cli.control.kit import Cli, gate_words

from runner.autonomy.assembly import open_control_plane
from runner.autonomy.calls import TimeBudget
from runner.autonomy.codes import ErrorCode

Words = Sequence[str]
Scene = Callable[[Cli], Words]
"""Brings a workspace to where a command is refused, and returns that command."""


class Row(NamedTuple):
    """How to meet a code.

    Attributes:
        scene: what was before.
        meanwhile: what goes on while the command runs.
    """

    scene: Scene
    meanwhile: Callable[[Cli], AbstractContextManager[Any]] = lambda _: nullcontext()


def _result(report: dict[str, Any]) -> tuple[str, ...]:
    return ("step", "next", "--result", json.dumps(report))


def _no_session(cli: Cli) -> tuple[str, ...]:
    return ("step", "next")


def _unknown_session(cli: Cli) -> tuple[str, ...]:
    return ("session", "status", "--session-id", "auto_01ARZ3NDEKTSV4RRFFQ69G5FAV")


def _no_spec(cli: Cli) -> tuple[str, ...]:
    (cli.workspace / ".runner/status.json").unlink()
    return ("session", "start")


def _another_spec(cli: Cli) -> tuple[str, ...]:
    return ("session", "start", "--spec-id", "another")


def _two_sessions(cli: Cli) -> tuple[str, ...]:
    cli.start()
    path = cli.workspace / ".runner/status.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"demo"', '"other"'), encoding="utf-8")
    cli.start()
    return ("session", "pause")


def _second_start(cli: Cli) -> tuple[str, ...]:
    cli.start()
    return ("session", "start", "--idempotency-key", "another")


def _resume_running(cli: Cli) -> tuple[str, ...]:
    cli.start()
    return ("session", "resume")


def _reset_running(cli: Cli) -> tuple[str, ...]:
    return ("session", "reset", "--session-id", cli.start())


def _damaged(cli: Cli) -> tuple[str, ...]:
    cli.start()
    cli.session_file().write_text("{", encoding="utf-8")
    return ("step", "next")


def _made_up_cursor(cli: Cli) -> tuple[str, ...]:
    cli.start()
    return ("session", "events", "--cursor", "bm9uc2Vuc2U")


def _missing_report(cli: Cli) -> tuple[str, ...]:
    cli.start()
    cli.next()
    return ("step", "next")


def _report_of_another_step(cli: Cli) -> tuple[str, ...]:
    cli.start()
    other = "step_01ARZ3NDEKTSV4RRFFQ69G5FAV"
    return _result(cli.report(cli.next(), step_id=other))


def _report_without_proof(cli: Cli) -> tuple[str, ...]:
    cli.start()
    return _result(cli.report(cli.next(), step_proof=None))


def _report_with_a_forged_proof(cli: Cli) -> tuple[str, ...]:
    cli.start()
    return _result(cli.report(cli.next(), step_proof="stp_forged"))


def _report_after_its_time(cli: Cli) -> tuple[str, ...]:
    before = cli.in_the_past(minutes=2)
    before.start()
    report = before.report(before.next()["next_step"])
    before.next(report)
    return _result(report)


def _another_report_on_the_same_step(cli: Cli) -> tuple[str, ...]:
    cli.start()
    report = cli.report(cli.next())
    cli.next(report)
    return _result(report | {"note": "on second thoughts"})


def _change_of_another_deliverable(cli: Cli) -> tuple[str, ...]:
    cli.start()
    token = cli.next()["step_proof_token"]
    return ("task", "complete", "B-001", "--autonomy-step-proof", token)


def _verification_without_receipt(cli: Cli) -> tuple[str, ...]:
    cli.start()
    return _result(cli.report(cli.until("execute_verification"), verification_receipt=None))


def _receipt_without_results(cli: Cli) -> tuple[str, ...]:
    cli.start()
    report = cli.report(cli.until("execute_verification"))
    return _result(
        report | {"verification_receipt": report["verification_receipt"] | {"results": []}}
    )


def _forged_evidence(cli: Cli) -> tuple[str, ...]:
    cli.start()
    step = cli.until("run_fidelity_gate")
    return _result(cli.report(step, gate_evidence_token="gev_forged"))


def _edited_verdict(cli: Cli) -> tuple[str, ...]:
    cli.start()
    step = cli.until("run_fidelity_gate")
    evidence = cli.review(step, "fail")
    report = cli.report(step, "failure") | {"outcome": "success"} | evidence
    stored = cli.state()["pending_gate_evidence"]
    cli.edit_state(pending_gate_evidence=stored | {"verdict": "pass"})
    return _result(report)


def _skipped_gate(cli: Cli) -> tuple[str, ...]:
    cli.start()
    return _result(cli.report(cli.until("run_fidelity_gate"), "skipped"))


def _awaiting_a_person(cli: Cli) -> None:
    cli.start("--gate-policy", "manual")
    cli.next(cli.report(cli.until("run_fidelity_gate")))


def _unacknowledged(cli: Cli) -> tuple[str, ...]:
    _awaiting_a_person(cli)
    return ("session", "resume")


def _wrongly_acknowledged(cli: Cli) -> tuple[str, ...]:
    _awaiting_a_person(cli)
    attempt = ("--acknowledged-gate-attempt-id", "gate_01ARZ3NDEKTSV4RRFFQ69G5FAV")
    return ("session", "resume", "--acknowledge-gate-review", *attempt)


def _review_of_no_step(cli: Cli) -> tuple[str, ...]:
    cli.start()
    return ("review", "gate", *gate_words(cli.next()), "--verdict", "pass")


def _changed_structure(cli: Cli) -> tuple[str, ...]:
    cli.start()
    cli.add_task("C-001", "p3")
    assert cli.ok("step", "next")["failure_reason"] == "spec_structure_changed"
    return ("session", "resume", "--force")


def _completed_work_is_gone(cli: Cli) -> tuple[str, ...]:
    cli.start()
    cli.next(cli.report(cli.next()))
    cli.ok("session", "pause")
    path = cli.workspace / ".runner/status.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    document["deliverables"] = [d for d in document["deliverables"] if d["id"] != "A-001"]
    path.write_text(json.dumps(document), encoding="utf-8")
    return ("session", "rebase")


def _sessions_folder_is_a_file(cli: Cli) -> tuple[str, ...]:
    folder = cli.workspace / ".runner/autonomy/sessions"
    folder.parent.mkdir()
    folder.write_text("", encoding="utf-8")
    return ("session", "start")


def _configure(cli: Cli, text: str) -> None:
    (cli.workspace / ".runner/runner.toml").write_text(text, encoding="utf-8")


def _switched_off(cli: Cli) -> Sequence[str]:
    _configure(cli, "[feature_flags]\nautonomy_rebase = false\n")
    return ("session", "rebase")


def _not_allowed(cli: Cli) -> Sequence[str]:
    _configure(cli, '[posture]\nprofile = "unattended"\n')
    return ("session", "end")


def _asked_too_often(cli: Cli) -> Sequence[str]:
    words = _not_allowed(cli)
    for _ in range(10):
        assert cli.refused(*words) == "AUTHORIZATION"
    return words


def _older_copy(cli: Cli) -> Sequence[str]:
    """Put back the session as it was before its first step."""
    cli.start()
    before = cli.session_file().read_bytes()
    cli.next()
    cli.session_file().write_bytes(before)
    return ("step", "next", "--session-id", cli.session_id)


def _silent_caller(cli: Cli) -> Words:
    cli.in_the_past(minutes=30).start()
    return ("step", "heartbeat", "--context-usage-pct", "5")


def _auto_mode_without_spec(cli: Cli) -> Words:
    (cli.workspace / ".runner/status.json").unlink()
    return ("session", "config", "--auto-mode")


def _missing_value(cli: Cli) -> Words:
    cli.start()
    return ("step", "heartbeat")


def _next_step(cli: Cli) -> Words:
    cli.start()
    return ("step", "next")


def _change(cli: Cli) -> Words:
    cli.start()
    step = cli.next()
    return ("task", "block", step["task_id"], "--autonomy-step-proof", step["step_proof_token"])


def _review_by_an_agent(cli: Cli) -> Words:
    cli.start()
    return ("review", "gate", *gate_words(cli.until("run_fidelity_gate")))


def lock_of(cli: Cli, name: str) -> FileLock:
    folder = cli.workspace / ".runner/autonomy/locks"
    folder.mkdir(parents=True, exist_ok=True)
    return FileLock(folder / name, thread_local=False)


@contextlib.contextmanager
def _session_is_held(cli: Cli) -> Iterator[None]:
    with lock_of(cli, f"session_{cli.session_id}.lock"), _little_time(0.3):
        yield


@contextlib.contextmanager
def _little_time(seconds: float) -> Iterator[None]:
    """Give a command of this process less than its 5 s, for itself and for each lock."""
    budget = TimeBudget(seconds, seconds)
    with (
        mock.patch("runner.autonomy.service.budget_of", return_value=budget),
        mock.patch.dict(open_control_plane.__kwdefaults__, {"lock_seconds": seconds}),
    ):
        yield


def _run_is_at_work(cli: Cli) -> AbstractContextManager[Any]:
    return lock_of(cli, "run.lock")


@contextlib.contextmanager
def held_one_after_the_other(cli: Cli) -> Iterator[None]:
    """Let a change wait for the session first, and then for the deliverables, for too long."""
    session = lock_of(cli, f"session_{cli.session_id}.lock")
    with lock_of(cli, "status.lock"):
        session.acquire()
        waker = threading.Timer(4, session.release)
        waker.start()
        yield
        waker.join()


ROWS: dict[ErrorCode, Row] = {
    ErrorCode.STEP_RESULT_REQUIRED: Row(_missing_report),
    ErrorCode.STEP_MISMATCH: Row(_report_of_another_step),
    ErrorCode.STEP_PROOF_REQUIRED: Row(_report_without_proof),
    ErrorCode.STEP_PROOF_INVALID: Row(_report_with_a_forged_proof),
    ErrorCode.STEP_PROOF_CONFLICT: Row(_another_report_on_the_same_step),
    ErrorCode.STEP_PROOF_EXPIRED: Row(_report_after_its_time),
    ErrorCode.AUTONOMY_WRITE_LOCK_ACTIVE: Row(_change_of_another_deliverable),
    ErrorCode.INVALID_GATE_EVIDENCE: Row(_forged_evidence),
    ErrorCode.INVALID_CURSOR: Row(_made_up_cursor),
    ErrorCode.NO_ACTIVE_SESSION: Row(_no_session),
    ErrorCode.AMBIGUOUS_ACTIVE_SESSION: Row(_two_sessions),
    ErrorCode.SPEC_SESSION_EXISTS: Row(_second_start),
    ErrorCode.SESSION_UNRECOVERABLE: Row(_damaged),
    ErrorCode.LOCK_TIMEOUT: Row(_next_step, _session_is_held),
    ErrorCode.TIMEOUT: Row(_change, held_one_after_the_other),
    ErrorCode.MANUAL_GATE_ACK_REQUIRED: Row(_unacknowledged),
    ErrorCode.INVALID_GATE_ACK: Row(_wrongly_acknowledged),
    ErrorCode.INVALID_STATE_TRANSITION: Row(_resume_running),
    ErrorCode.AUTO_MODE_SPEC_RESOLUTION_FAILED: Row(_auto_mode_without_spec),
    ErrorCode.SPEC_REBASE_REQUIRED: Row(_changed_structure),
    ErrorCode.REBASE_COMPLETED_TASKS_REMOVED: Row(_completed_work_is_gone),
    ErrorCode.HEARTBEAT_STALE: Row(_silent_caller),
    ErrorCode.VALIDATION_ERROR: Row(_missing_value),
    ErrorCode.SPEC_NOT_FOUND: Row(_no_spec),
    ErrorCode.SESSION_NOT_FOUND: Row(_unknown_session),
    ErrorCode.FEATURE_DISABLED: Row(_switched_off),
    ErrorCode.AUTHORIZATION: Row(_not_allowed),
    ErrorCode.VERIFICATION_RECEIPT_REQUIRED: Row(_verification_without_receipt),
    ErrorCode.VERIFICATION_RECEIPT_INVALID: Row(_receipt_without_results),
    ErrorCode.GATE_INTEGRITY_CHECKSUM: Row(_edited_verdict),
    ErrorCode.GATE_AUDIT_FAILURE: Row(_older_copy),
    ErrorCode.REQUIRED_GATE_UNSATISFIED: Row(_skipped_gate),
    ErrorCode.RATE_LIMITED: Row(_asked_too_often),
    ErrorCode.REVIEW_UNAVAILABLE: Row(_review_by_an_agent, _run_is_at_work),
    ErrorCode.STATE_UNWRITABLE: Row(_sessions_folder_is_a_file),
}

VARIANTS: Sequence[tuple[Scene, ErrorCode]] = (
    (_another_spec, ErrorCode.SPEC_NOT_FOUND),
    (_reset_running, ErrorCode.INVALID_STATE_TRANSITION),
    (_review_of_no_step, ErrorCode.STEP_MISMATCH),
)
"""More ways to codes that have a row already."""
