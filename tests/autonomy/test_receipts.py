"""Verification receipts: every field, every binding, and what is kept of an accepted one."""

import hashlib
import json
from datetime import timedelta
from typing import Any

import pytest
from tests.autonomy.plane import Client, write_status

Json = dict[str, Any]
INVALID = "VERIFICATION_RECEIPT_INVALID"
DIGEST = hashlib.sha256(b"output").hexdigest()


@pytest.fixture
def verifying(client: Client) -> Client:
    """A client whose outstanding step verifies p1 by two commands."""
    write_status(client.workspace, {"p1": ["A-001"]}, commands={"p1": ["make test", "make lint"]})
    client.start()
    client.next(client.report(client.next()["next_step"]))
    return client


def _step(client: Client) -> Json:
    step: Json = client.ok("step", "replay")["next_step"]
    assert step["type"] == "execute_verification"
    return step


def _report(client: Client, receipt: Any, outcome: str = "success") -> Json:
    return client.report(_step(client), outcome, verification_receipt=receipt)


def _refused(client: Client, receipt: Any, outcome: str = "success") -> str:
    before = client.session_file().read_bytes()
    code = client.refused("step", "report", last_step_result=_report(client, receipt, outcome))
    assert client.session_file().read_bytes() == before
    return code


@pytest.mark.parametrize("field", ["step_id", "issued_at", "results"])
def test_no_field_of_a_receipt_can_be_left_out(verifying: Client, field: str) -> None:
    receipt = verifying.receipt(_step(verifying))
    del receipt[field]
    assert _refused(verifying, receipt) == INVALID


@pytest.mark.parametrize("field", ["command_hash", "exit_code", "output_digest"])
def test_no_field_of_a_result_can_be_left_out(verifying: Client, field: str) -> None:
    receipt = verifying.receipt(_step(verifying))
    del receipt["results"][0][field]
    assert _refused(verifying, receipt) == INVALID


@pytest.mark.parametrize(
    "change",
    [
        {"step_id": "auto_1"},
        {"step_id": None},
        {"issued_at": "2026-03-01T12:00:00"},
        {"issued_at": "yesterday"},
        {"issued_at": "1772366400"},
        {"issued_at": "1772366400.5"},
        {"results": None},
        {"results": {}},
        {"signature": "x"},
    ],
)
def test_a_receipt_of_another_shape_is_refused(verifying: Client, change: Json) -> None:
    assert _refused(verifying, verifying.receipt(_step(verifying)) | change) == INVALID


@pytest.mark.parametrize(
    "change",
    [
        {"exit_code": True},
        {"exit_code": 0.0},
        {"exit_code": "0"},
        {"exit_code": None},
        {"exit_code": 256},
        {"exit_code": -256},
        {"command_hash": DIGEST.upper()},
        {"command_hash": "sha256:" + DIGEST},
        {"output_digest": DIGEST[:-1]},
        {"output_digest": DIGEST[:-1] + "g"},
        {"output_digest": ""},
        {"command": "true"},
    ],
)
def test_a_result_of_another_shape_is_refused(verifying: Client, change: Json) -> None:
    receipt = verifying.receipt(_step(verifying))
    receipt["results"][0] |= change
    assert _refused(verifying, receipt) == INVALID


@pytest.mark.parametrize("exit_code", [1, 2, 127, 255, -9])
def test_success_wants_exit_codes_of_zero(verifying: Client, exit_code: int) -> None:
    receipt = verifying.receipt(_step(verifying))
    receipt["results"][1]["exit_code"] = exit_code
    assert _refused(verifying, receipt) == "VERIFICATION_RECEIPT_INVALID"


def _without_one(results: list[Json]) -> list[Json]:
    return results[:1]


def _one_twice(results: list[Json]) -> list[Json]:
    return [results[0], results[0]]


def _one_more(results: list[Json]) -> list[Json]:
    return [*results, results[0] | {"command_hash": DIGEST}]


def _of_another_command(results: list[Json]) -> list[Json]:
    return [results[0], results[1] | {"command_hash": hashlib.sha256(b"true").hexdigest()}]


@pytest.mark.parametrize("change", [_without_one, _one_twice, _one_more, _of_another_command])
@pytest.mark.parametrize("outcome", ["success", "failure"])
def test_a_receipt_has_one_result_for_each_issued_command(
    verifying: Client, change: Any, outcome: str
) -> None:
    receipt = verifying.receipt(_step(verifying))
    receipt["results"] = change(receipt["results"])
    assert _refused(verifying, receipt, outcome) == "VERIFICATION_RECEIPT_INVALID"


