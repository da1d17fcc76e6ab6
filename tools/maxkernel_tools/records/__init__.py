"""Frozen records that cross module and process boundaries. Pure data: no jax, no MCP, no I/O."""

from maxkernel_tools.records.arrays import ArraySpec
from maxkernel_tools.records.base import Record
from maxkernel_tools.records.findings import Finding, FindingCode, Severity, Stage
from maxkernel_tools.records.kernels import KernelSource, ParamValue
from maxkernel_tools.records.results import Artifact, ToolResult
from maxkernel_tools.records.targets import Target, parse_target

__all__ = [
    "ArraySpec",
    "Artifact",
    "Finding",
    "FindingCode",
    "KernelSource",
    "ParamValue",
    "Record",
    "Severity",
    "Stage",
    "Target",
    "ToolResult",
    "parse_target",
]
