"""How the deliverable tools present themselves to a model (CONTRACT §5)."""

from typing import Any

MAX_LIST_LIMIT = 100
DEFAULT_LIST_LIMIT = 5
STATUS_VALUES = ("pending", "passed", "blocked")

_TEXTS = {"type": "array", "items": {"type": "string", "minLength": 1}}
_ID = {"type": "string", "description": "Id of the deliverable, e.g. UI-001."}
_ONE_ID = {
    "type": "object",
    "properties": {"deliverableId": _ID},
    "required": ["deliverableId"],
    "additionalProperties": False,
}
_DRAFT = {
    "type": "object",
    "properties": {
        "id": {
            "type": "string",
            "description": "Type in upper case, hyphen, three digits: UI-001, API-014. Never reused.",
        },
        "description": {
            "type": "string",
            "minLength": 1,
            "description": "One line that says what will exist when it is done.",
        },
        "acceptanceCriteria": {
            **_TEXTS,
            "minItems": 1,
            "description": "Statements about observable behaviour, each of which can be checked.",
        },
        "phase": {
            "type": "string",
            "description": "Id of the phase it belongs to, e.g. phase-1. Phases are worked on in "
            "the order in which they are first named; leave it out when there is one phase only.",
        },
        "dependsOn": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Ids of deliverables that must have passed before this one can begin.",
        },
        "verification": {
            **_TEXTS,
            "description": "Shell commands that exit with 0 exactly when it works.",
        },
    },
    "required": ["id", "description", "acceptanceCriteria"],
    "additionalProperties": False,
}

TOOL_SCHEMAS: dict[str, dict[str, Any]] = {
    "create": {
        "type": "object",
        "properties": {"deliverables": {"type": "array", "items": _DRAFT, "minItems": 1}},
        "required": ["deliverables"],
        "additionalProperties": False,
    },
    "set_status": {
        "type": "object",
        "properties": {
            "deliverableId": _ID,
            "status": {"type": "string", "enum": list(STATUS_VALUES)},
        },
        "required": ["deliverableId", "status"],
        "additionalProperties": False,
    },
    "list": {
        "type": "object",
        "properties": {
            "filter": {
                "type": "object",
                "properties": {
                    "status": {"type": "string", "enum": list(STATUS_VALUES)},
                    "verified": {
                        "type": "boolean",
                        "description": "Whether it was marked by `verify`; in a sync only.",
                    },
                },
                "additionalProperties": False,
            },
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_LIST_LIMIT,
                "default": DEFAULT_LIST_LIMIT,
            },
        },
        "additionalProperties": False,
    },
    "deprecate": _ONE_ID,
    "verify": _ONE_ID,
}

TOOL_DESCRIPTIONS: dict[str, str] = {
    "create": "Record the deliverables planned from the spec. Each starts as pending. Give all of "
    "them in one call if you can; when one is refused, none of the call is created.",
    "set_status": "Record where a deliverable stands. passed: you have checked every acceptance "
    "criterion by running it. blocked: something outside the project prevents it (a missing key, "
    "service or device), never because it is hard; possible only while it has not passed. "
    "pending: it does not, or no longer, meet its criteria.",
    "list": "Show deliverables with their acceptance criteria, in the order to work on them. "
    "Deprecated ones are left out. Filter by status, and in a sync by verified.",
    "deprecate": "Mark a deliverable whose feature was removed from the spec. Its record stays, "
    "and it is no longer counted or worked on. This can't be taken back.",
    "verify": "Mark a deliverable as checked in this sync, after its status was set to what you "
    "found. A sync is complete when every active deliverable is marked.",
}

TOOL_EXAMPLES: dict[str, str] = {
    "create": '{"deliverables": [{"id": "UI-001", "description": "Login page", '
    '"acceptanceCriteria": ["A wrong password shows an error"], "phase": "phase-1", '
    '"dependsOn": [], "verification": ["pytest -q"]}]}',
    "set_status": '{"deliverableId": "UI-001", "status": "passed"}',
    "list": '{"filter": {"status": "pending"}, "limit": 5}',
    "deprecate": '{"deliverableId": "UI-001"}',
    "verify": '{"deliverableId": "UI-001"}',
}
