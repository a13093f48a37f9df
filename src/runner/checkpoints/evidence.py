"""What a review compares: the project's tree, and a manifest of what no tree holds."""

import os
from collections.abc import Iterable
from dataclasses import dataclass

from runner.checkpoints.isolated_git import ShadowGit
from runner.checkpoints.ledger import CheckpointLedger
from runner.checkpoints.references import with_references
from runner.checkpoints.sealing import write_blob
from runner.checkpoints.snapshot import Snapshot, take_snapshot
from runner.checkpoints.unversioned import Manifest, scan
from runner.files import read_regular, write_atomic

_MAX_MANIFEST_BYTES = 1024**3


@dataclass(frozen=True, slots=True)
class TreeEvidence:
    """A project at one moment.

    Attributes:
        manifest: what stood beside the tree; None where nobody asked for it.
        manifest_id: the object that holds it; "" likewise.
    """

    snapshot: Snapshot
    manifest: Manifest | None = None
    manifest_id: str = ""


def take_evidence(
    git: ShadowGit, ledger: CheckpointLedger, *, also: Iterable[bytes] = ()
) -> TreeEvidence:
    """Write down the project as it is, nested repositories included.

    Args:
        also: paths to take into the tree where they exist, ignored or not.

    Raises:
        GitError: it could not be done.
    """
    snapshot = take_snapshot(git, ledger.index, also=also, into_nested=True)
    root = os.fsencode(git.repository.project)
    files = scan(root, snapshot.paths, _last_seen(ledger))
    manifest = with_references(files, git.repository)
    encoded = manifest.encode()
    write_atomic(ledger.seen, encoded)
    return TreeEvidence(snapshot, manifest, write_blob(git, encoded))


def _last_seen(ledger: CheckpointLedger) -> Manifest:
    try:
        return Manifest.decode(read_regular(ledger.seen, limit=_MAX_MANIFEST_BYTES))
    except (OSError, ValueError):
        return Manifest({})
