"""``maxkernel doctor``: what works here, what does not, and the cure."""

from __future__ import annotations

import argparse

import anyio

import jaxbench
from maxkernel_lab.lab import Lab
from maxkernel_lab.settings import Settings
from maxkernel_mcp.cli.tools import report, shell_settings
from maxkernel_tools.records.results import ToolResult


def doctor(options: argparse.Namespace) -> int:
    """Examine the machine and compile a small kernel where it can."""
    settings = shell_settings(options, {})
    return report(anyio.run(_examine, settings), as_json=options.json)


async def _examine(settings: Settings) -> ToolResult:
    async with Lab.open(settings, jaxbench.task_roots()) as lab:
        return await lab.call("describe_environment", {})
