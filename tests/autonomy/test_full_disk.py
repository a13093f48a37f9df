"""When nothing more can be written: a clear error, and the old state."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager

from tests.autonomy.plane import Client


@contextmanager
def _no_room() -> Iterator[None]:
    """Make every write beyond the first bytes of a file fail, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_report_on_a_full_disk_is_refused_and_succeeds_when_there_is_room(
    client: Client,
) -> None:
    client.start()
    report = client.report(client.next()["next_step"])
    before = client.session_file().read_bytes()
    with _no_room():
        envelope = client.call("step", "next", last_step_result=report)
    assert (envelope["data"]["error_code"], envelope["data"]["error_type"]) == (
        "STATE_UNWRITABLE",
        "unavailable",
    )
    assert client.session_file().read_bytes() == before
    assert client.next(report)["next_step"]["task_id"] == "A-002"


def test_a_start_on_a_full_disk_leaves_no_session(client: Client) -> None:
    client.plane.core.key()
    with _no_room():
        assert client.refused("session", "start") == "STATE_UNWRITABLE"
    assert client.refused("session", "status") == "NO_ACTIVE_SESSION"
    assert client.start()["status"] == "running"
