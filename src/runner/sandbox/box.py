"""The bubblewrap command line: what the agent sees, and what of it it may write.

The order of the mounts is the policy: later ones lie over earlier ones. Every target is a path
without links in it, because bubblewrap does not follow absolute ones.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from runner.reach import reach_of
from runner.sandbox import channel
from runner.sandbox.binary import Bubblewrap
from runner.sandbox.caches import cache_variables
from runner.sandbox.ci import job_folder
from runner.sandbox.decided import Decided, decide
from runner.sandbox.environment import ALLOWLIST, EnvironmentRules
from runner.sandbox.hiding import (
    folders_above,
    hiding_mounts,
    hiding_mounts_in_project,
    listening_sockets,
    steady_mounts,
)
from runner.sandbox.overlay import Overlay
from runner.sandbox.repository import repository_mounts
from runner.sandbox.rooms import OBJECTS_IN_THE_BOX, RoomLayer, RoomMounts
from runner.sandbox.scratch import Scratch
from runner.sandbox.secrets import SecretPlace, all_spelled, secret_places

_NAMESPACES = (
    "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent",
    "--new-session", "--cap-drop", "ALL",
)  # fmt: skip

_COVERED_BY_THE_AGENT = (
    ".bash_profile", ".bashrc", ".profile", ".zprofile", ".zshrc", ".gitconfig", ".gitmodules",
    ".ripgreprc", ".mcp.json", ".vscode", ".idea", ".claude",
)  # fmt: skip
# A root that nests another sandbox needs these to map its users; over this box alone.
_NESTING = ("CAP_SETFCAP", "CAP_SETUID", "CAP_SETGID")

# Root may write these without any capability; bubblewrap alone does not cover them all.
_KERNEL_SWITCHES = ("sys", "sysrq-trigger", "irq", "bus", "acpi", "fs", "driver", "scsi", "mtrr")

# /run holds the sockets of whatever obeys the user (Docker, systemd, D-Bus); name resolution
# and some systems' programs live there too.
_NEEDED_OF_RUN = (
    "systemd/resolve", "resolvconf", "NetworkManager/resolv.conf", "connman/resolv.conf",
    "current-system", "booted-system", "opengl-driver",
)  # fmt: skip
_STORE = Path("autonomy/checkpoints/store.git")
_PATH_LISTS = ("PATH", "PYTHONPATH")
_PATHS = ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE")


@dataclass(frozen=True, slots=True)
class BoxSettings:
    """What is the same for all sessions of a run.

    Attributes:
        project: absolute, links resolved; so is home.
        needed: programs and folders that must stay visible wherever they lie.
        nests: whether the agent's own sandbox is to start inside.
        signs_in: whether the program in the box is the agent, which signs in.
        environ: the user's own environment: it says where things are, and what is secret.
        rules: what of it enters. Whoever starts the box gives bubblewrap that alone: what it
            is started with can be read inside, in /proc.
        read_only: folders in the project that agents must not write.
        decided: what is hidden until the run ends.
        temporary: holds the folders for temporary files; `scratch` where None.
        steady: whether what is hidden stays so when another program replaces it; takes overlays.
    """

    bubblewrap: Bubblewrap
    project: Path
    home: Path
    claude_config: Path
    scratch: Scratch
    needed: tuple[Path, ...]
    environ: Mapping[str, str]
    rules: EnvironmentRules = ALLOWLIST
    nests: bool = False
    signs_in: bool = True
    read_only: tuple[Path, ...] = ()
    decided: Decided = field(default_factory=Decided)
    temporary: Scratch | None = None
    steady: bool = False

    @property
    def inside(self) -> Mapping[str, str]:
        """The variables that a program in the box is started with."""
        rules, environ = self.rules, self.environ
        return rules.of_agents(environ) if self.signs_in else rules.of_commands(environ)


@dataclass(frozen=True, slots=True)
class PrivateState:
    """Folders the agents of one kind of session own: Claude Code's, and the caches.

    Attributes:
        signs_in: whether the user's sign-in to Claude is put into it.
    """

    claude: Path
    cache: Path
    signs_in: bool = True


def box_command(around: BoxSettings, state: PrivateState, overlay: Overlay | None) -> list[str]:
    """Return the words to put before a command so that it runs contained.

    Args:
        overlay: makes the project a throw-away copy; None leaves it writable.
    """
    secret = _reachable(around)
    if overlay is None:
        project = _writable_project(around, secret)
    else:
        project = _overlaid_project(overlay, around.scratch)
    return _box(around, state, project, secret)


def read_only_box_command(around: BoxSettings, state: PrivateState) -> list[str]:
    """Return the words for a project that can't be written at all: overlays don't work here."""
    project = [*_bind("--ro-bind", around.project), *_state(around.project, around.scratch)]
    return _box(around, state, project, _reachable(around))


def verification_box_command(around: BoxSettings, state: PrivateState) -> list[str]:
    """Return the words for a command that runner starts by itself, in a writable project.

    It sees nothing that the agent signs in with. A network that is closed for the agent's commands is
    closed here by the box itself, for nothing in it has to reach a model.
    """
    inner = replace(around, nests=False, signs_in=False)
    program, *words = box_command(inner, replace(state, signs_in=False), None)
    return [program, *(["--unshare-net"] if around.nests else []), *words]


def with_decision(around: BoxSettings) -> BoxSettings:
    """Return the surroundings with what is hidden until the run ends.

    Raises:
        PrerequisiteError: it can't be noted for later runs.
    """
    needs = partial(_is_needed, around)
    spelled = all_spelled(around.home, around.environ, around.project, needs)
    decided = decide(around.project, [*_places(around)], spelled, around.scratch)
    return replace(around, decided=decided)


def _box(
    around: BoxSettings, state: PrivateState, project: Iterable[str], secret: Collection[Path]
) -> list[str]:
    return [
        *_outside(around),
        *_steady(around, secret),
        *_hidden(around, secret),
        *_private(around, state),
        *project,
        *_hidden_in_project(around, secret),
        *_end(around, state),
    ]


def _steady(
    around: BoxSettings, secret: Collection[Path], layered: Sequence[Path] = ()
) -> Iterator[str]:
    """Keep other programs from changing what the mounts that hide something lie on.

    Args:
        layered: folders that get an overlay anyway.
    """
    if around.steady:
        wanted = [path for path in secret if not any(folder in path.parents for folder in layered)]
        apart = _covered(around)
        yield from steady_mounts(wanted, around.scratch, around.project, around.home, apart)


def _hidden(around: BoxSettings, secret: Collection[Path]) -> Iterator[str]:
    yield from hiding_mounts(secret, around.scratch, around.project, around.needed)
    covered, seen = _covered(around), _made_visible(around)
    for path in listening_sockets(around.home):
        is_hidden = any(path.is_relative_to(place) for place in (around.project, *secret))
        is_covered = any(path.is_relative_to(place) for place in covered)
        if not is_hidden and (not is_covered or any(path.is_relative_to(s) for s in seen)):
            yield from ("--ro-bind", str(around.scratch.empty), str(path))


def _hidden_in_project(around: BoxSettings, secret: Collection[Path]) -> Iterator[str]:
    covers = around.decided.covers
    yield from hiding_mounts_in_project(secret, around.scratch, around.project, covers)


def clean_box_command(around: BoxSettings, room: RoomMounts) -> list[str]:
    """Return the words for a command that runs in a clean room, signed in to nothing.

    No folder that an agent session could write is seen: the room's own lie over the project, the
    home folder or its caches, and the temporary folders.
    """
    inner = replace(around, nests=False, signs_in=False, scratch=room.scratch)
    home, project = room.layers_of(around.home), room.layers_of(around.project)
    rest = [layer for layer in room.layers if layer not in (*home, *project)]
    layered = [layer.target for layer in (*home, *rest)]
    secret = _reachable(inner, layered)
    return [
        *_outside(inner),
        *(["--unshare-net"] if around.nests else []),
        *_steady(inner, secret, layered),
        *_layered(home),
        *_layered(rest),
        *_hidden(inner, secret),
        *_layered(project),
        *_hidden_in_project(inner, _shown(secret, project)),
        *_borrowed(around, room),
        *_ends(inner, {**room.variables, **_git_settings(inner)}),
    ]


def _layered(layers: Iterable[RoomLayer]) -> Iterator[str]:
    for layer in layers:
        yield from layer.words()


def _shown(paths: Iterable[Path], layers: Sequence[RoomLayer]) -> list[Path]:
    """Return those of the paths that a room shows: what it lacks needs no cover."""
    return [
        path
        for path in paths
        for layer in layers
        if path.is_relative_to(layer.target)
        and (layer.sources[0] / path.relative_to(layer.target)).is_file()
    ]


def _borrowed(around: BoxSettings, room: RoomMounts) -> Iterator[str]:
    yield from _state(around.project, room.scratch)
    if room.objects is not None:
        yield from ("--ro-bind", str(room.objects), str(OBJECTS_IN_THE_BOX))
    if room.hidden is not None:
        yield from ("--ro-bind", str(room.scratch.void), str(room.hidden))


def _outside(around: BoxSettings) -> Iterator[str]:
    """Everything else: read-only, and with private temporary folders."""
    yield from (str(around.bubblewrap.path), *_NAMESPACES)
    if around.nests and os.geteuid() == 0:
        for capability in _NESTING:
            yield from ("--cap-add", capability)
    yield from ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
    for switch in _KERNEL_SWITCHES:
        path = Path("/proc", switch)
        if path.exists():
            yield from _bind("--ro-bind", path)
    yield from ("--tmpfs", "/run")
    for name in _NEEDED_OF_RUN:
        yield from ("--ro-bind-try", f"/run/{name}", f"/run/{name}")
    yield from ("--ro-bind", str(around.scratch.channel), str(channel.FOLDER))
    for source, target in _temporary(around.temporary or around.scratch):
        yield from ("--bind", str(source), str(target))
    for folder in _fixed_in_temporary(around):
        yield from ("--tmpfs", str(folder))
    visible = _made_visible(around)
    job = covered_job_folder(around.project, around.home, around.environ)
    if job is not None:  # over what holds it, and under what is needed of it
        for path in visible:
            if job.is_relative_to(path):
                yield from _bind("--ro-bind", path)
        visible = [path for path in visible if not job.is_relative_to(path)]
        yield from ("--tmpfs", str(job))
    for path in visible:
        yield from _bind("--ro-bind", path)


def covered_job_folder(project: Path, home: Path, environ: Mapping[str, str]) -> Path | None:
    """Return the folder of a GitHub job that the box hides.

    None where there is none, or where it holds what can't be missed: it is the scratch folder
    for everybody, the home folder, or a part of the project.
    """
    folder = job_folder(environ)
    if folder is None or folder == home or folder.is_relative_to(project):
        return None
    shared = (Path("/tmp").resolve(), Path("/var/tmp").resolve())  # noqa: S108
    return None if any(path.is_relative_to(folder) for path in shared) else folder


def _temporary(scratch: Scratch) -> Iterator[tuple[Path, Path]]:
    for source, name in ((scratch.tmp, "/tmp"), (scratch.var_tmp, "/var/tmp")):  # noqa: S108
        target = Path(name)
        if target.is_dir():
            yield source, target.resolve()


def _covered(around: BoxSettings) -> list[Path]:
    """Return the folders that are empty inside, but for what is made visible in them."""
    covered = [Path("/run"), *(target for _, target in _temporary(around.scratch))]
    job = covered_job_folder(around.project, around.home, around.environ)
    return covered if job is None else [*covered, job]


def _fixed_in_temporary(around: BoxSettings) -> list[Path]:
    """Return the folders for temporary files that hold mount points.

    bubblewrap makes mount points, and follows links on the way. In a folder that earlier sessions
    could write, a link would lead it to any place of this machine. What is itself a mount point
    in each session of a run is never replaced.
    """
    return sorted(
        {
            shared / path.relative_to(shared).parts[0]
            for _, shared in _temporary(around.scratch)
            for path in (*_wanted(around), around.project, around.scratch.root)
            if shared in path.parents
        }
    )


def _made_visible(around: BoxSettings) -> list[Path]:
    """Return what must be seen although it lies in a folder that was just covered."""
    covered = _covered(around)
    return sorted(
        path
        for path in _wanted(around)
        if path not in covered
        and any(c in path.parents for c in covered)
        and os.access(path, os.F_OK)
    )


def _wanted(around: BoxSettings) -> set[Path]:
    """Return what must be seen wherever it lies, whether it exists or not."""
    named = [Path(p) for v in _PATH_LISTS for p in around.environ.get(v, "").split(os.pathsep) if p]
    named += [Path(around.environ[v]) for v in _PATHS if around.environ.get(v)]
    named += [Path(value) for value in _handed_on(around) if value.startswith("/")]
    # A link in the project on the way would have agents choose what of this machine they see.
    reach = reach_of(around.project)
    trusted = (path for path in named if path.is_absolute() and reach.problem(path) is None)
    return {path.resolve() for path in (*around.needed, around.home, *trusted)}


def _handed_on(around: BoxSettings) -> Iterator[str]:
    """Yield the values of the variables that a program gets for what they say."""
    for name, value in around.environ.items():
        if _is_needed(around, name):
            yield value


def _is_needed(around: BoxSettings, name: str) -> bool:
    return around.rules.is_needed(name, around.environ, signs_in=around.signs_in)


def _places(around: BoxSettings) -> Iterator[SecretPlace]:
    """Yield where credentials are now."""
    yield from secret_places(
        around.home,
        around.environ,
        project=around.project,
        signs_in=around.signs_in,
        needs=partial(_is_needed, around),
    )
    for own in (around.claude_config, around.home / ".claude.json"):
        if os.access(own, os.F_OK):
            yield SecretPlace(own, own.resolve())


def _reachable(around: BoxSettings, layered: Sequence[Path] = ()) -> set[Path]:
    """Return the credential files and folders that are not covered already.

    Args:
        layered: folders that a room shows, covered or not.
    """
    decided = around.decided
    kept = {path for path in decided.hidden if os.access(path, os.F_OK)}
    paths = (kept | {place.real for place in _places(around)}) - decided.shown
    covered, seen = _covered(around), [around.project, *_made_visible(around), *layered]
    return {
        path
        for path in paths
        if not any(path.is_relative_to(c) for c in covered)
        or any(path.is_relative_to(s) for s in seen)
    }


def _private(around: BoxSettings, state: PrivateState) -> Iterator[str]:
    # Each on itself: a mount point can't be replaced by a link for the next session.
    yield from _bind("--bind", state.cache)
    yield from _bind("--bind", state.claude)
    credentials = around.claude_config / ".credentials.json"
    if state.signs_in and credentials.is_file():
        place = state.claude / ".credentials.json"
        yield from ("--bind", str(credentials.resolve()), str(place))


def _writable_project(around: BoxSettings, secret: Collection[Path]) -> Iterator[str]:
    project = around.project
    mounts = repository_mounts(project)
    read_only = [*(mount.path for mount in mounts if not mount.writable), *around.read_only]
    writable = [mount.path for mount in mounts if mount.writable]
    claude = project / ".claude"
    if claude.is_dir() and not claude.is_symlink():
        writable.append(claude)
        settings = (claude / "settings.json", claude / "settings.local.json")
        read_only += [path for path in settings if path.is_file() and not path.is_symlink()]
    # What is a mount point can't be renamed, with what is in it, out of the way.
    writable += folders_above((*secret, *around.read_only), project)
    yield from _bind("--bind", project)
    for path in sorted({*writable, *read_only}):
        if path in read_only:
            yield from _bind("--ro-bind", path)
        elif not any(path.is_relative_to(above) for above in read_only):
            yield from _bind("--bind", path)
    yield from _state(project, around.scratch)


def _state(project: Path, scratch: Scratch) -> Iterator[str]:
    """The runner's own folder: read-only, and without what snapshots hold of hidden files."""
    state = project / ".runner"
    if state.is_dir() and not state.is_symlink():
        yield from _bind("--ro-bind", state)
        store = state / _STORE
        if store.is_dir():
            yield from ("--ro-bind", str(scratch.void), str(store))


