"""Where the control plane keeps its files (CONTRACT §4), and which ids may name one."""

import hashlib
import os
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from platformdirs import user_state_path

from runner.autonomy.codes import ErrorCode, RefusedError

_SESSION_ID = re.compile(r"auto_[0-7][0-9A-HJKMNP-TV-Z]{25}")
_SPEC_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_APP = "runner"
STATE_DIR_VARIABLE = "AUTORUNNER_STATE_DIR"


def user_state_directory() -> Path:
    """Return the folder of what belongs to the user and not to a project.

    `AUTORUNNER_STATE_DIR` names another one, for users whose home can't be written.
    """
    chosen = os.environ.get(STATE_DIR_VARIABLE)
    return Path(chosen).expanduser().absolute() if chosen else user_state_path(_APP)


def workspace_directory(base: Path, workspace: Path) -> Path:
    """Return the folder below `base` for what belongs to a workspace but does not stand in it."""
    name = hashlib.sha256(os.fsencode(workspace.resolve())).hexdigest()[:24]
    return base / "workspaces" / name


def is_session_id(text: str) -> bool:
    return _SESSION_ID.fullmatch(text) is not None


def check_session_id(session_id: str) -> str:
    """Return the id when it may name a file. Raises RefusedError otherwise."""
    if is_session_id(session_id):
        return session_id
    raise RefusedError(
        ErrorCode.VALIDATION_ERROR,
        "This is no session id.",
        hint="Session ids look like auto_01J…; see runner session list.",
        details={"field": "session_id"},
    )


def check_spec_id(spec_id: str) -> str:
    """Return the id when it may name a file. Raises RefusedError otherwise."""
    if _SPEC_ID.fullmatch(spec_id):
        return spec_id
    raise RefusedError(
        ErrorCode.VALIDATION_ERROR,
        "A spec id is letters, digits, dots, hyphens and underscores.",
        details={"field": "spec_id"},
    )


@dataclass(frozen=True)
class Layout:
    """The files of one workspace; `root` is its `autonomy` folder."""

    root: Path

    @classmethod
    def of(cls, workspace: Path) -> "Layout":
        """Return the layout for a workspace.

        State stands in the project where it can be, and stays where it is: only a project that
        never held any and can't be written uses the user's state folder.
        """
        inside = workspace / ".runner" / "autonomy"
        if inside.exists() or _can_write(workspace):
            return cls(inside)
        return cls(workspace_directory(user_state_directory(), workspace) / "autonomy")

    @property
    def folders(self) -> tuple[Path, ...]:
        """Every folder that the control plane writes in."""
        inner = (self.sessions, self.locks, self.journals, self.index.parent)
        return (self.root, *inner, self.root / "reviews", self.root / "receipts")

    @cached_property
    def sessions(self) -> Path:
        return self.root / "sessions"

    @cached_property
    def locks(self) -> Path:
        return self.root / "locks"

    @cached_property
    def journals(self) -> Path:
        return self.root / "journal"

    @cached_property
    def index(self) -> Path:
        return self.root / "index" / "spec_active_index.json"

    def session(self, session_id: str) -> Path:
        return self.sessions / f"{check_session_id(session_id)}.json"

    def journal(self, session_id: str) -> Path:
        return self.journals / f"{check_session_id(session_id)}.jsonl"

    def session_lock(self, session_id: str) -> Path:
        return self.locks / f"session_{check_session_id(session_id)}.lock"

    def spec_lock(self, spec_id: str) -> Path:
        return self.locks / f"spec_{check_spec_id(spec_id)}.lock"

    @property
    def index_lock(self) -> Path:
        return self.locks / "index.lock"


def has_sessions(workspace: Path) -> bool:
    """Say whether a workspace has session files, without the cost of opening its store."""
    return any(Layout.of(workspace).sessions.glob("auto_*.json"))


def _can_write(workspace: Path) -> bool:
    folder = workspace / ".runner"
    return os.access(folder if folder.exists() else workspace, os.W_OK | os.X_OK)
