"""Reviews by an agent, for callers that ask for one without a verdict.

They are made in a process of their own: an agent with its sandbox and its signals does not belong in
a thread of a server, and a process can be ended when its time is up.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.commands.review_request import due_review
from runner.autonomy.envelope import Envelope, failure
from runner.autonomy.service import ControlPlane, new_ulid
from runner.programs import REVIEW_REQUEST, own_command
from runner.reach import reach_of

_END_SECONDS = 5.0
_PARAMETERS = ("session_id", "spec_id", "phase_id", "step_id", "review_path")


class AgentReviewer:
    """Has reviews made by agents. To be closed when the server ends."""

    def __init__(self, plane: ControlPlane, workspace: Path) -> None:
        self._plane = plane
        self._workspace = workspace
        self._running: set[subprocess.Popen[bytes]] = set()

    def close(self) -> None:
        """Ask every running review, and its agent, to end: nobody will read the answer."""
        for process in tuple(self._running):
            process.send_signal(signal.SIGTERM)

    def __call__(self, params: Mapping[str, Any], seconds: float) -> Envelope:
        """Return the envelope of the review; nothing is started for one that is not due.

        Args:
            params: what `review gate` takes, without a verdict.
            seconds: how long it may take; then it is ended, and the session is as it was.
        """
        due = due_review(self._plane, params)
        if not isinstance(due, str):
            return due
        process = subprocess.Popen(
            [*own_command(reach_of(self._workspace)), REVIEW_REQUEST],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=sys.stderr,
            # A server that is killed can end nothing: then the review bounds itself.
            env={
                **os.environ,
                "AUTORUNNER_SESSION_TIMEOUT": f"{seconds / 60:.3f}",
                # So that the process knows from the start where no code may come from.
                "AUTORUNNER_WORKSPACE": str(self._workspace),
            },
            # Nothing is loaded from where it starts, and nothing of it is the agents' to write.
            cwd="/",
            start_new_session=True,
        )
        self._running.add(process)
        try:
            output, _ = process.communicate(self._request({**params, "session_id": due}), seconds)
        except subprocess.TimeoutExpired:
            _end(process)
            return _failed(
                ErrorCode.TIMEOUT, f"The review took longer than {seconds:g} s and was ended."
            )
        finally:
            self._running.discard(process)
        return _envelope(output)

    def _request(self, params: Mapping[str, Any]) -> bytes:
        given = {name: params[name] for name in _PARAMETERS if params.get(name) is not None}
        return json.dumps({"workspace": str(self._workspace), "params": given}).encode()


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the review in order, so that its agent goes with it; then for good."""
    process.send_signal(signal.SIGTERM)
    try:
        process.communicate(timeout=_END_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _envelope(output: bytes) -> Envelope:
    try:
        envelope = json.loads(output)
    except ValueError:
        return _failed(ErrorCode.REVIEW_UNAVAILABLE, "The review ended without an answer.")
    return (
        envelope
        if isinstance(envelope, dict)
        else _failed(ErrorCode.REVIEW_UNAVAILABLE, "The review ended without an answer.")
    )


def _failed(code: ErrorCode, message: str) -> Envelope:
    return failure(RefusedError(code, message), request_id=new_ulid("req"))