def _overlaid_project(overlay: Overlay, scratch: Scratch) -> Iterator[str]:
    project, upper = str(overlay.project), overlay.upper
    work = upper.with_name("work")
    yield from ("--overlay-src", project, "--overlay", str(upper), str(work), project)
    yield from _state(overlay.project, scratch)


def _end(around: BoxSettings, state: PrivateState) -> Iterator[str]:
    variables = {
        **cache_variables(state.cache, around.inside),
        **_git_settings(around),
        "CLAUDE_CONFIG_DIR": str(state.claude),
    }
    yield from _ends(around, variables)


def _ends(around: BoxSettings, given: Mapping[str, str]) -> Iterator[str]:
    variables = {**given, "TMPDIR": "/tmp"}  # noqa: S108 - private to the run
    if around.nests:
        programs = channel.FOLDER / channel.PROGRAMS
        folders = (str(programs), around.environ.get("PATH", os.defpath))
        variables["PATH"] = os.pathsep.join(folders)
        around.scratch.ignore.write_text(_ignored_by_git(around), encoding="utf-8")
        yield from _bind("--ro-bind", around.scratch.ignore)
    if "RUNNER_TEMP" in around.environ:
        variables["RUNNER_TEMP"] = variables["TMPDIR"]
    for name, value in variables.items():
        yield from ("--setenv", name, value)
    covered = covered_job_folder(around.project, around.home, around.environ)
    if covered is not None:  # not before: what is mounted below it needs places made in it
        yield from ("--remount-ro", str(covered))
    yield from ("--chdir", str(around.project), "--")


