"""The tools as clients see them listed."""

from collections.abc import Mapping

from mcp_types import Tool, ToolAnnotations

from runner.autonomy.commands.session_config import REMOVAL_TARGET
from runner.server.routes import LEGACY, TOOLS, Effect, Route
from runner.server.schemas import ENVELOPE_SCHEMA, Schema, signature, tool_schema

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
