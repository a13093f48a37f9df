"""Between a request and its command: who may, what is switched on, and who asks too often."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from runner.autonomy.access.denials import MOST_REFUSALS, REFUSAL_WINDOW, Ledger, whole_seconds
from runner.autonomy.access.roles import MUTATIONS, Key
from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.core import Core
from runner.autonomy.params import TaskMutationParams
from runner.config.postures import Role
from runner.errors import RunnerError

_EVIDENCE_WINDOW = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Guard:
    """Judges every request of one control plane."""

    core: Core
    ledger: Ledger

    def admit(self, key: Key, params: Any) -> Any:
        """Return the parameters to run the command with.

        Raises:
            RefusedError: FEATURE_DISABLED or AUTHORIZATION.
        """
        policy = self.core.policy
        policy.check_command(key)
        policy.check_request(key, params)
        bounded = policy.standing is not None and policy.standing.role is not Role.MAINTAINER
        if bounded and key in MUTATIONS:
            return self._bind_to_step(" ".join(key), params)
        return params

    def judge_refusal(
        self, error: RunnerError, params: Mapping[str, Any], session_id: str | None = None
    ) -> tuple[RunnerError, bool]:
        """Return the error to answer with, and whether it repeats an earlier one.

        Ten refusals within a minute turn the next into RATE_LIMITED, over all processes.

        Args:
            session_id: of the session that the request came to, named in it or not.
        """
        if not isinstance(error, RefusedError):
            return error, False
        if error.code is ErrorCode.AUTHORIZATION:
            return self._limited(error), False
        if error.code is ErrorCode.INVALID_GATE_EVIDENCE:
            name = f"evidence {str(session_id or params.get('session_id'))[:64]}"
            repeated = self.ledger.note(name, window=_EVIDENCE_WINDOW, most=1) is not None
            return error, repeated
        return error, False

    def _limited(self, error: RefusedError) -> RefusedError:
        name = f"role {error.details.get('role')}"
        wait = self.ledger.note(name, window=REFUSAL_WINDOW, most=MOST_REFUSALS)
        if wait is None:
            return error
        seconds = whole_seconds(wait)
        return RefusedError(
            ErrorCode.RATE_LIMITED,
            f"{MOST_REFUSALS} calls were refused within a minute, and this one may not be made "
            "either.",
            hint=f"Wait {seconds} seconds. {error.hint}",
            details={**error.details, "retry_after": seconds, "limit": MOST_REFUSALS},
        )

    def _bind_to_step(self, action: str, params: TaskMutationParams) -> TaskMutationParams:
        """Let a change pass that a live, locked session judges by its proof; refuse any other.

        The session is named in the parameters, so that one that ends meanwhile ends the change.
        """
        session_id = self._locked_session()
        if session_id is None:
            self.core.policy.check_direct_change(action)
        if params.session_id is not None:
            return params
        return params.model_copy(update={"session_id": session_id})

    def _locked_session(self) -> str | None:
        spec, _ = self.core.read_spec()
        session_id = None if spec is None else self.core.live_session(spec.spec_id)
        if session_id is None:
            return None
        state = self.core.store.files.read(session_id)
        return session_id if state is not None and state.write_lock.enforced else None