def _git_settings(around: BoxSettings) -> dict[str, str]:
    """Commits must not need the signing keys, which are hidden."""
    settings = {"commit.gpgSign": "false", "tag.gpgSign": "false"}
    if around.nests:
        settings["core.excludesFile"] = str(around.scratch.ignore)
    given = around.inside.get("GIT_CONFIG_COUNT", "0")
    count = int(given) if given.isdecimal() else 0
    variables = {
        "GIT_CONFIG_COUNT": str(count + len(settings)),
        # A project in a folder of a repository is a mount of its own.
        "GIT_DISCOVERY_ACROSS_FILESYSTEM": "1",
    }
    for index, (key, value) in enumerate(settings.items(), start=count):
        variables |= {f"GIT_CONFIG_KEY_{index}": key, f"GIT_CONFIG_VALUE_{index}": value}
    return variables


def _ignored_by_git(around: BoxSettings) -> str:
    """The agent's own sandbox covers files that don't exist; `git add -A` must not trip on them."""
    own = around.home / ".config" / "git" / "ignore"
    try:
        known = own.read_text(encoding="utf-8", errors="replace")
    except OSError:
        known = ""
    return known + "\n" + "".join(f"/{name}\n" for name in _COVERED_BY_THE_AGENT)


def _bind(kind: str, path: Path) -> tuple[str, str, str]:
    return (kind, str(path), str(path))
