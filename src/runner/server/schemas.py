"""JSON Schemas of the calls, made from the models that check them (CONTRACT §7).

They are written to be read by a model: definitions are put where they are used, and titles,
nulls and empty defaults are left out. A parameter left out and one that is null mean the same.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mcp_types import Tool, ToolAnnotations
from pydantic import BaseModel

from runner.autonomy.commands.session_config import REMOVAL_TARGET
from runner.autonomy.envelope import VERSION
from runner.server.routes import LEGACY, SHORTEST, TOOLS, Effect, Route

Schema = dict[str, Any]

_NULL = {"type": "null"}
_LEFT_OUT = frozenset({"title", "description", "$defs"})
_WIDEST = {"minimum": min, "maximum": max, "minLength": min, "maxLength": max}

NOTES: Mapping[str, str] = {
    "acknowledged_gate_attempt_id": "The gate_attempt_id that the paused session names",
    "autonomy_step_proof": "The outstanding step's step_proof_token",
    "context_usage_pct": "How full the caller's context is, in percent",
    "cursor": "From meta.pagination of the page before",
    "force": "Needed for what can't be undone; read the refusal first",
    "idempotency_key": "Of your making; the same key returns the same session",
    "last_step_result": "The report on the outstanding step; step_proof is its step_proof_token",
    "session_id": "Left out: the workspace's only live session",
    "spec_id": "Left out: the workspace's spec",
    "step_id": "Of the outstanding step",
    "timeout_seconds": "How long to wait for the answer, within the call's bounds",
    "workspace": "Left out, or the folder that this server serves",
}


def call_schema(route: Route, params: type[BaseModel]) -> Schema:
    """Return the strict schema of one call, `action` and `command` among its properties."""
    raw = params.model_json_schema()
    own = _tidy(raw, raw.get("$defs", {}))
    fixed = {"action": route.action} | ({"command": route.command} if route.command else {})
    longest = route.budget.most
    needed = list(own.get("required", []))
    properties = {
        **{name: {"const": value} for name, value in fixed.items()},
        **own.get("properties", {}),
        "workspace": {"type": "string", "maxLength": 4096},
        "timeout_seconds": {"type": "number", "minimum": SHORTEST, "maximum": longest},
    }
    return {
        "type": "object",
        "properties": properties,
        "required": [*fixed, *needed],
        "additionalProperties": False,
    }


def tool_schema(calls: Mapping[Route, Schema], legacy: Iterable[str]) -> Schema:
    """Return one schema that fits every call of a tool.

    It has no `oneOf` at its top: Claude's API refuses tools that have (ADR-0029).
    """
    properties: Schema = {"action": _action(calls, sorted(legacy))}
    commands = [route.command for route in calls if route.command]
    if commands:
        properties["command"] = _choice(commands)
    for name in dict.fromkeys(n for schema in calls.values() for n in schema["properties"]):
        if name not in ("action", "command"):
            variants = [s["properties"][name] for s in calls.values() if name in s["properties"]]
            note = {"description": NOTES[name]} if name in NOTES else {}
            properties[name] = merged(variants) | note
    return {
        "type": "object",
        "properties": properties,
        "required": ["action"],
        "additionalProperties": False,
    }


def signature(route: Route, schema: Schema) -> str:
    """Return a call in one line: required parameters, then the others in brackets."""
    passed_over = {"action", "command", "workspace", "timeout_seconds"}
    names = [name for name in schema["properties"] if name not in passed_over]
    required = [name for name in names if name in schema["required"]]
    optional = [name for name in names if name not in schema["required"]]
    listed = ", ".join(required + ([f"[{', '.join(optional)}]"] if optional else []))
    return f"{route.name}({listed}): {route.summary}."


def merged(variants: Sequence[Schema]) -> Schema:
    """Return a schema that takes what any of the variants takes."""
    distinct = [v for i, v in enumerate(variants) if v not in variants[:i]]
    if len(distinct) == 1:
        return distinct[0]
    plain = [{k: v for k, v in variant.items() if k not in _WIDEST} for variant in distinct]
    plain = [{k: v for k, v in variant.items() if k != "default"} for variant in plain]
    if any(variant != plain[0] for variant in plain):
        return {"anyOf": distinct}
    shared = set.intersection(*(set(variant) for variant in distinct))
    bounds = {k: pick(v[k] for v in distinct) for k, pick in _WIDEST.items() if k in shared}
    return plain[0] | bounds


ENVELOPE_SCHEMA: Schema = {
    "type": "object",
    "properties": {
        "success": {"type": "boolean"},
        "data": {"type": "object"},
        "error": {"type": ["string", "null"]},
        "meta": {
            "type": "object",
            "properties": {
                "version": {"const": VERSION},
                "request_id": {"type": "string"},
                "warnings": {"type": "array", "items": {"type": "string"}},
                "pagination": {
                    "type": "object",
                    "properties": {
                        "cursor": {"type": ["string", "null"]},
                        "has_more": {"type": "boolean"},
                        "page_size": {"type": "integer"},
                        "total_count": {"type": "integer"},
                    },
                    "required": ["cursor", "has_more", "page_size"],
                },
                "deprecated": {
                    "type": "object",
                    "properties": {
                        "action": {"type": "string"},
                        "replacement": {"type": "string"},
                        "removal_target": {"type": "string"},
                    },
                    "required": ["action", "replacement", "removal_target"],
                },
            },
            "required": ["version", "request_id"],
        },
    },
    "required": ["success", "data", "error", "meta"],
    "additionalProperties": False,
}
"""The one envelope of every answer (CONTRACT §6)."""


def _action(calls: Iterable[Route], legacy: Sequence[str]) -> Schema:
    current = _choice(route.action for route in calls)
    if not legacy:
        return current
    return {"anyOf": [current, _choice(legacy) | {"deprecated": True}]}


def _choice(values: Iterable[str]) -> Schema:
    return {"type": "string", "enum": list(dict.fromkeys(values))}


def _tidy(schema: Any, definitions: Mapping[str, Schema]) -> Any:
    """Return the schema with references resolved and what says nothing left out."""
    if isinstance(schema, list):
        return [_tidy(part, definitions) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        named = definitions[schema["$ref"].rpartition("/")[2]]
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        return _tidy({**named, **beside}, definitions)
    kept = {key: value for key, value in schema.items() if key not in _LEFT_OUT}
    if kept.get("default", ...) in (None, []):
        del kept["default"]
    if _NULL in kept.get("anyOf", ()):
        return _tidy(_without_null(kept), definitions)
    if "properties" in kept:
        own = {n: _tidy(s, definitions) for n, s in kept["properties"].items()}
        return {**kept, "properties": own}
    return {key: _tidy(value, definitions) for key, value in kept.items()}


def _without_null(schema: Schema) -> Schema:
    kinds = [kind for kind in schema["anyOf"] if kind != _NULL]
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    return rest | (kinds[0] if len(kinds) == 1 else {"anyOf": kinds})


CALLS_KEY = "runner/calls"
"""In a tool's `_meta`: each call's strict schema and annotations, for programs."""

LEGACY_KEY = "runner/legacy"
"""In a tool's `_meta`: former names, with what replaces them and until when they hold."""


