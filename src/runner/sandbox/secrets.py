"""The credential files that a sandbox hides: those of the home folder, of CI, and named ones."""

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from runner.autonomy.store.layout import user_state_directory
from runner.sandbox.ci import ci_secrets
from runner.sandbox.sign_in import clouds_in_use
from runner.shell_policy.private_files import private_places

NAMING_FILES = (
    # clouds
    "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE",
    "GOOGLE_APPLICATION_CREDENTIALS", "CLOUDSDK_CONFIG", "AZURE_CONFIG_DIR",
    "AZURE_FEDERATED_TOKEN_FILE", "AZURE_CLIENT_CERTIFICATE_PATH", "BOTO_CONFIG", "BOTO_PATH",
    "OCI_CLI_CONFIG_FILE", "OCI_CONFIG_FILE", "HCLOUD_CONFIG", "SCW_CONFIG_PATH",
    "OS_CLIENT_CONFIG_FILE", "LINODE_CLI_CONFIG", "RCLONE_CONFIG", "RCLONE_CONFIG_DIR",
    "S3CMD_CONFIG", "MC_CONFIG_DIR", "DATABRICKS_CONFIG_FILE", "SNOWFLAKE_HOME", "DOCTL_CONFIG",
    # clusters and containers
    "KUBECONFIG", "DOCKER_CONFIG", "DOCKER_CERT_PATH", "REGISTRY_AUTH_FILE", "HELM_CONFIG_HOME",
    "HELM_REGISTRY_CONFIG", "HELM_REPOSITORY_CONFIG", "TALOSCONFIG", "ARGOCD_CONFIG_DIR",
    "TF_CLI_CONFIG_FILE", "TERRAFORM_CONFIG", "VAULT_CONFIG_PATH", "VAULT_CLIENT_CERT",
    # keys and passwords
    "GNUPGHOME", "PASSWORD_STORE_DIR", "NETRC", "PGPASSFILE", "PGSERVICEFILE", "PGSSLKEY", "PGSSLCERT",
    "MYSQL_TEST_LOGIN_FILE", "X509_USER_PROXY", "X509_USER_CERT", "SSL_CLIENT_CERT", "GIT_SSL_CERT",
    "SSLKEYLOGFILE", "XAUTHORITY", "ICEAUTHORITY", "OP_CONFIG_DIR", "BITWARDENCLI_APPDATA_DIR",
    # programs of developers
    "GH_CONFIG_DIR", "GLAB_CONFIG_DIR", "NPM_CONFIG_USERCONFIG", "npm_config_userconfig",
    "NPM_CONFIG_GLOBALCONFIG", "npm_config_globalconfig", "PIP_CONFIG_FILE", "PIP_CLIENT_CERT",
    "UV_CONFIG_FILE", "UV_CREDENTIALS_DIR", "BUNDLE_USER_CONFIG", "HEROKU_CONFIG",
    "KAGGLE_CONFIG_DIR", "WANDB_CONFIG_DIR", "SENTRY_PROPERTIES", "WAKATIME_HOME",
    # histories
    "HISTFILE", "PYTHON_HISTORY", "NODE_REPL_HISTORY", "PSQL_HISTORY", "MYSQL_HISTFILE",
    "SQLITE_HISTORY", "LESSHISTFILE", "REDISCLI_HISTFILE",
)  # fmt: skip
"""Variables with the path of a file or folder of credentials; some take a list of paths."""

NAMING_SOCKETS = (
    "SSH_AUTH_SOCK", "GPG_AGENT_INFO", "DOCKER_HOST", "CONTAINER_HOST", "DBUS_SESSION_BUS_ADDRESS",
    "XDG_RUNTIME_DIR", "KRB5CCNAME", "KRB5_KTNAME", "KRB5_CLIENT_KTNAME", "PODMAN_SOCK", "WSL_INTEROP",
    "WAYLAND_DISPLAY", "SWAYSOCK", "I3SOCK", "TMUX", "NVIM", "VSCODE_IPC_HOOK_CLI",
    "VSCODE_GIT_IPC_HANDLE", "REMOTE_CONTAINERS_IPC",
)  # fmt: skip
"""Variables whose value has the path of something that obeys the user, with other words around it."""

_MAY_NAME_A_KEY = re.compile(
    r"TOKEN(?!IZ)|SECRET|PASS(?!IVE)|CRED|KEY(?!BOARD|MAP)|AUTH(?!OR)|PRIVATE", re.IGNORECASE
)
_IS_PATH = re.compile(r"(?:~|\.{1,2})?/")
_PATH_WITHIN = re.compile(r"/[^:,;=\0]+")
_OF_THE_KERNEL = ("dev", "proc", "sys")

Needs = Callable[[str], bool]
"""Says of a variable's name whether a program gets the variable on purpose."""


