"""Callers as the surfaces make them: with posture, role and flags."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.autonomy.plane import Client, Clock

from runner.autonomy.assembly import open_control_plane
from runner.config.postures import Surface


class Caller(Client):
    """A client whose control plane was opened for a surface."""

    def __init__(
        self,
        workspace: Path,
        posture: str | None = None,
        role: str | None = None,
        *,
        surface: Surface = "cli",
        clock: Clock | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(workspace, clock)
        named = {"AUTORUNNER_POSTURE": posture, "AUTORUNNER_ROLE": role}
        self.plane = open_control_plane(
            workspace,
            surface=surface,
            environ={**{k: v for k, v in named.items() if v}, **(environ or {})},
            interactive=True,
            clock=self.clock,
            key_directory=workspace.parent / "key",
        )

    def details(self, group: str, command: str, **params: Any) -> dict[str, Any]:
        """Return the details of the refusal that the command must meet."""
        envelope = self.call(group, command, **params)
        assert not envelope["success"], envelope
        found: dict[str, Any] = envelope["data"]["details"]
        return found


def write_configuration(workspace: Path, text: str) -> None:
    (workspace / ".runner" / "runner.toml").write_text(text, encoding="utf-8")


def flag(name: str, value: str = "off") -> dict[str, str]:
    """Return the variable that sets a feature flag."""
    return {f"AUTORUNNER_FEATURE_{name.upper()}": value}
