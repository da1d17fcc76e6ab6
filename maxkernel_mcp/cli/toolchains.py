"""``maxkernel toolchain``: other versions of jax and libtpu to compile with."""

from __future__ import annotations

import argparse
import json
import sys

import anyio
from rich.console import Console
from rich.markup import escape

from maxkernel_lab.home import Home
from maxkernel_lab.settings import load_settings
from maxkernel_lab.toolchains.stored import Stored, installed, list_toolchains, remove_toolchain
from maxkernel_mcp.cli import MACHINERY, OK
from maxkernel_mcp.cli.printing import shell_progress
from maxkernel_tools.errors import MachineryError


def add(options: argparse.Namespace) -> int:
    """Make a toolchain, and say what it is and lacks."""
    from maxkernel_lab.toolchains.installing import add_toolchain  # noqa: PLC0415 - only to add one

    home = _home(options)

    async def make() -> Stored:
        with shell_progress(enabled=not options.json) as progress:
            return await add_toolchain(home.root, options.specs, progress, options.name)

    try:
        made = anyio.run(make)
    except MachineryError as error:
        if options.json:
            _write({"ok": False, "summary": str(error), "toolchains": []})
        print(f"maxkernel: {error}", file=sys.stderr)
        return MACHINERY
    _report(options, f"{made.name} is ready: maxkernel compile K.py --toolchain {made.name}", [made])
    return OK


def show(options: argparse.Namespace) -> int:
    """List the toolchains, the installed one first."""
    found = [installed(), *list_toolchains(_home(options).root)]
    _report(options, f"{len(found)} toolchain{'s' if len(found) > 1 else ''}", found)
    return OK


def remove(options: argparse.Namespace) -> int:
    """Remove a toolchain."""
    gone = remove_toolchain(_home(options).root, options.name)
    _report(options, f"{gone.name} is removed", [])
    return OK


def _home(options: argparse.Namespace) -> Home:
    return Home(load_settings(flags={"home": options.home}).home).ensure()


def _report(options: argparse.Namespace, summary: str, toolchains: list[Stored]) -> None:
    if options.json:
        listed = [found.model_dump(mode="json", exclude={"packages"}) for found in toolchains]
        _write({"ok": True, "summary": summary, "toolchains": listed})
        return
    console = Console(soft_wrap=True, highlight=False)
    console.print(f"[green]✓[/] {escape(summary)}")
    for found in toolchains:
        versions = ", ".join(f"{name} {version}" for name, version in found.versions.items())
        console.print(f"  {escape(found.name)}: {escape(versions)}")
        for words in found.lacks:
            console.print(f"    lacks {escape(words)}")


def _write(report: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(report, ensure_ascii=False) + "\n")