@dataclass(frozen=True, slots=True)
class SecretPlace:
    """A credential file or folder that exists.

    Attributes:
        spelled: its path as the user, or a program, names it.
        real: the same, links resolved.
    """

    spelled: Path
    real: Path


def secret_paths(
    home: Path,
    environ: Mapping[str, str],
    *,
    project: Path | None = None,
    signs_in: bool = True,
    needs: Needs = lambda _: False,
) -> Iterator[Path]:
    """Yield the credential files and folders that exist, links resolved (see `secret_places`)."""
    for place in secret_places(home, environ, project=project, signs_in=signs_in, needs=needs):
        yield place.real


def secret_places(
    home: Path,
    environ: Mapping[str, str],
    *,
    project: Path | None = None,
    signs_in: bool = True,
    needs: Needs = lambda _: False,
) -> Iterator[SecretPlace]:
    """Yield where credential files and folders are.

    Among them is our own folder with the secret that seals sessions: whoever reads it can forge
    a gate.

    Args:
        environ: the user's own; what its variables name is secret, too.
        project: a folder that holds it is not hidden for what a variable says.
        signs_in: whether the program is the agent: the folders that Claude Code signs in with
            (Bedrock, Vertex, Foundry) are then left out.
        needs: files that such variables name are left out.
    """
    wide = set(_too_wide(home, environ, project))
    for path in _spelled(home, environ, signs_in=signs_in):
        yield from _existing(path)
    for path in _named(environ, project, needs):
        for found in _existing(path):
            if found.real not in wide and _is_ordinary(found.real):
                yield found


def all_spelled(
    home: Path, environ: Mapping[str, str], project: Path, needs: Needs
) -> frozenset[Path]:
    """Return every path that `secret_places` looks at for an agent, also of what does not exist."""
    return frozenset({*_spelled(home, environ), *_named(environ, project, needs)})


def _spelled(home: Path, environ: Mapping[str, str], *, signs_in: bool = True) -> Iterator[Path]:
    """Yield the known places of credentials, whether they exist or not."""
    own = user_state_directory()
    # A folder that is made later would be seen: what is hidden is decided at the start.
    with contextlib.suppress(OSError):
        own.mkdir(parents=True, exist_ok=True, mode=0o700)
    yield own
    kept = {cloud.folder for cloud in clouds_in_use(environ)} if signs_in else set()
    for entry, place in private_places(str(home), environ):
        if entry not in kept:
            yield Path(place)
    if not signs_in:
        yield Path(environ.get("XDG_CONFIG_HOME") or home / ".config", "anthropic")
    with contextlib.suppress(OSError):
        yield from sorted(home.glob(".env*"))
    yield from ci_secrets(environ)


def _named(environ: Mapping[str, str], project: Path | None, needs: Needs) -> Iterator[Path]:
    """Yield the paths that variables of credentials name, whether they exist or not."""
    for name, value in environ.items():
        if needs(name):
            continue
        if name in NAMING_FILES:
            for text in value.split(os.pathsep):
                yield from _paths(text, environ, project)
        elif name in NAMING_SOCKETS:
            yield from map(Path, _PATH_WITHIN.findall(value))
        elif _MAY_NAME_A_KEY.search(name) and _IS_PATH.match(value):
            yield from filter(_may_be_file, _paths(value, environ, project))
        elif _MAY_NAME_A_KEY.search(name) and os.sep in value:
            yield from filter(_is_file, _paths(value, environ, project))


def _paths(text: str, environ: Mapping[str, str], project: Path | None) -> Iterator[Path]:
    text = text.strip()
    if not text or "\0" in text or "\n" in text:
        return
    if text.startswith("~/"):
        text = environ.get("HOME", "~") + text[1:]
    # A relative name is read from where a program starts: here, or in the project.
    yield Path(text).absolute()
    if project is not None:
        yield project / text


def _too_wide(home: Path, environ: Mapping[str, str], project: Path | None) -> Iterator[Path]:
    """Yield the folders that hold what every program needs: no variable hides one of them."""
    folders = [Path(folder) for folder in environ.get("PATH", "").split(os.pathsep) if folder]
    for folder in (home, *folders, *([] if project is None else [project])):
        with contextlib.suppress(OSError):
            real = folder.resolve()
            yield from (real, *real.parents)


def _is_ordinary(path: Path) -> bool:
    """Whether a path is below a folder of the system, and none of the kernel's own."""
    return len(path.parts) > 2 and path.parts[1] not in _OF_THE_KERNEL


def _may_be_file(path: Path) -> bool:
    try:
        return not path.is_dir()
    except (OSError, ValueError):
        return False


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _existing(path: Path) -> Iterator[SecretPlace]:
    try:
        if path.exists():
            yield SecretPlace(path, path.resolve())
    except (OSError, ValueError):
        return
