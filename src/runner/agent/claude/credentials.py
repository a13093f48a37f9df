"""Whether the agent has anything to sign in with. Only that something is there is ever looked at.

A run may be refused only where it is certain that nothing is: Claude Code knows many ways to sign
in, and a newer one more than we do (docs/decisions/0047-sign-in-before-a-session.md).
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

from runner.errors import PrerequisiteError
from runner.sandbox.scratch import claude_config

HINT = "Set ANTHROPIC_API_KEY, or log in with `claude`."

_SWITCH = "CLAUDE_CODE_USE_"
_OFF = frozenset({"0", "false", "no", "off"})
_KNOWN = (
    "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY",
)  # fmt: skip
_TELLING = re.compile(
    r"ANTHROPIC_(?!.*MODEL|LOG$|BETAS$)|AWS_BEARER_TOKEN_BEDROCK$"
    r"|CLAUDE_.*(?:KEY|TOKEN(?!S)|AUTH|CREDS|USE_|DESCRIPTOR|SOCKET|URL|GATEWAY|HOST|REMOTE|STORAGE)"
)
"""Variables that may have to do with signing in: too many are harmless, too few are not."""

_ACCOUNT = ("primaryApiKey", "oauthAccount")
_MANAGED = Path("/etc/claude-code")
_KEY_HELPER = "apiKeyHelper"


class SignIn(Enum):
    """What is known of the agent's way to sign in."""

    FOUND = auto()
    POSSIBLE = auto()
    NONE = auto()


@dataclass(frozen=True, slots=True)
class Credentials:
    """What was found, in words that show no value."""

    state: SignIn
    detail: str


def find_credentials(
    environ: Mapping[str, str],
    *,
    home: Path | None = None,
    platform: str = sys.platform,
    managed: Path = _MANAGED,
) -> Credentials:
    """Look for what Claude Code signs in with.

    Args:
        home: the user's; by default that of this process.
        platform: as `sys.platform`; macOS keeps a login where it can't be seen.
        managed: the folder with the settings of the machine's administrator.
    """
    try:
        home = home or Path.home()
    except RuntimeError:
        return Credentials(SignIn.POSSIBLE, "none seen, but your home folder is not known")
    named = [name for name in _KNOWN if _is_set(name, environ)]
    folder, account = claude_config(environ, home)
    if named:
        return Credentials(SignIn.FOUND, f"{', '.join(named)} set (not shown)")
    if _is_there(folder / ".credentials.json"):
        return Credentials(SignIn.FOUND, "logged in with `claude`")
    signs = [
        *(f"{name} is set" for name in sorted(environ) if _TELLING.match(name) and environ[name]),
        *_signs_on_disk(environ, home, folder, account, managed),
        *(["the keychain can't be looked into"] if platform == "darwin" else []),
    ]
    if signs:
        return Credentials(SignIn.POSSIBLE, f"none seen, but {signs[0]}")
    return Credentials(SignIn.NONE, "none found")


def require_credentials(environ: Mapping[str, str]) -> None:
    """Refuse where an agent certainly could not sign in.

    Raises:
        PrerequisiteError: nothing is there that it could sign in with.
    """
    if find_credentials(environ).state is SignIn.NONE:
        raise PrerequisiteError(
            "There are no API credentials.",
            hint=f"{HINT} `runner demo` shows a run without any.",
        )


def _is_set(name: str, environ: Mapping[str, str]) -> bool:
    value = environ.get(name, "").strip().lower()
    return bool(value) and not (name.startswith(_SWITCH) and value in _OFF)


def _signs_on_disk(
    environ: Mapping[str, str], home: Path, folder: Path, account: Path, managed: Path
) -> Iterator[str]:
    if _mentions(account, *_ACCOUNT):
        yield f"{account} names an account"
    config_home = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    if _is_there(config_home / "anthropic"):
        yield f"{config_home / 'anthropic'} exists"
    if _is_there(managed):
        yield f"{managed} exists"
    settings = folder / "settings.json"
    if _mentions(settings, _KEY_HELPER, "env"):
        yield f"{settings} may name a way to sign in"


def _is_there(path: Path) -> bool:
    """Whether something has this path; also where it can't be told."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _mentions(path: Path, *keys: str) -> bool:
    """Whether a JSON object has one of the keys; also where it can't be told."""
    try:
        document = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError, RecursionError):
        return True
    return not isinstance(document, dict) or any(document.get(key) for key in keys)
