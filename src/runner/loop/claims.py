"""What the agent says of its deliverable, until the control plane has it.

A status is the control plane's to write (DESIGN §4): `set_status` only leaves the agent's word
here, the loop reports it with the proof it holds, and the last word before that counts. So an
agent may change its mind as often as it likes, and `status.json` never says what was not accepted.
"""

import hmac
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from runner.deliverables.model import Status, StatusFile
from runner.deliverables.repository import StatusRepository
from runner.errors import RunnerError
from runner.files import read_regular, write_atomic

# It counts for the very step that it was said in, and only if this program wrote it: its seal is an
# HMAC with the step's proof, which no agent ever sees (DESIGN §4). `blocked` is not kept: what was
# missing may be there when the next run begins.
_LIMIT_BYTES = 4096


@dataclass(frozen=True, slots=True)
class StepWord:
    """What the agent of one step last said.

    Attributes:
        path: the file; there is one, since there is one run and one step at a time.
        proof: the step's proof.
    """

    path: Path
    step_id: str
    task_id: str
    proof: str

    def read(self) -> Status:
        """Return PASSED where that was kept of this step, else PENDING. Never raises."""
        with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            found = json.loads(read_regular(self.path, limit=_LIMIT_BYTES))
            if hmac.compare_digest(str(found["seal"]).encode(), self._seal().encode()):
                return Status.PASSED
        return Status.PENDING

    def keep(self, status: Status) -> None:
        """Keep the word if it is PASSED, else forget the one before. Never raises."""
        if status is not Status.PASSED:
            self.drop()
            return
        document = {"step_id": self.step_id, "task_id": self.task_id, "seal": self._seal()}
        with suppress(RunnerError):  # then a kill costs one more session
            write_atomic(self.path, json.dumps(document) + "\n")

    def drop(self) -> None:
        """Forget the word. Never raises; a file that stays counts for no other step."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)

    def _seal(self) -> str:
        said = json.dumps(["passed", self.step_id, self.task_id])
        return hmac.new(self.proof.encode(), said.encode(), "sha256").hexdigest()


_WORD_FILE = "word.json"


class ClaimedDeliverables(StatusRepository):
    """The deliverables as the agent of a step sees them: as they are, with its own word over it.

    Outside of a step it is the repository itself, so that planning writes as ever.
    """

    revising = False
    """Whether the session at work corrects a plan before work begins, see `transitions.revise`."""
    _task_id: str | None = None
    _word: Status = Status.PENDING
    _reason: str | None = None
    _kept: StepWord | None = None

    def bind(self, task_id: str, *, step_id: str, proof: str | None) -> None:
        """Take words for this deliverable alone.

        It starts as passed where its agent said so in the same step of a run that was killed
        since; else as pending: what `status.json` says of it was not accepted. A word that was
        left in this run stays where the step was issued anew.

        Args:
            proof: of the step; without one a word does not outlive the run.
        """
        kept = self._keeper(step_id, task_id, proof) if proof else None
        if task_id != self._task_id:
            self._task_id, self._word = task_id, kept.read() if kept else Status.PENDING
            self._reason = None
        elif kept is not None and self._word is not Status.PENDING:
            kept.keep(self._word)
        self._kept = kept

    def release(self, *, reported: bool = True) -> None:
        """Take no more words.

        Args:
            reported: whether the last one was, so that nobody needs it any more.
        """
        if reported and self._kept is not None:
            self._kept.drop()
        self._task_id = self._kept = self._reason = None
        self._word = Status.PENDING

    @property
    def word(self) -> Status:
        """What the agent last said of the bound deliverable."""
        return self._word

    @property
    def reason(self) -> str | None:
        """Why the bound deliverable is blocked, as the agent said; None while it is not."""
        return self._reason

    def accepted(self) -> StatusFile | None:
        """Return what the file says, without the agent's word."""
        return super().load()

    def load(self) -> StatusFile | None:
        """See `StatusRepository.load`."""
        file = super().load()
        return None if file is None else self._seen(file)

    def update(self, change: Callable[[StatusFile], StatusFile]) -> StatusFile:
        """See `StatusRepository.update`; in a step nothing is written."""
        if self._task_id is None:
            return super().update(change)
        after = change(self.load() or StatusFile(self._derived_spec_id()))
        found = after.find(self._task_id)
        if found is not None:
            self._word, self._reason = found.status, found.blocked_reason
            if self._kept is not None:
                self._kept.keep(found.status)
        return after

    def _keeper(self, step_id: str, task_id: str, proof: str) -> StepWord:
        return StepWord(self.path.parent / "autonomy" / _WORD_FILE, step_id, task_id, proof)

    def _seen(self, file: StatusFile) -> StatusFile:
        deliverables = tuple(
            replace(d, status=self._word, blocked_reason=self._reason)
            if d.id == self._task_id
            else d
            for d in file.deliverables
        )
        return replace(file, deliverables=deliverables)
