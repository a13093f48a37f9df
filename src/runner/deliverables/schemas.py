"""How the deliverable tools present themselves to a model (CONTRACT §5)."""

from typing import Any

MAX_LIST_LIMIT = 100
DEFAULT_LIST_LIMIT = 5
STATUS_VALUES = ("pending", "passed", "blocked")
VERDICTS = ("pass", "warn", "fail")

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
_PHASE = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "description": "As the deliverables name it, e.g. phase-1."},
        "title": {"type": "string", "minLength": 1, "description": "A few words for people."},
        "verification": {
            **_TEXTS,
            "description": "Shell commands that exit with 0 exactly when the whole phase works; "
            "run after its last deliverable, besides those of the deliverables.",
        },
    },
    "required": ["id", "title"],
    "additionalProperties": False,
}
_FINDING = {
    "type": "object",
    "properties": {
        "severity": {
            "type": "string",
            "minLength": 1,
            "maxLength": 50,
            "description": "critical, major or minor.",
        },
        "title": {"type": "string", "minLength": 1, "description": "The problem in one line."},
        "detail": {
            "type": "string",
            "description": "What you ran, what you saw, what the criterion asks for.",
        },
        "deliverableId": {"type": "string", "description": "Whose criterion is not met."},
        "file": {"type": "string", "description": "Where it is, e.g. src/app.py:42."},
    },
    "required": ["severity", "title", "detail"],
    "additionalProperties": False,
}

TOOL_SCHEMAS: dict[str, dict[str, Any]] = {
    "create": {
        "type": "object",
        "properties": {
            "deliverables": {"type": "array", "items": _DRAFT},
            "phases": {
                "type": "array",
                "items": _PHASE,
                "description": "The phases in working order, with their titles; leave it out "
                "when the specification has no stages.",
            },
            "remove": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Ids of deliverables to take out of the plan; only while you correct "
                "it after its review.",
            },
        },
        "required": ["deliverables"],
        "additionalProperties": False,
    },
    "set_status": {
        "type": "object",
        "properties": {
            "deliverableId": _ID,
            "status": {"type": "string", "enum": list(STATUS_VALUES)},
            "reason": {
                "type": "string",
                "description": "Required for blocked: what outside the project prevents it, how you "
                "found that out, and what a person has to provide. A reviewer examines it.",
            },
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
    "submit_review": {
        "type": "object",
        "properties": {
            "verdict": {"type": "string", "enum": list(VERDICTS)},
            "summary": {
                "type": "string",
                "minLength": 1,
                "description": "What you examined and how, and why this is the verdict.",
            },
            "findings": {"type": "array", "items": _FINDING},
        },
        "required": ["verdict", "summary", "findings"],
        "additionalProperties": False,
    },
}

TOOL_DESCRIPTIONS: dict[str, str] = {
    "create": "Record the deliverables planned from the spec. Each starts as pending. Give all of "
    "them in one call if you can; when one is refused, none of the call is created. While you "
    "correct a plan after its review, an id that exists replaces that deliverable as a whole.",
    "set_status": "Record where a deliverable stands. passed: you have checked every acceptance "
    "criterion by running it. blocked: something outside the project prevents it (a missing key, "
    "service or device), never because it is hard; it needs a reason, which an independent reviewer "
    "examines, and is possible only while it has not passed. "
    "pending: it does not, or no longer, meet its criteria.",
    "list": "Show deliverables with their acceptance criteria, in the order to work on them. "
    "Deprecated ones are left out. Filter by status, and in a sync by verified.",
    "deprecate": "Mark a deliverable whose feature was removed from the spec. Its record stays, "
    "and it is no longer counted or worked on. This can't be taken back.",
    "verify": "Mark a deliverable as checked in this sync, after its status was set to what you "
    "found. A sync is complete when every active deliverable is marked.",
    "submit_review": "Give your verdict on the phase, once: it can not be changed. pass: every criterion was "
    "seen to hold and nothing was weakened. warn: it holds, with flaws that should be known. fail: a "
    "criterion does not hold, could not be shown, or a check was weakened. One finding for each "
    "problem; a fail is mended from the findings alone.",
}

TOOL_EXAMPLES: dict[str, str] = {
    "create": '{"deliverables": [{"id": "UI-001", "description": "Login page", '
    '"acceptanceCriteria": ["A wrong password shows an error"], "phase": "phase-1", '
    '"dependsOn": [], "verification": ["pytest -q"]}], '
    '"phases": [{"id": "phase-1", "title": "Sign-in", "verification": ["pytest -q"]}]}',
    "set_status": '{"deliverableId": "UI-001", "status": "passed"}',
    "list": '{"filter": {"status": "pending"}, "limit": 5}',
    "deprecate": '{"deliverableId": "UI-001"}',
    "verify": '{"deliverableId": "UI-001"}',
    "submit_review": '{"verdict": "fail", "summary": "Ran the program and the tests; one criterion '
    'does not hold.", "findings": [{"severity": "major", "title": "An empty password is accepted", '
    '"detail": "./app login with an empty password prints ok", "deliverableId": "UI-001", '
    '"file": "src/login.py:12"}]}',
}
