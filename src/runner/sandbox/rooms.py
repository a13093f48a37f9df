"""The mounts of a clean room: which folders lie over the real ones, and what their layers are.

Nothing here is kept from one tree to another. What commands write, in the project or in the home
folder with its caches, goes to a layer that is thrown away.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from runner.sandbox.scratch import Scratch

OBJECTS_IN_THE_BOX = Path("/run/runner-git-objects")
"""Where the objects of the project's repository are seen, read-only."""


@dataclass(frozen=True, slots=True)
class RoomLayer:
    """One folder of a room.

    Attributes:
        target: what it lies over, and its path inside.
        sources: what it shows, the last one above those before; an overlay leaves them unchanged.
        upper: takes what is written; None where the last source takes it.
    """

    target: Path
    sources: tuple[Path, ...]
    upper: Path | None = None

    def words(self) -> tuple[str, ...]:
        """Return the arguments of bubblewrap that mount it."""
        if self.upper is None:
            return ("--bind", str(self.sources[-1]), str(self.target))
        below = (word for source in self.sources for word in ("--overlay-src", str(source)))
        work = self.upper.with_name("work")
        return (*below, "--overlay", str(self.upper), str(work), str(self.target))


@dataclass(frozen=True, slots=True)
class RoomMounts:
    """All mounts of a room.

    Attributes:
        scratch: the room's own temporary folders.
        objects: the objects of the project's repository, None without one.
        hidden: what agents keep in the user's home folder.
        variables: set for its commands.
    """

    scratch: Scratch
    layers: tuple[RoomLayer, ...]
    objects: Path | None = None
    hidden: Path | None = None
    variables: Mapping[str, str] = field(default_factory=dict)

    def layers_of(self, target: Path) -> tuple[RoomLayer, ...]:
        """Return the layers over a folder."""
        return tuple(layer for layer in self.layers if layer.target == target)
