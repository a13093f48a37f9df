"""What the control plane keeps outside the workspace, where an agent's sandbox can't write."""

from functools import cached_property
from pathlib import Path

from runner.autonomy.store.anchors import Anchors
from runner.autonomy.store.keyring import KeyRing
from runner.autonomy.store.layout import STATE_DIR_VARIABLE
from runner.autonomy.store.sealing import Sealer
from runner.autonomy.store.secret import load_key
from runner.errors import PrerequisiteError, StateWriteError

STATE_DIR_HINT = (
    f"Set {STATE_DIR_VARIABLE} to a folder outside the project that you can write, and that is "
    "kept from run to run."
)


class Trust:
    """The local secret, and what is made with it or kept beside it.

    Args:
        directory: the user's state folder.

    Attributes:
        keys: what signs gate evidence; `keys.rotate(now)` replaces the signing key.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.keys = KeyRing(directory)

    @cached_property
    def key(self) -> bytes:
        """The local secret, made when there is none. Raises StateError."""
        return load_key(self.directory)

    def require_usable(self, workspace: Path) -> None:
        """Check that the secret is there or can be made, and that the project does not hold it.

        Raises:
            PrerequisiteError: it can't be made, or agents of the project could reach it.
            StateError: it can't be read.
        """
        inside = workspace.resolve()
        if self.directory.resolve().is_relative_to(inside):
            raise PrerequisiteError(
                f"The state folder {self.directory} is inside the project, where agents can write.",
                hint=STATE_DIR_HINT,
            )
        try:
            _ = self.key
        except StateWriteError as error:
            raise PrerequisiteError(error.message, hint=STATE_DIR_HINT) from error

    def sealer(self, workspace: Path) -> Sealer:
        return Sealer(lambda: self.key, str(workspace.resolve()))

    def anchors(self, workspace: Path) -> Anchors:
        return Anchors(self.directory, str(workspace.resolve()))
