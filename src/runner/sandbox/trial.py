"""Try out, quickly, what a bubblewrap program can do on this machine."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from runner.sandbox.binary import OVERLAY_SINCE
from runner.sandbox.box import BoxSettings, box_command
from runner.sandbox.status import new_overlay, new_state

_PROBE_SECONDS = 10.0
_PROBE_NAME = ".runner-probe"
_WRITE = f': > "$1/{_PROBE_NAME}"'


class OverlayTrial:
    """Tries, while the caller tries something else, whether overlays work here."""

    def __init__(self, around: BoxSettings, account_file: Path) -> None:
        self._label = around.bubblewrap.label
        self._process: subprocess.Popen[str] | None = None
        if around.bubblewrap.version >= OVERLAY_SINCE:
            folder = around.scratch.new_folder()
            self._overlay = new_overlay(around.project, folder)
            box = box_command(around, new_state(around, folder, account_file), self._overlay)
            self._process = start([*box, "/bin/sh", "-c", _WRITE, "sh", str(around.project)])

    def problem(self) -> str | None:
        """Return why read-only sessions can't work on a throw-away copy; None when they can."""
        if self._process is None:
            return f"{self._label} has no overlays; the project is mounted read-only"
        code, said = finish(self._process)
        if code or not (self._overlay.upper / _PROBE_NAME).exists():
            return f"overlays don't work here ({said}); the project is mounted read-only"
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None and self._process.returncode is None:
            finish(self._process)


def start(command: Sequence[str]) -> "subprocess.Popen[str]":
    """Start a command that says nothing but what went wrong."""
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )


def finish(process: "subprocess.Popen[str]") -> tuple[int, str]:
    """Return the exit status, and the last line of what was said about it."""
    with process:
        try:
            _, stderr = process.communicate(timeout=_PROBE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            return -1, f"it did not answer within {_PROBE_SECONDS:g} s"
    lines = stderr.strip().splitlines()
    return process.returncode, lines[-1].removeprefix("bwrap: ") if lines else ""
