"""The options of a run, validated (seed 001 §7.1, CONTRACT §1)."""

from dataclasses import dataclass
from pathlib import Path

from runner.errors import ConfigError, PrerequisiteError

DEFAULT_THINKING_TOKENS = 8192
MIN_THINKING_TOKENS = 1024
SPEC_NAME = "SPEC.md"


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What the user asked for. Make it with `checked`, or trust its values yourself.

    Attributes:
        max_iterations: agent sessions at most, None for no limit.
        max_retries: failed sessions in a row that are tried again.
        thinking_tokens: thinking budget in tokens, None for off.
        max_cost_usd: US dollars for the whole run, None for no limit.
        max_session_cost_usd: US dollars for one agent session, None for no limit.
        session_timeout_minutes: bounds one agent session.
        wait_for_quota: whether usage limits are waited for.
        max_wait_hours: the longest wait for one usage limit.
    """

    max_iterations: int | None = None
    max_retries: int = 3
    model: str = "sonnet"
    plan_model: str = "opus"
    thinking_tokens: int | None = None
    max_cost_usd: float | None = None
    max_session_cost_usd: float | None = None
    session_timeout_minutes: float = 60.0
    wait_for_quota: bool = False
    max_wait_hours: float = 24.0
    allow_destructive: bool = False
    sandbox: bool = True
    sandbox_network: bool = True

    def checked(self) -> "RunOptions":
        """Return self.

        Raises:
            ConfigError: a value is out of range; the message is the one of seed 001 §7.1.
        """
        if self.thinking_tokens is not None and self.thinking_tokens < MIN_THINKING_TOKENS:
            raise ConfigError(
                f"Thinking budget must be at least {MIN_THINKING_TOKENS} tokens, "
                f"got {self.thinking_tokens}"
            )
        if self.max_iterations is not None and self.max_iterations <= 0:
            raise ConfigError(f"Max iterations must be positive, got {self.max_iterations}")
        if self.max_retries < 0:
            raise ConfigError(f"Max retries must be non-negative, got {self.max_retries}")
        for name, cost in (
            ("Max cost", self.max_cost_usd),
            ("Max session cost", self.max_session_cost_usd),
        ):
            # `not >` also refuses NaN, which no comparison would ever stop.
            if cost is not None and not 0 < cost < float("inf"):
                raise ConfigError(f"{name} must be a positive amount in US dollars, got {cost:g}")
        if not 0 < self.session_timeout_minutes < float("inf"):
            raise ConfigError(
                f"Session timeout must be a positive number of minutes, "
                f"got {self.session_timeout_minutes:g}"
            )
        if not 0 < self.max_wait_hours < float("inf"):
            raise ConfigError(
                f"Max wait must be a positive number of hours, got {self.max_wait_hours:g}"
            )
        for name, model in (("Model", self.model), ("Plan model", self.plan_model)):
            if not model.strip():
                raise ConfigError(f"{name} must not be empty; give a name such as sonnet")
        return self


def resolve_project(project_dir: Path | None) -> Path:
    """Return the absolute project directory (seed 001 §7.2.2).

    Raises:
        PrerequisiteError: it is not a directory.
    """
    try:
        # Without a home, or round a loop of links, these raise RuntimeError.
        path = (project_dir or Path()).expanduser().resolve()
        found = path.is_dir()
    except (OSError, RuntimeError) as error:
        raise PrerequisiteError(
            f"Project directory {project_dir or Path()} can't be used: {error}.",
            hint="Give an existing directory with --project-dir.",
        ) from error
    if not found:
        raise PrerequisiteError(
            f"Project directory not found: {path}.",
            hint="Give an existing directory with --project-dir, or create it first.",
        )
    return path


def require_spec(project_dir: Path) -> Path:
    """Return the path of SPEC.md (seed 001 §7.1.2).

    Raises:
        PrerequisiteError: it is missing, empty or unreadable.
    """
    spec = project_dir / SPEC_NAME
    if not spec.is_file():
        raise PrerequisiteError(
            f"{SPEC_NAME} not found in {project_dir}.",
            hint="Write one there (SPEC.example.md shows the form), or name another folder "
            "with --project-dir.",
        )
    try:
        empty = not spec.read_text(encoding="utf-8", errors="replace").strip()
    except OSError as error:
        raise PrerequisiteError(
            f"{spec} can't be read: {error.strerror}.", hint="Check its permissions."
        ) from error
    if empty:
        raise PrerequisiteError(
            f"{spec} is empty.", hint="Describe what is to be built (see SPEC.example.md)."
        )
    return spec
