"""next, report, replay and heartbeat (seed 000 «session-step»)."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.core import CommandAnswer, Core, Held
from runner.autonomy.engine.lifecycle import Heartbeat, beat
from runner.autonomy.engine.recording import receipt_text
from runner.autonomy.engine.replaying import is_repeated, repeated_answer
from runner.autonomy.engine.stepping import next_step, record_report
from runner.autonomy.engine.steps import warning_of_change
from runner.autonomy.engine.transition import Transition
from runner.autonomy.enums import StepType
from runner.autonomy.inputs import StepReport
from runner.autonomy.models import SessionState
from runner.autonomy.params import HeartbeatParams, NextParams, ReportParams, SessionParams
from runner.autonomy.tokens import step_proof_token


class HotPath:
    """The commands between which a caller works."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def next(self, params: NextParams) -> CommandAnswer:
        """Record the report, if there is one, and issue the next step."""
        report = params.last_step_result
        step_id = report.step_id if report is not None else None
        with self._driven(params, step_id) as held:
            if is_repeated(held.state, report, self._core.env(held.state).now):
                stored = repeated_answer(held.state, "next")
                if stored is not None:
                    return self._answer(held, stored.data)
                report = None
            transition = self._advance(held.state, report)
            self._keep_receipt(held.state, report)
            self._core.commit(held, transition)
            return self._answer(held, transition.data)

    def report(self, params: ReportParams) -> CommandAnswer:
        """Record the report and leave the next step to `next`."""
        report = params.last_step_result
        with self._driven(params, report.step_id) as held:
            if is_repeated(held.state, report, self._core.env(held.state).now):
                stored = repeated_answer(held.state, "report")
                if stored is not None:
                    return self._answer(held, stored.data)
            spec, _ = self._core.read_spec(held.state.spec_id)
            env = self._core.env(held.state, look_at_tree=_needs_tree(report))
            transition = record_report(held.state, spec, report, env)
            self._keep_receipt(held.state, report)
            self._core.commit(held, transition)
            return self._answer(held, transition.data)

    def replay(self, params: SessionParams) -> CommandAnswer:
        """Give the last answer again, unchanged."""
        with self._driven(params) as held:
            if held.state.last_response is None:
                raise RefusedError(
                    ErrorCode.INVALID_STATE_TRANSITION,
                    "Nothing was answered yet.",
                    hint="Ask for the first step: runner step next.",
                )
            return self._answer(held, held.state.last_response.data)

    def heartbeat(self, params: HeartbeatParams) -> CommandAnswer:
        """Note a sign of life and the use of the agent's context.

        Raises:
            RefusedError: HEARTBEAT_STALE, after the session was paused for it.
        """
        sign = Heartbeat(
            context_usage_pct=params.context_usage_pct,
            estimated_tokens_used=params.estimated_tokens_used,
            consecutive_error_delta=params.consecutive_error_delta,
        )
        with self._core.hold(params) as held:
            transition = beat(held.state, sign, self._core.env(held.state))
            self._core.commit(held, transition)
            if transition.refusal is not None:
                raise transition.refusal
            return self._answer(held, transition.data)

    @contextmanager
    def _driven(self, params: SessionParams, step_id: str | None = None) -> Iterator[Held]:
        """Hold the session to drive it on, which the caller's posture must allow.

        Its strength is asked about at a start and a resume; but one that never rested was perhaps
        started under a posture that is content with less.
        """
        with self._core.hold(params, step_id=step_id) as held:
            if not held.state.status.is_terminal:
                self._core.policy.check_session(held.state)
            yield held

    def _advance(self, state: SessionState, report: StepReport | None) -> Transition:
        """Decide; when a phase is left, decide again on a spec that was read for it."""
        env = self._core.env(state, look_at_tree=_needs_tree(report))
        spec, problem = self._core.read_spec(state.spec_id)
        transition = next_step(state, spec, report, env, spec_problem=problem)
        if not transition.crossed:
            return transition
        spec, problem = self._core.read_spec(state.spec_id, fresh=True)
        if not env.tree_seen:
            env = self._core.env(look_at_tree=True)
        return next_step(state, spec, report, env, spec_problem=problem)

    def _keep_receipt(self, state: SessionState, report: StepReport | None) -> None:
        """Keep an accepted receipt before the session refers to it."""
        if report is not None and report.verification_receipt is not None:
            self._core.store.write_receipt(
                state.id, report.step_id, receipt_text(report.verification_receipt)
            )

    def _answer(self, held: Held, data: dict[str, Any]) -> CommandAnswer:
        change = (data["next_step"] or {}).get("commands_changed")
        warnings = (*held.warnings, *(() if change is None else (warning_of_change(change),)))
        return CommandAnswer(self._with_token(held.state, data), warnings)

    def _with_token(self, state: SessionState, data: dict[str, Any]) -> dict[str, Any]:
        """Put the step's token into the answer; it is stored nowhere."""
        step = data["next_step"]
        if not step or not step["step_proof_expires_at"]:
            return data
        token = step_proof_token(
            self._core.key(),
            session_id=state.id,
            spec_id=state.spec_id,
            step_id=step["step_id"],
            expires_at=datetime.fromisoformat(step["step_proof_expires_at"]),
        )
        return {**data, "next_step": {**step, "step_proof_token": token}}


def _needs_tree(report: StepReport | None) -> bool:
    """Whether a report says something about the work tree as it is."""
    return report is not None and report.step_type is StepType.EXECUTE_VERIFICATION
