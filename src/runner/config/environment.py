"""The variables `AUTORUNNER_*`: which of them mean nothing."""

from collections.abc import Mapping

from runner.config.names import suggestion
from runner.config.options import ALL_OPTIONS, ENVIRONMENT_PREFIX

FEATURE_PREFIX = f"{ENVIRONMENT_PREFIX}FEATURE_"

OTHER_VARIABLES = (
    "AUTORUNNER_METRICS_FILE",
    "AUTORUNNER_NO_SANDBOX",
    "AUTORUNNER_POSTURE",
    "AUTORUNNER_ROLE",
    "AUTORUNNER_STATE_DIR",
)
"""What is read from the environment besides the options."""


def unknown_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of ours that nothing reads, each with a hint what was meant."""
    known = [*(option.variable for option in ALL_OPTIONS), *OTHER_VARIABLES]
    return {
        name: suggestion(name, known, "Known variables")
        for name in sorted(environ)
        if name.startswith(ENVIRONMENT_PREFIX)
        and not name.startswith(FEATURE_PREFIX)
        and name not in known
    }
