"""Clean rooms: where verification commands run on a fresh checkout, out of reach of agents.

In the sandbox a room lies over the project at the project's own path. Its layers, bottom up: the
checkout, what the setup commands made of it (kept as long as the tree stays the same), and what
the commands of one step write. The home folder is layered in the same way over the real one, so
that configuration and caches of tools are the user's, and what is written there is dropped. No
cache of ours is kept from tree to tree: whatever code of an agent wrote could decide a later
verification.
"""

import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath

import anyio
from platformdirs import user_cache_path

from runner.checkpoints.checkout import Checkout, changed_files, check_out, files_of, ignored_files
from runner.checkpoints.isolated_git import GitError
from runner.config.dependencies import DECLARED, SetupCommand, Tree, setup_commands
from runner.deliverables.verification_conditions import Conditions, SetupResult
from runner.ports import VerifiedCommand
from runner.sandbox.caches import (
    cache_variables,
    caches_elsewhere,
    link_cargo_settings,
)
from runner.sandbox.overlay import Overlay
from runner.sandbox.rooms import OBJECTS_IN_THE_BOX, RoomLayer, RoomMounts
from runner.sandbox.scratch import Scratch, furnished, remove_tree
from runner.sandbox.status import RoomBuilder
from runner.sandbox.trial import finish, start
from runner.text.messages import reason

Wrap = Callable[[Sequence[str]], Sequence[str]]
_DIFFERENT_PATH = (
    "Without the sandbox's mounts the clean room lies at another path: what names the project's "
    "folder in full reaches the real one, with all that agents left there."
)

_CLOSED = (
    "The network is closed for commands, so setup can use nothing but what the user's own caches hold. "
    "The user can open it, name other setup commands under [verification], or verify in place."
)


@dataclass(frozen=True, slots=True)
class CommandPlace:
    """Where commands run.

    Attributes:
        wrap: puts what contains a command in front of it.
        environ: what commands inherit.
    """

    wrap: Wrap
    cwd: Path
    environ: Mapping[str, str]


RunSetup = Callable[[SetupCommand, CommandPlace, int], Awaitable[VerifiedCommand]]
"""Runs one setup command, given its number, in a place."""


@dataclass(slots=True)
class _Prepared:
    """A checkout whose setup has been run."""

    checkout: Checkout
    root: Path
    setup: tuple[SetupResult, ...] = ()
    ignored: tuple[str, ...] = ()
    seconds: float = 0.0
    is_layered: bool = False


@dataclass(slots=True)
class Room:
    """One clean room, for the commands of one step.

    Attributes:
        conditions: without what the commands changed; `leave` adds that.
        usable: False where a setup command failed that the user has declared.
    """

    place: CommandPlace
    conditions: Conditions
    usable: bool
    _changed: Callable[[], tuple[str, ...]]
    _remove: Callable[[], None]

    async def leave(self) -> Conditions:
        """Throw the room away; return the conditions with what was changed in it."""
        changed: tuple[str, ...] = ()
        remark = self.conditions.remark
        with anyio.CancelScope(shield=True):
            try:
                changed = await anyio.to_thread.run_sync(self._changed)
            except (GitError, OSError) as error:
                told = f"Which files the commands changed can't be told: {reason(error)}"
                remark = f"{remark} {told}".strip()
            finally:
                await anyio.to_thread.run_sync(self._remove)
        return replace(self.conditions, changed=changed, remark=remark)


