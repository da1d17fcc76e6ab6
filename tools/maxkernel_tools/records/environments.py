"""What ``describe_environment`` answers."""

from __future__ import annotations

from pydantic import Field

from maxkernel_tools.records.base import Record
from maxkernel_tools.records.results import ToolResult
from maxkernel_tools.records.verdicts import SandboxReport


class SettingReport(Record):
    """One setting and where its value comes from: ``default``, ``file …``, ``env …`` or ``flag``."""

    name: str
    value: str
    origin: str


class RuntimeReport(Record):
    """One place kernels can run or be compiled.

    Attributes:
        name: ``local-cpu``, ``local-tpu``.
        available: whether it can be used now.
        does: ``compile``, ``interpret``, ``measure``.
        note: why it is not available and what to do, where it is not.
    """

    name: str
    available: bool
    does: tuple[str, ...] = ()
    note: str = ""


class AuthorReport(Record):
    """One mind that can write kernels."""

    name: str
    available: bool
    note: str = ""


class EnvironmentResult(ToolResult):
    """Answer of ``describe_environment``.

    Attributes:
        lab: which lab is in use, in words.
        versions: of python, this package, jax, jaxlib, libtpu; absent where not installed.
        devices: TPU devices on this machine.
        targets: TPU generations that can be compiled for.
        sandbox: the walls around candidates, where they have been tried.
        limits: numbers a caller should know, with units in their names.
    """

    lab: str = ""
    versions: dict[str, str] = Field(default_factory=dict)
    runtimes: tuple[RuntimeReport, ...] = ()
    devices: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    sandbox: SandboxReport | None = None
    authors: tuple[AuthorReport, ...] = ()
    limits: dict[str, float] = Field(default_factory=dict)
    settings: tuple[SettingReport, ...] = ()
    home: str = ""
