"""`runner capabilities`, for people."""

from datetime import UTC, datetime
from typing import Any

from rich.cells import cell_len

from runner.cli.control.capabilities import capability_lines
from runner.cli.control.scene import Scene


def _lines(data: dict[str, Any]) -> list[str]:
    return list(capability_lines(Scene(data, datetime(2026, 3, 1, tzinfo=UTC))))


def test_plain_values_come_first() -> None:
    data = {"table": {"a": 1}, "can_drive_sessions": True, "warnings": [], "role": None}
    assert _lines(data) == [
        "can drive sessions  yes",
        "warnings            none",
        "role                -",
        "",
        "table",
        "  a  1",
    ]


def test_what_has_fields_is_a_table_with_the_longest_last() -> None:
    flag = {"description": "What it is good for.", "enabled_now": False}
    assert _lines({"feature_flags": {"autonomy_resume": flag}}) == [
        "",
        "feature flags",
        "                   ENABLED NOW  DESCRIPTION",
        "  autonomy_resume  no           What it is good for.",
    ]


def test_a_column_that_tells_no_rows_apart_is_left_out() -> None:
    on = {"supported": True, "enabled_now": True, "value": True}
    off = {"supported": True, "enabled_now": False, "value": False}
    assert _lines({"flags": {"resume": on, "rebase": off}})[2:] == [
        "          ENABLED NOW",
        "  resume  yes",
        "  rebase  no",
    ]


def test_equal_values_stand_together() -> None:
    roles = {"a": "observer", "b": "maintainer", "c": "observer", "d": "observer", "e": "observer"}
    assert _lines({"required_roles": roles})[2:] == [
        "  observer    a, c, d, e",
        "  maintainer  b",
    ]


def test_an_empty_table_is_left_out() -> None:
    assert _lines({"refused_with": {}}) == []


def test_no_line_is_too_wide() -> None:
    flags = {f"flag_{n}": {"description": "words " * 40, "value": True} for n in range(3)}
    data = {"supported": [f"feature_number_{n}" for n in range(30)], "flags": flags}
    assert max(cell_len(line) for line in _lines(data)) <= 80
