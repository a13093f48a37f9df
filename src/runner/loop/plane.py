"""The control plane as the loop calls it: one request at a time, off the event loop."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import anyio

from runner.errors import RunnerError
from runner.loop.events import Notice
from runner.loop.ports import ControlPlane, RunSink


class PlaneRefusedError(RunnerError):
    """The control plane refused a request, and nothing was changed.

    Attributes:
        code: the `error_code` of CONTRACT §6.
        data: what the refusal says for programs.
    """

    def __init__(self, message: str, data: Mapping[str, Any]) -> None:
        super().__init__(message, hint=data.get("remediation"))
        self.code = str(data.get("error_code"))
        self.data = dict(data)


class Plane:
    """Sends requests to the control plane of one workspace.

    Args:
        sink: is told each warning of an answer, once.
    """

    def __init__(self, control_plane: ControlPlane, sink: RunSink) -> None:
        self._control_plane = control_plane
        self._sink = sink
        self._lock = anyio.Lock()
        self._warned: set[str] = set()

    async def ask(self, group: str, command: str, **params: Any) -> dict[str, Any]:
        """Run a command and return its data. A request that was begun is always finished.

        Raises:
            PlaneRefusedError: it was refused.
        """
        async with self._lock:
            envelope = await anyio.to_thread.run_sync(
                partial(self._control_plane.call, group, command, **params)
            )
        data: dict[str, Any] = envelope["data"]
        if not envelope["success"]:
            raise PlaneRefusedError(str(envelope["error"]), data)
        for warning in envelope["meta"].get("warnings", ()):
            if warning not in self._warned:
                self._warned.add(warning)
                self._sink(Notice("warning", warning))
        return data
