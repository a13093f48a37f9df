"""Under which conditions verification commands ran: in a clean room or in place, after which setup.

Kept beside the receipt, where agents can't write, and shown to those who mend and those who review.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from runner.files import read_regular
from runner.text.messages import plural
from runner.text.safe import end_of, fenced, inline, name

FILE = "conditions.json"
NO_ROOM = 125
"""Exit code of a command that was not run, because its surroundings could not be made."""

_MAX_BYTES = 1024 * 1024
_LISTED = 20
_KEPT = 200
_SETUP_CHARACTERS = 2000


@dataclass(frozen=True, slots=True)
class SetupResult:
    """What one setup command gave.

    Attributes:
        origin: the file that called for it, or `runner.toml`.
        output: the end of what it printed, as harmless text.
    """

    command: str
    origin: str
    exit_code: int
    output: str = ""


@dataclass(frozen=True, slots=True)
class Conditions:
    """Where the commands ran.

    Attributes:
        clean: False when they ran in the project's own folder.
        remark: why not in a clean room, or what is weaker about this one; "" for nothing.
        setup: the setup commands that ran, in order.
        changed: files of the tree that setup or commands changed.
        ignored: what is ignored by git and was not there; folders end with a slash.
        nested: repositories inside of the project, which were not there.
        seconds: what it took to make the room, without the setup.
    """

    clean: bool
    remark: str = ""
    setup: tuple[SetupResult, ...] = ()
    changed: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    nested: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def failed_setup(self) -> tuple[SetupResult, ...]:
        """The setup commands that did not end with 0."""
        return tuple(result for result in self.setup if result.exit_code != 0)

    def as_json(self) -> str:
        """Return what is kept; long lists are cut."""
        document = asdict(self)
        for key in ("changed", "ignored", "nested"):
            document[f"{key}_count"] = len(document[key])
            document[key] = document[key][:_KEPT]
        return json.dumps(document, indent=2) + "\n"


def load_conditions(folder: Path) -> Conditions | None:
    """Return the conditions that are kept beside a receipt; None where nothing usable is."""
    try:
        document: Any = json.loads(read_regular(folder / FILE, limit=_MAX_BYTES))
        setup = tuple(
            SetupResult(str(s["command"]), str(s["origin"]), int(s["exit_code"]), str(s["output"]))
            for s in document["setup"]
        )
        return Conditions(
            bool(document["clean"]),
            str(document["remark"]),
            setup,
            changed=tuple(map(str, document["changed"])),
            ignored=tuple(map(str, document["ignored"])),
            nested=tuple(map(str, document["nested"])),
        )
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return None


def for_the_reviewer(conditions: Conditions | None) -> Iterator[str]:
    """Yield what a reviewer has to know of where the commands ran."""
    if conditions is None:
        return
    if conditions.clean:
        yield (
            "The commands ran in a clean room: a fresh checkout of the tracked and untracked files, "
            "with nothing in it that git ignores, and with caches that no agent can write."
        )
    else:
        yield (
            "The commands ran IN PLACE, in the project's own folder: files that git ignores, and "
            "caches that agents can write, may have decided their outcome. Neither is in the diff."
        )
    if conditions.nested:
        yield "Repositories inside of the project were not there, so no command saw what is in them:"
        yield fenced(_listed(conditions.nested), "paths")
    if conditions.remark:
        yield inline(conditions.remark)
    for result in conditions.setup:
        yield f"Before them, for {inline(result.origin)}, with exit code {result.exit_code}:"
        yield fenced(f"$ {result.command}", "command")
    if conditions.changed:
        yield (
            "The commands themselves changed files of the project while they ran. The changes were "
            "thrown away. Find out why they do that:"
        )
        yield fenced(_listed(conditions.changed), "paths")


def for_the_mending(conditions: Conditions | None, outputs: Sequence[str]) -> Iterator[str]:
    """Yield what may explain failed commands: a failed setup, or files that git ignores.

    Args:
        outputs: what the failed commands printed.
    """
    if conditions is None:
        return
    if conditions.remark:
        yield inline(conditions.remark)
    for result in conditions.failed_setup:
        yield (
            f"The setup command `{result.command}` (for {result.origin}) failed with exit code "
            f"{result.exit_code}, so dependencies may be missing. That is not the same as a failing "
            "test: make sure that the manifest and the lock file name every dependency and fit "
            f"together. The end of its output:\n\n{fenced(end_of(result.output, _SETUP_CHARACTERS))}"
        )
    if not conditions.clean:
        return
    yield _where(conditions)
    if conditions.ignored:
        yield from _not_seen(conditions.ignored, outputs)
    if conditions.nested:
        yield f"Repositories inside of the project are not in it:\n\n{fenced(_listed(conditions.nested))}"


def _where(conditions: Conditions) -> str:
    commands = ", ".join(f"`{result.command}`" for result in conditions.setup)
    after = f"after {commands}" if commands else "without any setup command"
    return (
        "The commands ran in a clean room: a fresh checkout of the tracked and untracked files, "
        f"{after}. What you installed or generated by hand is not there, unless git does not ignore it."
    )


def _not_seen(ignored: Sequence[str], outputs: Sequence[str]) -> Iterator[str]:
    yield (
        f"The tree holds {plural(len(ignored), 'ignored file or folder', 'ignored files and folders')} "
        f"which verification does not see:\n\n{fenced(_listed(ignored))}"
    )
    text = "\n".join(outputs)
    named = [path for path in ignored if path.rstrip("/").rpartition("/")[2] in text]
    if named:
        yield (
            f"The output names some of these, which is the likely cause:\n\n{fenced(_listed(named))}\n\n"
            "Have the commands make what they need, declare it as a dependency, or take it out of "
            "`.gitignore` where it belongs to the project."
        )


def _listed(paths: Sequence[str]) -> str:
    lines = [name(path) for path in paths[:_LISTED]]
    if len(paths) > _LISTED:
        lines.append(f"and {len(paths) - _LISTED} more")
    return "\n".join(lines)