@pytest.mark.parametrize("outcome", ["success", "failure"])
def test_a_receipt_is_bound_to_its_step(verifying: Client, outcome: str) -> None:
    receipt = verifying.receipt(_step(verifying)) | {"step_id": "step_0000000000000000000000ZZZZ"}
    assert _refused(verifying, receipt, outcome) == "VERIFICATION_RECEIPT_INVALID"


@pytest.mark.parametrize("seconds", [-3, 63])
def test_a_receipt_from_outside_the_steps_time_is_refused(verifying: Client, seconds: int) -> None:
    issued_at = verifying.clock() + timedelta(seconds=seconds)
    verifying.clock.wait(seconds=60)
    receipt = verifying.receipt(_step(verifying)) | {"issued_at": issued_at.isoformat()}
    assert _refused(verifying, receipt) == "VERIFICATION_RECEIPT_INVALID"


@pytest.mark.parametrize("seconds", [-2, 0, 60, 62])
def test_a_receipt_from_within_the_steps_time_is_accepted(verifying: Client, seconds: int) -> None:
    issued_at = verifying.clock() + timedelta(seconds=seconds)
    verifying.clock.wait(seconds=60)
    receipt = verifying.receipt(_step(verifying)) | {"issued_at": issued_at.isoformat()}
    verifying.ok("step", "report", last_step_result=_report(verifying, receipt))


def test_another_time_zone_is_the_same_time(verifying: Client) -> None:
    receipt = verifying.receipt(_step(verifying)) | {"issued_at": "2026-03-01T14:00:00+02:00"}
    verifying.ok("step", "report", last_step_result=_report(verifying, receipt))


def test_the_order_of_results_is_free(verifying: Client) -> None:
    receipt = verifying.receipt(_step(verifying))
    receipt["results"].reverse()
    verifying.ok("step", "report", last_step_result=_report(verifying, receipt))


def test_a_refused_receipt_can_be_corrected(verifying: Client) -> None:
    assert _refused(verifying, None) == "VERIFICATION_RECEIPT_REQUIRED"
    receipt = verifying.receipt(_step(verifying))
    data = verifying.next(_report(verifying, receipt))
    assert data["next_step"]["type"] == "run_fidelity_gate"


def test_the_issued_hashes_are_of_the_issued_commands(verifying: Client) -> None:
    commands = _step(verifying)["commands"]
    assert [c["command_hash"] for c in commands] == [
        hashlib.sha256(c["command"].encode()).hexdigest() for c in commands
    ]


@pytest.mark.parametrize(("outcome", "exit_code"), [("success", 0), ("failure", 1)])
def test_an_accepted_receipt_is_kept_as_it_was_hashed(
    verifying: Client, outcome: str, exit_code: int
) -> None:
    step = _step(verifying)
    receipt = verifying.receipt(step)
    receipt["results"][0]["exit_code"] = exit_code
    verifying.ok("step", "report", last_step_result=_report(verifying, receipt, outcome))
    folder = verifying.workspace / ".runner/autonomy/receipts"
    kept = (folder / f"{verifying.session_id}-{step['step_id']}.json").read_bytes()
    assert json.loads(kept)["results"] == receipt["results"]
    digest = "sha256:" + hashlib.sha256(kept).hexdigest()
    assert verifying.journal()[-1]["data"]["receipt_hash"] == digest


def test_a_refused_receipt_is_not_kept(verifying: Client) -> None:
    receipt = verifying.receipt(_step(verifying))
    receipt["results"] = receipt["results"][:1]
    _refused(verifying, receipt)
    assert not (verifying.workspace / ".runner/autonomy/receipts").exists()


def test_remediation_makes_the_old_receipt_void(verifying: Client) -> None:
    receipt = verifying.receipt(_step(verifying))
    gate = verifying.next(_report(verifying, receipt))["next_step"]
    mend = verifying.next(verifying.reviewed(gate, "fail"))["next_step"]
    step = verifying.next(verifying.report(mend))["next_step"]
    assert step["type"] == "execute_verification"
    assert verifying.state()["phase_gates"]["p1"]["receipt_hash"] is None
    assert _refused(verifying, receipt) == "VERIFICATION_RECEIPT_INVALID"
