"""What the control plane keeps outside the workspace, where an agent's sandbox can't write."""

from functools import cached_property
from pathlib import Path

from runner.autonomy.store.anchors import Anchors
from runner.autonomy.store.keyring import KeyRing
from runner.autonomy.store.sealing import Sealer
from runner.autonomy.store.secret import load_key


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

    def sealer(self, workspace: Path) -> Sealer:
        return Sealer(lambda: self.key, str(workspace.resolve()))

    def anchors(self, workspace: Path) -> Anchors:
        return Anchors(self.directory, str(workspace.resolve()))
