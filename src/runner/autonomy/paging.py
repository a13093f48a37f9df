"""Opaque cursors: versioned, base64url, made by us, refused when they are not."""

import base64
import json
from typing import Any

from runner.autonomy.codes import ErrorCode, RefusedError

_VERSION = 1


def encode_cursor(kind: str, position: list[Any]) -> str:
    """Return a cursor for a position in a list of some kind."""
    content = json.dumps({"v": _VERSION, "k": kind, "p": position}).encode()
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def invalid_cursor() -> RefusedError:
    """Return the refusal of a cursor that no page of this list gave."""
    return RefusedError(
        ErrorCode.INVALID_CURSOR,
        "The cursor is not one of this list.",
        hint="Ask without a cursor, and with the same filters for each further page.",
    )


def decode_cursor(kind: str, cursor: str, types: tuple[type, ...]) -> list[Any]:
    """Return the position that a cursor of that kind holds, its parts of the given types.

    Raises:
        RefusedError: INVALID_CURSOR.
    """
    try:
        content = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        if (content["v"], content["k"]) == (_VERSION, kind):
            position = content["p"]
            fits = [type(part) is wanted for part, wanted in zip(position, types, strict=True)]
            if all(fits):
                return list(position)
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    raise invalid_cursor()


def pagination(cursor: str | None, size: int, total: int | None = None) -> dict[str, Any]:
    """Return `meta.pagination`."""
    page: dict[str, Any] = {"cursor": cursor, "has_more": cursor is not None, "page_size": size}
    return page if total is None else page | {"total_count": total}