def list_tools(schemas: Mapping[Route, Schema]) -> list[Tool]:
    """Return the tools; what a model reads of them is their description and input schema."""
    return [_tool(name, schemas) for name in TOOLS]


def _tool(name: str, schemas: Mapping[Route, Schema]) -> Tool:
    calls = {route: schema for route, schema in schemas.items() if route.tool == name}
    legacy = {old: route for (tool, old), route in LEGACY.items() if tool == name}
    lines = [signature(route, schema) for route, schema in calls.items()]
    listed = "\n".join(f"- {line}" for line in lines)
    described = f"{TOOLS[name]}\nCalls, as action/command(required, [optional]):\n{listed}"
    meta = {CALLS_KEY: {route.name: _call(route, schema) for route, schema in calls.items()}}
    if legacy:
        meta[LEGACY_KEY] = {
            old: {"replacement": route.shape, "removal_target": REMOVAL_TARGET}
            for old, route in legacy.items()
        }
    return Tool(
        name=name,
        description=described,
        input_schema=tool_schema(calls, legacy),
        output_schema=ENVELOPE_SCHEMA,
        annotations=_annotations(_together([route.effect for route in calls])),
        _meta=meta,
    )


def _call(route: Route, schema: Schema) -> Schema:
    hints = _annotations(route.effect).model_dump(by_alias=True, exclude_none=True)
    return {"inputSchema": schema, "annotations": hints, "seconds": list(route.budget)}


def _together(effects: list[Effect]) -> Effect:
    """Return what can be said of a tool: the worst of its calls."""
    return Effect(
        read_only=all(effect.read_only for effect in effects),
        destructive=any(effect.destructive for effect in effects),
        idempotent=all(effect.idempotent for effect in effects),
    )


def _annotations(effect: Effect) -> ToolAnnotations:
    return ToolAnnotations(
        read_only_hint=effect.read_only,
        destructive_hint=effect.destructive,
        idempotent_hint=effect.idempotent,
        open_world_hint=False,
    )
