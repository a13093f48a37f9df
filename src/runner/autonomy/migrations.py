"""Bring a stored session to the current schema, step by step.

Each migration takes the JSON of version N and returns that of N + 1. A file that is newer than
this program is never guessed at: it fails closed.
"""

from collections.abc import Callable, Mapping
from typing import Any

from runner.autonomy.enums import SCHEMA_VERSION
from runner.errors import StateError

Json = dict[str, Any]
Migration = Callable[[Json], Json]


class MigrationError(StateError):
    """The stored session can't be brought to this program's schema."""


def _refuse_unsealed(_: Json) -> Json:
    """Version 1 had no seal, so anybody could have written it: nothing in it is believed.

    To take it over would let an edit get around the seal by setting the version back (ADR-0023).
    """
    raise MigrationError(
        "The session was written before sessions were sealed, so it can't be trusted.",
        hint="Remove it with runner session reset and start anew; deliverables keep their status.",
    )


def _add_final_verification(document: Json) -> Json:
    """Version 2 did not keep which tree its verifications ran on: all of them are due at the end.

    Everything that version 3 adds has a default that says so (ADR-0071).
    """
    return document


MIGRATIONS: Mapping[int, Migration] = {1: _refuse_unsealed, 2: _add_final_verification}
"""Version to leave → how."""


def migrate(
    document: Json,
    *,
    migrations: Mapping[int, Migration] = MIGRATIONS,
    target: int = SCHEMA_VERSION,
) -> Json:
    """Return `document` in schema `target`.

    Raises:
        MigrationError: it is newer than `target`, has no version, or a migration failed.
    """
    version = document.get("_schema_version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise MigrationError("The session file has no valid _schema_version.")
    if version > target:
        raise MigrationError(
            f"The session file has schema {version}; this runner knows {target}.",
            hint="Use the runner that wrote it, or a newer one.",
        )
    while version < target:
        document = _one_step(document, version, migrations)
        version += 1
    return document


def _one_step(document: Json, version: int, migrations: Mapping[int, Migration]) -> Json:
    step = migrations.get(version)
    if step is None:
        raise MigrationError(f"There is no way from session schema {version} to the next.")
    try:
        migrated = step(dict(document))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise MigrationError(f"The session file does not fit its schema {version}.") from error
    return {**migrated, "_schema_version": version + 1}
