"""The control plane's feature flags: one registry, and where a value comes from (seed 000; seed 003 WS2)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from runner.config.environment import FEATURE_PREFIX
from runner.config.kinds import FLAG
from runner.config.names import suggestion
from runner.errors import ConfigError

FLAGS_TABLE = "feature_flags"


@dataclass(frozen=True, slots=True)
class FeatureFlag:
    """A feature that an operator can switch off.

    Attributes:
        description: one line.
        needs: the flags without which this one has no effect.
    """

    name: str
    description: str
    default: bool = True
    needs: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        """The name in the environment."""
        return FEATURE_PREFIX + self.name.upper()


_SESSIONS = "autonomy_sessions"
_STEP = "autonomy_session_step"
_GATES = "autonomy_fidelity_gates"
_PROOFS = "autonomy_step_proofs"

FEATURE_FLAGS: Mapping[str, FeatureFlag] = {
    flag.name: flag
    for flag in (
        FeatureFlag(_SESSIONS, "Autonomous sessions, their lifecycle and their journal."),
        FeatureFlag(_STEP, "Steps: next, report, replay and heartbeat.", needs=(_SESSIONS,)),
        FeatureFlag("autonomy_resume", "Resume a session that rests.", needs=(_SESSIONS,)),
        FeatureFlag("autonomy_rebase", "Rebase onto an edited spec.", needs=(_SESSIONS,)),
        FeatureFlag(_GATES, "Fidelity reviews that gate every phase.", needs=(_SESSIONS,)),
        FeatureFlag(
            "autonomy_auto_gate_retry", "Mend a failed review and retry unasked.", needs=(_GATES,)
        ),
        FeatureFlag(
            "autonomy_write_lock",
            "A live session locks the deliverables' status.",
            needs=(_SESSIONS, _PROOFS),
        ),
        FeatureFlag(
            _PROOFS, "Single-use proofs of the step that a change is made for.", needs=(_SESSIONS,)
        ),
        FeatureFlag(
            "autonomy_context_heartbeat", "Heartbeats with the context's use.", needs=(_STEP,)
        ),
        FeatureFlag(
            "autonomy_signed_gate_evidence",
            "Gate evidence is signed with a key id.",
            default=False,
            needs=(_GATES,),
        ),
    )
}
"""Each flag by its name."""


@dataclass(frozen=True, slots=True)
class FlagSetting:
    """A flag's value and its origin: the variable's name, `runner.toml` or `default`."""

    value: bool
    origin: str


def _defaults() -> Mapping[str, FlagSetting]:
    return {f.name: FlagSetting(f.default, "default") for f in FEATURE_FLAGS.values()}


@dataclass(frozen=True, slots=True)
class FeatureFlags:
    """What is switched on. `settings` holds every flag of the registry."""

    settings: Mapping[str, FlagSetting] = field(default_factory=_defaults)

    def is_on(self, name: str) -> bool:
        """Say whether the feature works now: its flag is on, and so are those that it needs."""
        return self.first_off(name) is None

    def first_off(self, *names: str) -> str | None:
        """Return the first flag that keeps these features from working, None when they work."""
        for name in names:
            off = self.first_off(*FEATURE_FLAGS[name].needs)
            if off is not None or not self.settings[name].value:
                return off or name
        return None

    def warnings(self) -> tuple[str, ...]:
        """Say which flags are on without effect, since one that they need is off."""
        return tuple(
            f"The feature flag {name} is off, so {_listed(idle)} no effect although switched on."
            for name, setting in self.settings.items()
            if not setting.value and (idle := self._idle_without(name))
        )

    def _idle_without(self, name: str) -> list[str]:
        return [
            flag.name
            for flag in FEATURE_FLAGS.values()
            if name in flag.needs and self.settings[flag.name].value
        ]


def resolve_flags(written: Mapping[str, bool], environ: Mapping[str, str]) -> FeatureFlags:
    """Return the flags: environment before runner.toml before default.

    Args:
        written: `[feature_flags]` of runner.toml.
        environ: `AUTORUNNER_FEATURE_<NAME>`; an empty variable says nothing.

    Raises:
        ConfigError: a name is no flag, with the nearest one; or a value is neither true nor
            false.
    """
    settings = dict(_defaults())
    for name, value in written.items():
        if name not in FEATURE_FLAGS:
            raise ConfigError(f"There is no feature flag {name!r}.", hint=flag_hint(name))
        settings[name] = FlagSetting(value, "runner.toml")
    settings.update(_from_environment(environ))
    return FeatureFlags(MappingProxyType(settings))


def flag_hint(name: str) -> str:
    """Return the hint for a name that is no flag."""
    return suggestion(name, FEATURE_FLAGS, "Feature flags")


def _from_environment(environ: Mapping[str, str]) -> dict[str, FlagSetting]:
    variables = {flag.variable: flag for flag in FEATURE_FLAGS.values()}
    found: dict[str, FlagSetting] = {}
    for variable, text in environ.items():
        if not variable.startswith(FEATURE_PREFIX) or not text:
            continue
        if variable not in variables:
            hint = suggestion(variable, variables, "Variables of feature flags")
            raise ConfigError(f"There is no feature flag for {variable}.", hint=hint)
        try:
            value = FLAG.from_text(text)
        except ValueError as error:
            message = f"{variable} must be {FLAG.expects}, got {text[:80]!r}."
            raise ConfigError(message) from error
        found[variables[variable].name] = FlagSetting(value, variable)
    return found


def _listed(names: Iterable[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last} have" if others else f"{last} has"
