"""Look after read-only sessions: take the note out, and prove that nothing else changed."""

import os
from collections.abc import Callable
from pathlib import Path

from runner.checkpoints.readonly_proof import Manifest, compare, tree_manifest
from runner.credentials import Redactor
from runner.errors import IntegrityError
from runner.sandbox.overlay import collect_note
from runner.sandbox.status import Containment

_NAMED = 10

READ_ONLY_ENVIRONMENT = {
    "PYTHONDONTWRITEBYTECODE": "1",
    "RUFF_NO_CACHE": "true",
    "MYPY_CACHE_DIR": "/dev/null",
    "npm_config_update_notifier": "false",
    "GOFLAGS": "-mod=readonly",
    "CARGO_INCREMENTAL": "0",
}
"""Keeps tools from writing caches into a project that is only looked at."""


def read_only_environment(inherited: str | None) -> dict[str, str]:
    """Return the variables for read-only sessions.

    Args:
        inherited: the user's PYTEST_ADDOPTS, which are kept.
    """
    pytest_options = f"{inherited or ''} -p no:cacheprovider".strip()
    return {**READ_ONLY_ENVIRONMENT, "PYTEST_ADDOPTS": pytest_options}


class UnchangedProject:
    """Proves that a project is as it was when this was made.

    Args:
        project: absolute path; its content is read once now.
        consequence: what a change means, for the message.
    """

    def __init__(self, project: Path, consequence: str) -> None:
        self._project = project
        self._consequence = consequence
        self._before: Manifest = tree_manifest(project)

    def check(self) -> None:
        """Compare the project with what it was.

        Raises:
            IntegrityError: it changed; names the files and says how to get back.
        """
        changed = compare(self._before, tree_manifest(self._project, self._before))
        if changed:
            raise _changed(changed, self._consequence)


class ReadOnlyWatch:
    """Watches a project over the read-only sessions of one sync.

    Args:
        project: absolute path; its content is read once now.
        containment: names the overlays of the sessions.
        redact: takes credentials out of a note; what this environment holds where None.
    """

    def __init__(
        self, project: Path, containment: Containment, redact: Callable[[str], str] | None = None
    ) -> None:
        self._containment = containment
        self._redact = Redactor(os.environ).text if redact is None else redact
        self._collected = 0
        self._unchanged = UnchangedProject(
            project, "No deliverable is verified by a session that changed something."
        )

    def after_session(self) -> None:
        """Take out the note of the session that just ended, and compare the tree.

        Raises:
            IntegrityError: the project changed; names the files and says how to get back.
            StateWriteError: the note could not be written.
        """
        for overlay in self._containment.overlays[self._collected :]:
            collect_note(overlay, self._redact)
        self._collected = len(self._containment.overlays)
        self._unchanged.check()


class ReviewWatch:
    """Watches a project over one review. A review leaves nothing behind, its note neither.

    Args:
        project: absolute path; its content is read once now.
    """

    def __init__(self, project: Path) -> None:
        self._unchanged = UnchangedProject(
            project, "The verdict of a review that changed something does not count."
        )

    def after_session(self) -> None:
        """Compare the tree. Raises IntegrityError when the project changed."""
        self._unchanged.check()


def _changed(paths: tuple[str, ...], consequence: str) -> IntegrityError:
    named = ", ".join(paths[:_NAMED])
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return IntegrityError(
        f"The project changed during a read-only session: {named}{more}.",
        hint="If it was you who changed it, run again. If not: look at `git status` and "
        "`git diff`, and go back with `git restore -- FILE` (new files: `git clean -n` shows "
        f"them). {consequence}",
    )
