"""Every error that runner raises on purpose.

RunnerError
├── UsageError                 the caller asked for something that can't be done
│   ├── PrerequisiteError      something a command needs is not there
│   ├── ConfigError            a configuration file or value is wrong
│   └── ScriptError            a scripted-model file is wrong
├── StateError                 state on disk can't be used as it is
│   ├── StateCorruptError      a file is damaged or not ours
│   └── StateWriteError        state could not be written; the old state stands
├── LockTimeoutError           another process holds a lock
├── DeliverableError           a change to the deliverables is refused
├── AgentStartError            the agent could not be started at all
└── IntegrityError             something changed that nobody was allowed to change
"""


class RunnerError(Exception):
    """Base of all deliberate errors.

    Args:
        message: one sentence that says what happened.
        hint: one sentence that says what to do next, where there is something to do.
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}" if self.hint else self.message


class UsageError(RunnerError):
    """The caller asked for something that can't be done."""


class PrerequisiteError(UsageError):
    """Something that a command needs is not there."""


class ConfigError(UsageError):
    """A configuration file or value is wrong."""


class StateError(RunnerError):
    """State on disk can't be used as it is."""


class StateCorruptError(StateError):
    """A state file is damaged or was not written by runner. It is left untouched."""


class StateWriteError(StateError):
    """State could not be written. What was there before still stands."""


class LockTimeoutError(RunnerError):
    """Another process holds a lock for longer than we wait. Nothing was changed."""


class DeliverableError(RunnerError):
    """A change to the deliverables is refused. Nothing was changed."""


class AgentStartError(RunnerError):
    """The agent process could not be started or did not answer."""


class ScriptError(UsageError):
    """A scripted-model file is wrong."""


class IntegrityError(RunnerError):
    """Something changed that nobody was allowed to change."""
