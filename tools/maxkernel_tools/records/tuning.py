"""What ``autotune_kernel`` answers: every configuration it considered and why each but one fell."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from maxkernel_tools.records.base import Record
from maxkernel_tools.records.kernels import ParamValue
from maxkernel_tools.records.results import Speedup, TimeSource, ToolResult
from maxkernel_tools.records.targets import Target

ConfigState = Literal["best", "timed", "pruned", "refused", "incorrect", "not-reached"]
"""``pruned`` fell before compiling, ``refused`` by the compiler, ``not-reached`` lies beyond the budget."""


class ConfigReport(Record):
    """One configuration.

    Attributes:
        params: values of the tuned parameters.
        floor_us: what it needs at the very least (compute at peak, exact traffic at peak bandwidth), before compiling.
        time_us: by the schedule model, where it was compiled; ``interval_us`` around it.
        tested: whether its numerics were checked, and the verdict.
        reason: why it fell, or why it stands.
    """

    params: dict[str, ParamValue]
    state: ConfigState
    reason: str
    floor_us: float | None = None
    time_us: float | None = None
    interval_us: tuple[float, float] | None = None
    vmem_bytes: int | None = None
    tested: str | None = None
    cached: bool = False


class TuneResult(ToolResult):
    """Answer of ``autotune_kernel``; fastest configurations first.

    Attributes:
        best: parameters to use; None where no configuration stands.
        default: the kernel's own ``PARAMS`` and its time, where it compiles.
        speedup: of the best over the default.
        compiles: configurations compiled in this call; ``considered`` all of the space.
    """

    target: Target
    best: dict[str, ParamValue] | None = None
    best_us: float | None = None
    interval_us: tuple[float, float] | None = None
    time_source: TimeSource = "none"
    default: dict[str, ParamValue] = Field(default_factory=dict)
    default_us: float | None = None
    speedup: Speedup | None = None
    compiles: int = 0
    considered: int = 0
    configurations: tuple[ConfigReport, ...] = ()
