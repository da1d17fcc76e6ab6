"""Handler of ``describe_environment``: where this lab runs, what it can do, and where each setting comes from."""

from __future__ import annotations

import importlib.util
import shutil
from typing import Final

import anyio.to_thread

from maxkernel_lab.platforms import find_compiler, tpu_devices, versions
from maxkernel_lab.registry.arguments import MAX_SOURCE, NoArguments
from maxkernel_lab.registry.definition import Services
from maxkernel_tools.context import Progress
from maxkernel_tools.records.environments import AuthorReport, EnvironmentResult, RuntimeReport, SettingReport
from maxkernel_tools.records.targets import Target

RESULT_BYTES: Final = 20_000


async def describe_environment(services: Services, arguments: NoArguments, progress: Progress) -> EnvironmentResult:  # noqa: ARG001
    """Handle ``describe_environment``."""
    return await anyio.to_thread.run_sync(describe, services)


def describe(services: Services) -> EnvironmentResult:
    """Return what this lab is, without starting anything."""
    compiler, devices, settings = find_compiler(), tpu_devices(), services.settings
    found = versions()
    if compiler.available:
        lab = f"this machine, with the TPU compiler of libtpu {found.get('libtpu', '?')}"
        summary = f"A TPU kernel lab on {lab}. Times are the schedule model's estimates, never measurements."
    else:
        lab = "none: " + compiler.reason
        summary = compiler.reason
    return EnvironmentResult(
        ok=compiler.available,
        summary=summary,
        lab=lab,
        versions=dict(found),
        runtimes=(
            RuntimeReport(
                name="local-cpu",
                available=compiler.available,
                does=("compile", "interpret", "estimate"),
                note=compiler.reason,
            ),
            RuntimeReport(
                name="local-tpu",
                available=False,
                does=("measure",),
                note="A TPU is present, but measuring on it is not part of this version."
                if devices
                else "No TPU on this machine.",
            ),
        ),
        devices=devices,
        targets=tuple(target.value for target in Target) if compiler.available else (),
        sandbox=services.runtime.sandbox,
        authors=_authors(),
        limits={
            "handover_s": settings.server_handover_s,
            "result_bytes": RESULT_BYTES,
            "source_characters": MAX_SOURCE,
            "workers": settings.pool_workers,
            "memory_mb": settings.pool_memory_mb,
        },
        settings=tuple(
            SettingReport(name=name, value=value, origin=origin) for name, value, origin in settings.described()
        ),
        home=str(services.home.root),
    )


def _authors() -> tuple[AuthorReport, ...]:
    installed = importlib.util.find_spec("pydantic_ai") is not None
    need = "the provider's key in the environment or keyring"
    agents = [name for name in ("claude", "codex", "gemini") if shutil.which(name)]
    return (
        AuthorReport(name="builtin", available=True, note="Needs no key and no network."),
        AuthorReport(
            name="model",
            available=installed,
            note=f"anthropic:MODEL, openai:MODEL, google:MODEL, ollama:MODEL or openai:MODEL@URL; needs {need}."
            if installed
            else f"Needs `pip install 'maxkernel-mcp[agent]'` and {need}.",
        ),
        AuthorReport(
            name="cli",
            available=True,
            note=f"cli:claude, cli:codex, cli:gemini or cli:COMMAND; on the PATH here: {', '.join(agents) or 'none'}.",
        ),
    )
