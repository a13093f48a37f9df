"""Open a workspace's control plane for a surface: the one place that reads its configuration."""

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

from runner.autonomy.access.callers import Policy, adapt_defaults
from runner.autonomy.access.postures import PROFILES
from runner.autonomy.service import ControlPlane, new_ulid, utc_now
from runner.autonomy.store.file_store import LOCK_SECONDS
from runner.config.feature_flags import resolve_flags
from runner.config.postures import Standing, Surface, resolve_standing
from runner.config.runner_file import RunnerFile, load_runner_file
from runner.credentials import Redactor


def open_control_plane(
    workspace: Path,
    *,
    surface: Surface,
    environ: Mapping[str, str],
    interactive: bool,
    file: RunnerFile | None = None,
    posture: str | None = None,
    clock: Callable[[], datetime] = utc_now,
    new_id: Callable[[str], str] = new_ulid,
    key_directory: Path | None = None,
    lock_seconds: float = LOCK_SECONDS,
    tree_of: Callable[[], str] | None = None,
) -> ControlPlane:
    """Return the control plane as `surface` may use it.

    Posture, role and feature flags come from the command line, the environment and
    `.runner/runner.toml`, in this order; what they warn about is in `ControlPlane.warnings`.

    Args:
        workspace: the project's folder.
        surface: who calls.
        environ: the environment; `CI` counts as unattended.
        interactive: whether there is a terminal.
        file: runner.toml, where it has been read already.
        posture: the value of `--posture`, if it was given.
        clock: as for ControlPlane.
        new_id: as for ControlPlane.
        key_directory: as for ControlPlane.
        lock_seconds: as for ControlPlane.
        tree_of: as for ControlPlane.

    Raises:
        ConfigError: runner.toml is wrong, or a posture or feature flag does not exist.
    """
    file = file or load_runner_file(workspace)
    standing = standing_of(
        file, surface=surface, environ=environ, interactive=interactive, posture=posture
    )
    flags = resolve_flags(file.feature_flags, environ)
    return ControlPlane(
        workspace,
        defaults=adapt_defaults(PROFILES[standing.posture].defaults, flags),
        common_verification=file.verification.commands,
        policy=Policy(standing, flags),
        clock=clock,
        new_id=new_id,
        key_directory=key_directory,
        lock_seconds=lock_seconds,
        redact=Redactor(environ).text,
        tree_of=tree_of,
    )


def standing_of(
    file: RunnerFile,
    *,
    surface: Surface,
    environ: Mapping[str, str],
    interactive: bool,
    posture: str | None = None,
) -> Standing:
    """Return the posture and role that `open_control_plane` would use."""
    return resolve_standing(
        environ=environ,
        surface=surface,
        interactive=interactive,
        profile=file.posture.profile,
        role=file.posture.role,
        chosen=posture,
    )