@dataclass(slots=True)
class CleanRooms:
    """Makes the clean rooms of one run.

    Attributes:
        project: absolute, links resolved.
        scratch: the run's; rooms lie in it.
        builder: mounts rooms over the project; None where nothing can.
        environ: what commands inherit.
        declared: the setup commands of runner.toml; None to detect them.
    """

    project: Path
    scratch: Scratch
    builder: RoomBuilder | None
    environ: Mapping[str, str]
    declared: tuple[str, ...] | None = None
    _last: _Prepared | None = None
    _home_is_layered: bool | None = field(default=None)

    async def enter(self, run_setup: RunSetup) -> Room:
        """Make a room on the tree as it is now.

        Raises:
            GitError: the tree can't be laid out.
            OSError: a folder can't be made.
        """
        started = time.monotonic()
        prepared = await anyio.to_thread.run_sync(self._checked_out)
        if prepared is not self._last or not self._overlays:
            self._last = None
            prepared.seconds = time.monotonic() - started
            await self._set_up(prepared, run_setup)
            self._last = prepared
        place, folder = self._place(prepared, above_setup=True)
        conditions = Conditions(
            clean=True,
            remark=self._remark(prepared.setup),
            setup=prepared.setup,
            ignored=prepared.ignored,
            nested=prepared.checkout.nested,
            seconds=prepared.seconds,
        )
        return Room(
            place,
            conditions,
            usable=not any(s.origin == DECLARED for s in conditions.failed_setup),
            _changed=lambda: self._changed(prepared, folder),
            _remove=lambda: self._forget(prepared, folder),
        )

    def _remark(self, setup: Sequence[SetupResult]) -> str:
        if self.builder is None:
            return _DIFFERENT_PATH
        closed = self.builder.around.nests and any(result.exit_code for result in setup)
        return _CLOSED if closed else ""

    @property
    def _overlays(self) -> bool:
        return self.builder is not None and self.builder.overlays

    def _checked_out(self) -> _Prepared:
        """Lay the tree out; return what was prepared before where nothing differs."""
        last = self._last
        root = last.root if last is not None else self.scratch.new_folder()
        checkout = check_out(
            self.project, root, borrowed=None if self.builder is None else OBJECTS_IN_THE_BOX
        )
        self._lay_covers(checkout.files)
        ignored = ignored_files(checkout)
        if last is not None and last.checkout.key == checkout.key:
            last.ignored = ignored
            return last
        return _Prepared(checkout, root, ignored=ignored)

    def _lay_covers(self, files: Path) -> None:
        """Write what agents see instead of hidden files; the snapshot does not hold those."""
        covers = {} if self.builder is None else self.builder.around.decided.covers
        for path, cover in covers.items():
            inside = path.relative_to(self.project)
            target = files / inside
            if target.parent.resolve() == files.resolve() / inside.parent:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.unlink(missing_ok=True)
                target.write_bytes(cover.read_bytes())

    async def _set_up(self, prepared: _Prepared, run_setup: RunSetup) -> None:
        """Run the setup commands; what they write stays in a layer of its own."""
        await anyio.to_thread.run_sync(remove_tree, prepared.root / "setup")
        if self._overlays and self._home_is_layered is None:
            self._home_is_layered = await anyio.to_thread.run_sync(self._try_home, prepared)
        tree = Tree(prepared.checkout.files, self.project, self.environ)
        found = setup_commands(self.declared, tree)
        if not found:
            return
        place, _ = self._place(prepared, above_setup=False)
        results = []
        for number, setup in enumerate(found, 1):
            result = await run_setup(setup, place, number)
            results.append(
                SetupResult(setup.command, setup.origin, result.exit_code, result.output_tail)
            )
            if result.exit_code != 0:
                break
        prepared.setup = tuple(results)
        prepared.is_layered = self._overlays

    def _try_home(self, prepared: _Prepared) -> bool:
        """Whether the home folder can be mounted with a layer over it, where it can't be written."""
        assert self.builder is not None  # noqa: S101 - only with overlays
        home = self.builder.around.home
        inside = self.scratch.root.is_relative_to(home) or home == Path("/")
        if inside or not home.is_dir():
            return False
        self._home_is_layered = True
        place, folder = self._place(prepared, above_setup=False)
        code, _ = finish(start(place.wrap(["/bin/sh", "-c", "exit 0"])))
        remove_tree(folder)
        return code == 0

    def _place(self, prepared: _Prepared, *, above_setup: bool) -> tuple[CommandPlace, Path]:
        """Return a new place on a checkout, and the folder that takes what is written in it."""
        files = prepared.checkout.files
        if self.builder is None:
            environ = moved(self.environ, self.project, files)
            return CommandPlace(lambda words: words, files, environ), files
        folder = self.scratch.new_folder() if above_setup else prepared.root / "setup"
        folder.mkdir(exist_ok=True)
        cache = prepared.root / "cache"
        cache.mkdir(exist_ok=True)
        layers = tuple(
            self._layer(number, target, base, folder, prepared if above_setup else None)
            for number, (target, base) in enumerate(self._bases(files, cache))
        )
        room = RoomMounts(
            furnished(_made(folder / "scratch")),
            layers,
            objects=prepared.checkout.objects,
            hidden=_agents_caches(self.project),
            variables={} if self._home_is_layered else self._variables(cache),
        )
        builder = self.builder
        return CommandPlace(
            lambda words: builder.wrap(room, words), self.project, self.environ
        ), folder

    def _bases(self, files: Path, cache: Path) -> list[tuple[Path, Path]]:
        """Return what lies over what, without the layers."""
        assert self.builder is not None  # noqa: S101 - only with mounts
        bases = [(self.project, files)]
        if not self._home_is_layered:
            return [*bases, (cache, cache)]
        home = self.builder.around.home
        elsewhere = caches_elsewhere(self.environ, home, self.project)
        return [*bases, (home, home), *((path, path) for path in elsewhere)]

    def _layer(
        self, number: int, target: Path, base: Path, folder: Path, below: _Prepared | None
    ) -> RoomLayer:
        if not self._overlays:
            return RoomLayer(target, (base,))
        upper = _made(folder / str(number) / "upper")
        _made(folder / str(number) / "work")
        if below is None or not below.is_layered:
            return RoomLayer(target, (base,), upper)
        return RoomLayer(target, (base, below.root / "setup" / str(number) / "upper"), upper)

    def _variables(self, cache: Path) -> dict[str, str]:
        assert self.builder is not None  # noqa: S101 - only with mounts
        link_cargo_settings(cache, self.environ, self.builder.around.home)
        return cache_variables(cache, self.environ)

    def _changed(self, prepared: _Prepared, folder: Path) -> tuple[str, ...]:
        """Return the files of the tree that setup or commands changed, .git and .runner apart."""
        if not self._overlays:
            return changed_files(prepared.checkout)
        uppers = [folder / "0" / "upper"]
        if prepared.is_layered:
            uppers.append(prepared.root / "setup" / "0" / "upper")
        layers = (Overlay(prepared.checkout.files, upper) for upper in uppers)
        written = {path for layer in layers for path in layer.changed_paths()}
        return tuple(
            name
            for name in sorted(files_of(prepared.checkout))
            if name in written or any(str(above) in written for above in PurePath(name).parents)
        )

    def _forget(self, prepared: _Prepared, folder: Path) -> None:
        remove_tree(folder)
        if not self._overlays:  # the commands have written in the checkout itself
            remove_tree(prepared.root)
            self._last = None


def moved(environ: Mapping[str, str], project: Path, files: Path) -> dict[str, str]:
    """Return an environment whose paths into the project lead into another folder."""

    def elsewhere(part: str) -> str:
        path = Path(part)
        if path.is_absolute() and path.is_relative_to(project):
            return str(files / path.relative_to(project))
        return part

    return {
        name: os.pathsep.join(elsewhere(part) for part in value.split(os.pathsep))
        for name, value in environ.items()
    }


def _agents_caches(project: Path) -> Path | None:
    folder = user_cache_path("runner") / "sandbox"
    return folder if folder.is_dir() and not project.is_relative_to(folder) else None


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
