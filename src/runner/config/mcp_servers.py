"""The user's MCP servers: what they must say, and how they are shown."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from runner.config.names import looks_secret

RESERVED = "runner"
HIDDEN = "(hidden)"

# The agent would rewrite other characters, and the hook would not know the tools again.
_NAME = re.compile(r"[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*")
_KINDS = ("stdio", "http", "sse")
_SECRET_VALUE = re.compile(r"\bsk-[\w-]{8,}|\bgh[pousr]_\w{8,}|\bBearer\s", re.IGNORECASE)


def check_server_name(name: str) -> str:
    """Return the name.

    Raises:
        ValueError: a server can't be called so.
    """
    if name.lower() == RESERVED:
        raise ValueError(f"the name {name} is taken by runner's own server; choose another.")
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{name!r} can't name a server: use letters, digits, hyphens and single underscores."
        )
    return name


def check_server(server: dict[str, Any]) -> dict[str, Any]:
    """Return the server's description. Keys that are not known here are the agent's to judge.

    Raises:
        ValueError: it can't be started or reached as described.
    """
    kind = server.get("type", "http" if "url" in server else "stdio")
    if kind not in _KINDS:
        raise ValueError(f"type must be one of {', '.join(_KINDS)}.")
    needed = "command" if kind == "stdio" else "url"
    if not isinstance(server.get(needed), str) or not server[needed].strip():
        raise ValueError(f"a server of type {kind} needs a {needed}, as a string.")
    if not _is_text_list(server.get("args", [])):
        raise ValueError("args must be a list of strings.")
    for key in ("env", "headers"):
        if not _is_text_map(server.get(key, {})):
            raise ValueError(f"{key} must be an object of strings.")
    return server


def redacted(server: Mapping[str, Any]) -> dict[str, Any]:
    """Return the server's description with everything hidden that may be a credential."""
    return {key: _shown(key, value) for key, value in server.items()}


def _shown(key: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        hide = key in ("env", "headers")
        return {name: HIDDEN if hide else _shown(name, entry) for name, entry in value.items()}
    if isinstance(value, list):
        return _shown_arguments(value)
    if looks_secret(key):
        return HIDDEN
    return _shown_text(value) if isinstance(value, str) else value


def _shown_arguments(arguments: list[Any]) -> list[Any]:
    shown: list[Any] = []
    names_secret = False
    for argument in arguments:
        text = _shown_text(argument) if isinstance(argument, str) else _shown("", argument)
        shown.append(HIDDEN if names_secret else text)
        names_secret = isinstance(argument, str) and looks_secret(argument)
    return shown


def _shown_text(text: str) -> str:
    if _SECRET_VALUE.search(text):
        return HIDDEN
    if "://" in text:
        return _shown_address(text)
    name, equals, _ = text.partition("=")
    return f"{name}={HIDDEN}" if equals and looks_secret(name) else text


def _shown_address(text: str) -> str:
    """Return an address without user, password and query."""
    try:
        address = urlsplit(text)
        place = address.netloc.rpartition("@")[2]
    except ValueError:
        return HIDDEN
    rest = f"?{HIDDEN}" if address.query else ""
    return f"{address.scheme}://{place}{address.path}{rest}"


def _is_text_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)


def _is_text_map(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(entry, str) for entry in value.values())
