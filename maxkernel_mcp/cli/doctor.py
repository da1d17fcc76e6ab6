"""``maxkernel doctor``: what works here, what does not, and the cure."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path
from typing import Final

import anyio
from rich.console import Console
from rich.markup import escape

import jaxbench
from maxkernel_lab.lab import Lab
from maxkernel_lab.platforms import find_compiler
from maxkernel_lab.settings import Settings
from maxkernel_mcp.cli import ANSWER_IS_NO, OK
from maxkernel_mcp.cli.printing import shell_progress
from maxkernel_mcp.cli.tools import shell_settings
from maxkernel_tools.records.base import Record
from maxkernel_tools.records.compiles import CompileResult
from maxkernel_tools.records.verdicts import SandboxReport

_FREE_BYTES: Final = 2 << 30
_KERNEL: Final = """
import jax
from jax.experimental import pallas as pl


def _double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


def workload(x):
    return pl.pallas_call(_double, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), name="doctor")(x)
"""


class Check(Record):
    """One thing that was looked at: what was found, and what to do where it is not right.

    Attributes:
        needed: without it the lab does not work; else it works with less.
    """

    name: str
    ok: bool
    found: str
    cure: str = ""
    needed: bool = True


def doctor(options: argparse.Namespace) -> int:
    """Examine the machine, and compile a small kernel where that is possible."""
    settings = shell_settings(options, {})
    checks = anyio.run(_examine, settings, options.json)
    ok = all(check.ok for check in checks if check.needed)
    if options.json:
        report = {"ok": ok, "checks": [check.model_dump(mode="json") for check in checks]}
        sys.stdout.write(json.dumps(report, ensure_ascii=False) + "\n")
    else:
        _print(checks, ok=ok)
    return OK if ok else ANSWER_IS_NO


async def _examine(settings: Settings, quiet: bool) -> list[Check]:
    checks = [_command(), _disk(settings.home)]
    compiler = find_compiler()
    checks.append(
        Check(
            name="TPU compiler",
            ok=compiler.available,
            found="jax, jaxlib and libtpu are installed" if compiler.available else compiler.reason,
            cure="" if compiler.available else "Use a lab elsewhere; the rest of this package works here.",
        )
    )
    async with Lab.open(settings, jaxbench.task_roots()) as lab:
        checks.append(
            Check(name="home", ok=True, found=f"{settings.home} is writable, its store is in order", needed=True)
        )
        if compiler.available:
            with shell_progress(enabled=not quiet) as progress:
                arguments = {"source": _KERNEL, "inputs": ["f32[8,128]"], "targets": [settings.target.value]}
                result = await lab.call("compile_kernel", arguments, progress)
            words = result.summary if isinstance(result, CompileResult) else f"It does not work: {result.summary}"
            cure = "" if result.ok else "Run `maxkernel compile` on a kernel of yours and see the log on stderr."
            checks.append(Check(name="compiling", ok=bool(result.ok), found=words, cure=cure))
            checks.append(_sandbox(lab.services.runtime.sandbox))
    return checks


def _command() -> Check:
    found = shutil.which("maxkernel")
    return Check(
        name="command",
        ok=found is not None,
        found=found or "maxkernel is not on PATH",
        cure=""
        if found
        else f"GUI clients do not inherit PATH: give them `{sys.executable} -P -m maxkernel_mcp serve`.",
        needed=False,
    )


def _disk(home: Path) -> Check:
    place = next(path for path in (home, *home.parents) if path.exists())
    free = shutil.disk_usage(place).free
    return Check(
        name="disk",
        ok=free > _FREE_BYTES,
        found=f"{free / (1 << 30):.1f} GiB free for {home}",
        cure="" if free > _FREE_BYTES else "Free some space, or set MAXKERNEL_HOME to another disk.",
        needed=False,
    )


def _sandbox(report: SandboxReport | None) -> Check:
    walls = report.model_dump(exclude={"notes"}) if report else {}
    if walls.get("landlock"):
        walls.pop("bwrap", None)  # the other way to the same wall
    missing = [name for name, stands in walls.items() if not stands]
    cure = " ".join(report.notes) if report else ""
    return Check(
        name="sandbox",
        ok=bool(walls) and not missing,
        found=f"in force: {', '.join(name for name, stands in walls.items() if stands) or 'nothing'}"
        + (f"; not in force: {', '.join(missing)}" if missing else ""),
        cure=cure,
        needed=False,
    )


def _print(checks: list[Check], *, ok: bool) -> None:
    console = Console(soft_wrap=True, highlight=False)
    for check in checks:
        mark = "[green]✓[/]" if check.ok else ("[red]✗[/]" if check.needed else "[yellow]![/]")
        console.print(f"{mark} {check.name}: {escape(check.found)}")
        if check.cure and not check.ok:
            console.print(f"    → {escape(check.cure)}")
    console.print("The lab works here." if ok else "The lab does not work here.")
