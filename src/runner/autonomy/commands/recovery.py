"""What to do with a session that can't go on: make it anew, or remove it."""

from dataclasses import replace

from runner.autonomy.calls import require_time
from runner.autonomy.codes import RefusedError
from runner.autonomy.core import (
    CommandAnswer,
    Core,
    Held,
    failure_reason,
    not_found,
    unrecoverable,
)
from runner.autonomy.engine.lifecycle import require_status
from runner.autonomy.engine.starting import start_session
from runner.autonomy.enums import EntryType, SessionStatus
from runner.autonomy.migrations import MigrationError
from runner.autonomy.models import JournalEntry
from runner.autonomy.params import ResetParams
from runner.autonomy.signals import error_signal
from runner.autonomy.spec.structure import Spec
from runner.autonomy.views import failed_view
from runner.errors import RunnerError, StateCorruptError
from runner.text import messages as wording


class Recovery:
    """The ways out when a session has failed for good."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def reset(self, params: ResetParams) -> CommandAnswer:
        """Delete a failed session; the deliverables keep their status."""
        session_id, store = params.session_id, self._core.store
        if not store.exists(session_id):
            raise not_found(session_id)
        with store.session_lock(session_id):
            require_time()
            spec_id = self._require_failed(session_id)
            warnings = self._note_reset(session_id, spec_id, params.reason)
            store.remove(session_id, spec_id)
        data = {
            "session_id": session_id,
            "spec_id": spec_id,
            "reset": True,
            "reason": params.reason,
        }
        return CommandAnswer(data, warnings)

    def show(self, session_id: str, error: StateCorruptError | MigrationError) -> CommandAnswer:
        """Answer `session status` for a session that can't be used: it has failed, and why."""
        refusal, reason = unrecoverable(session_id, error), failure_reason(error)
        data = failed_view(session_id, self._core.store.owner_of(session_id), reason, error.message)
        data["details"] |= {"error_code": refusal.code, "remediation": refusal.hint}
        data["session_signal"] = error_signal(refusal.code)
        return CommandAnswer(data)

    def remake(self, session_id: str, error: RefusedError) -> tuple[Held, Spec]:
        """Make a damaged session anew from the spec, with the defaults of `start`.

        What it had reviewed is reviewed again. Only for what `is_damaged` says yes to.
        """
        spec, _ = self._core.read_spec(fresh=True)
        if spec is None or self._core.store.owner_of(session_id) != spec.spec_id:
            raise error
        with self._core.store.session_lock(session_id):
            if self._is_readable(session_id):
                raise error  # somebody else has just made it anew
            left = self._core.store.remains_of(session_id)
            made = start_session(
                spec,
                self._core.defaults,
                self._core.env(),
                session_id=session_id,
                after=left.head.seq,
            )
            # It goes on after the last known version, so that no copy of the damaged one is ever
            # taken for the later of the two.
            version = made.state.state_version + left.version
            following = made.state.evolve(journal_head=left.head, state_version=version)
            made = replace(made, state=following)
            held = Held(made.state)
            self._core.commit(held, made)
        return held, spec

    def _is_readable(self, session_id: str) -> bool:
        try:
            return self._core.store.read(session_id) is not None
        except (StateCorruptError, MigrationError):
            return False

    def _require_failed(self, session_id: str) -> str | None:
        try:
            loaded = self._core.store.load(session_id)
        except (StateCorruptError, MigrationError):
            return self._core.store.owner_of(session_id)
        if loaded is None:
            raise not_found(session_id)
        require_status(loaded.state, "reset", SessionStatus.FAILED)
        return loaded.state.spec_id

    def _note_reset(
        self, session_id: str, spec_id: str | None, reason: str | None
    ) -> tuple[str, ...]:
        try:
            entry = JournalEntry(
                seq=1,  # the store gives the number
                at=self._core.clock(),
                session_id=session_id,
                spec_id=spec_id or "unknown",
                entry_type=EntryType.SESSION,
                title="Session reset",
                content=f"Session {session_id} reset. Reason: {reason or 'not provided'}",
                data={"reason": reason},
            )
            self._core.store.add_entry(entry)
        except (RunnerError, OSError) as error:
            return (f"The reset could not be written to the journal: {wording.reason(error)}.",)
        return ()
