"""What clients get to read: schemas without references, small, and no surprise in what starts."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from maxkernel_lab.answers import misuse_result
from maxkernel_lab.registry import TOOLS, Tool
from maxkernel_mcp.schemas import input_schema, output_schema
from maxkernel_mcp.server import listing
from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.results import ToolResult
from tests.lab.processes import python_environment


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_schemas_are_flat_and_forbid_what_they_do_not_name(tool: Tool) -> None:
    schema = input_schema(tool)
    Draft202012Validator.check_schema(schema)
    Draft202012Validator.check_schema(output_schema(tool))
    assert schema["additionalProperties"] is False
    for name, argument in schema["properties"].items():
        # Flat: no argument is an object with fields of its own, and none needs a union of shapes.
        assert "properties" not in argument, name
        assert "anyOf" not in argument, name
    assert "$ref" not in json.dumps([schema, output_schema(tool)])


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_output_schema_allows_a_running_job_and_a_refusal(tool: Tool) -> None:
    validator = Draft202012Validator(output_schema(tool))
    running = ToolResult(ok=None, state="running", job_id="j-1", summary="goes on")
    refused = misuse_result(MisuseError("x", allowed="y", action="z"))
    for result in (running, refused):
        assert not list(validator.iter_errors(result.model_dump(mode="json")))


def test_the_listing_is_small() -> None:
    listed = [listing(tool) for tool in TOOLS]
    short = [[tool.name, tool.description, tool.input_schema] for tool in listed]
    assert sum(len(json.dumps(part, separators=(",", ":"))) for part in short) <= 16_000
    assert sum(len(tool.model_dump_json(by_alias=True, exclude_none=True)) for tool in listed) <= 40_000


def test_a_null_or_a_single_text_is_taken_as_meant() -> None:
    tool = next(tool for tool in TOOLS if tool.name == "compile_kernel")
    parsed: Any = tool.arguments.model_validate({"source": "x", "task": None, "inputs": "f32[8]", "targets": ["v6e"]})
    assert (parsed.task, parsed.inputs, parsed.targets) == ("", ("f32[8]",), ("v6e",))


def test_the_server_starts_without_jax_and_numpy() -> None:
    heavy = "{'jax', 'numpy', 'maxkernel_tools.worker'}"
    code = f"import maxkernel_mcp.cli.serve, sys; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=python_environment(), timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"
