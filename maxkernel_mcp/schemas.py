"""JSON schemas of the tools as clients get them: flat, no ``$ref``, nothing but what a client needs."""

from __future__ import annotations

from typing import Any, Final, cast

from pydantic import BaseModel

from maxkernel_lab.registry import Tool
from maxkernel_tools.records.results import ToolResult

# Fields that are there even while a job runs or the call was refused; the rest of a result may be absent.
_ALWAYS: Final = ("ok", "summary")
# Below this depth an output schema says only "object" or "array": clients validate with it, people read the docs.
_OUTPUT_DEPTH: Final = 1
# Findings and artifacts are spelled out in no schema: every tool has them, and repeated they would be half the list.
_COMMON_DEPTH: Final = 0
# A row of more fields than these says only "object" too: written out, such rows are a tenth of all tools' listing.
_ROW_FIELDS: Final = 14
# Longer vocabularies grow from version to version; a client that kept an old list would refuse a valid answer.
_ENUM_VALUES: Final = 12

# Fields may be added to a result at any time, and a cut result may lack some.
_OUTPUT_DROPPED: Final = frozenset({"required", "prefixItems", "minItems", "maxItems"})


def input_schema(tool: Tool) -> dict[str, Any]:
    """Return the schema of the tool's arguments; unknown arguments are forbidden."""
    schema = _inlined(tool.arguments)
    return {"type": "object", "properties": schema.get("properties", {}), "additionalProperties": False} | (
        {"required": schema["required"]} if schema.get("required") else {}
    )


def output_schema(tool: Tool) -> dict[str, Any]:
    """Return the schema of the tool's structured result, which may also be the common fields alone."""
    fields = cast("dict[str, Any]", _inlined(tool.result, mode="serialization")["properties"])
    properties = {
        name: _shallow(field, _COMMON_DEPTH if name in ToolResult.model_fields else _OUTPUT_DEPTH)
        for name, field in fields.items()
    }
    common = [name for name in _ALWAYS if name in ToolResult.model_fields]
    return {"type": "object", "properties": properties, "required": common}


def _inlined(model: type[BaseModel], mode: Any = "validation") -> dict[str, Any]:
    schema = model.model_json_schema(mode=mode)
    definitions = cast("dict[str, Any]", schema.pop("$defs", {}))
    return cast("dict[str, Any]", _clean(schema, definitions, keep_text=mode == "validation"))


def _clean(node: Any, definitions: dict[str, Any], *, keep_text: bool) -> Any:
    """Inline references, drop titles, and drop descriptions and defaults from outputs."""
    if isinstance(node, list):
        return [_clean(item, definitions, keep_text=keep_text) for item in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    source = cast("dict[str, Any]", node)
    if "$ref" in source:
        source = {**definitions[str(source["$ref"]).rsplit("/", 1)[-1]], **source}
    dropped = {"$ref", "title"} if keep_text else {"$ref", "title", "description", "default"}
    result: dict[str, Any] = {}
    for key, value in source.items():
        if key == "properties":
            # Names of fields are not keywords: a field may well be called "title".
            fields = cast("dict[str, Any]", value).items()
            result[key] = {name: _clean(field, definitions, keep_text=keep_text) for name, field in fields}
        elif key not in dropped:
            result[key] = _clean(value, definitions, keep_text=keep_text)
    return _simple_optional(result)


def _simple_optional(schema: dict[str, Any]) -> dict[str, Any]:
    """Write ``anyOf [X, null]`` with a plain X as one type list: shorter, and shown better by clients."""
    options = schema.get("anyOf")
    if not isinstance(options, list):
        return schema
    plain = [set(option) <= {"type"} and isinstance(option.get("type"), str) for option in cast("list[Any]", options)]
    if not all(plain):
        return schema
    types = [option["type"] for option in cast("list[Any]", options)]
    return {"type": types, **{key: value for key, value in schema.items() if key != "anyOf"}}


def _shallow(node: Any, depth: int) -> Any:
    if isinstance(node, list):
        return [_shallow(item, depth) for item in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    schema = cast("dict[str, Any]", node)
    if depth <= 0 and ("properties" in schema or "items" in schema):
        return {"type": schema.get("type", "object")}
    if len(cast("dict[str, Any]", schema.get("properties", {}))) > _ROW_FIELDS:
        return {"type": "object"}
    result: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "properties":
            fields = cast("dict[str, Any]", value).items()
            result[key] = {name: _shallow(field, depth - 1) for name, field in fields}
        elif not _dropped_from_output(key, value):
            result[key] = _shallow(value, depth)
    return result


def _dropped_from_output(key: str, value: Any) -> bool:
    if key == "additionalProperties":
        return value is False
    return key in _OUTPUT_DROPPED or (key == "enum" and len(cast("list[Any]", value)) > _ENUM_VALUES)
