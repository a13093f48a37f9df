"""That the agent of a step said `passed`, kept on disk until it is reported (ADR 0405).

It counts for the very step that it was said in, and only if this program wrote it: its seal is an
HMAC with the step's proof, which no agent ever sees (DESIGN §4). `blocked` is not kept: what was
missing may be there when the next run begins.
"""

import hmac
import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from runner.deliverables.model import Status
from runner.errors import RunnerError
from runner.files import read_regular, write_atomic

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
