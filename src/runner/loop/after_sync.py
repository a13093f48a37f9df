"""After a sync: what it left in `status.json` is in force for the autonomous session, too."""

from pathlib import Path
from typing import Any

from runner.autonomy.codes import ErrorCode
from runner.autonomy.enums import FailureReason, SessionStatus
from runner.deliverables.model import StatusFile
from runner.deliverables.spec_text import SpecText
from runner.deliverables.verification import VerificationTracker
from runner.events import Notice
from runner.ports import ControlPlane, Deliverables, RunSink
from runner.records.plan_reviews import PlanBook


class TakeOver:
    """Takes a finished sync over (DESIGN §5). Make it before the sync begins.

    Args:
        tracker: started once the sync session has compared plan and SPEC.md.
    """

    def __init__(
        self,
        project_dir: Path,
        *,
        deliverables: Deliverables,
        control_plane: ControlPlane,
        tracker: VerificationTracker,
        sink: RunSink,
    ) -> None:
        self._spec_text = SpecText(project_dir)
        self._digest = self._spec_text.digest()
        self._deliverables = deliverables
        self._before = deliverables.load()
        self._control_plane = control_plane
        self._tracker = tracker
        self._sink = sink
        self._plan_book = PlanBook(project_dir)

    def __call__(self) -> None:
        """Note the text of SPEC.md that was compared, and rebase the session that there is."""
        file = self._deliverables.load()
        if file is None or not self._tracker.is_started:
            return
        self._spec_text.note(self._digest)
        self._plan_book.synced(self._before, file)
        view = self._ask("session", "status", spec_id=file.spec_id)
        if view is not None and (_is_drifted(view) or _differs(self._before, file)):
            self._rebase(view)

    def _rebase(self, view: dict[str, Any]) -> None:
        session_id = view["session_id"]
        if view["status"] == SessionStatus.RUNNING:
            self._ask("session", "pause", session_id=session_id, reason="runner sync")
        # What a sync has deprecated is meant to be gone.
        rebased = self._ask("session", "rebase", session_id=session_id, force=True)
        if rebased is not None:
            self._sink(Notice("info", f"The autonomous session {session_id} works by the new plan"))

    def _ask(self, group: str, command: str, **params: Any) -> dict[str, Any] | None:
        """Return the data, None after a refusal; people are told of one that matters."""
        envelope = self._control_plane.call(group, command, **params)
        data: dict[str, Any] = envelope["data"]
        if envelope["success"]:
            return data
        if data["error_code"] != ErrorCode.NO_ACTIVE_SESSION:
            self._sink(
                Notice(
                    "warning",
                    f"The autonomous session was not rebased: {envelope['error']}",
                    data.get("remediation"),
                )
            )
        return None


def _is_drifted(view: dict[str, Any]) -> bool:
    return bool(view["failure_reason"] == FailureReason.SPEC_STRUCTURE_CHANGED)


def _differs(before: StatusFile | None, after: StatusFile) -> bool:
    return before is None or (before.phases, before.deliverables) != (
        after.phases,
        after.deliverables,
    )
