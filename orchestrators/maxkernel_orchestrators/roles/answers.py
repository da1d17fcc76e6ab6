"""What each role answers. A mind that is a language model is asked for exactly these fields as JSON."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from maxkernel_tools.records.base import Record
from maxkernel_tools.records.kernels import ParamValue

Figure = Literal[
    "time_us", "mxu", "vpu", "xlu", "eup", "load", "store", "scalar", "dma", "hbm_bytes", "vmem_bytes", "spill_slots"
]
"""A figure of a profile that a plan may promise to change."""


class Expectation(Record):
    """A promise about one figure of the profile, kept beside what came of it.

    Attributes:
        figure: which.
        direction: where it shall go.
        factor: new value over old, where the planner dares to say.
    """

    figure: Figure
    direction: Literal["up", "down", "same"]
    factor: float | None = None


class Plan(Record):
    """What to try next.

    Attributes:
        move: name of the move, from the catalogue where it is there.
        hypothesis: why it should help, grounded in a figure or a finding.
        expects: the effect on the profile.
        tiling: block shapes, in words.
        vmem_bytes: memory the plan reckons with.
    """

    move: str = Field(min_length=1, max_length=200)
    hypothesis: str = Field(min_length=1, max_length=4000)
    expects: tuple[Expectation, ...] = ()
    tiling: str = ""
    vmem_bytes: int | None = None


class Implementation(Record):
    """A whole kernel file, and the values worth trying beside its defaults.

    Attributes:
        source: the file's text; defines ``workload``.
        params: values to use over the file's ``PARAMS``.
        trials: further values, most promising first.
        note: what was done and why, short.
    """

    source: str = Field(min_length=1, max_length=256_000)
    params: dict[str, ParamValue] = Field(default_factory=dict)
    trials: tuple[dict[str, ParamValue], ...] = ()
    note: str = ""


class Diagnosis(Record):
    """A repair: the finding it answers, what was changed, and the whole new file."""

    finding: str
    change: str
    implementation: Implementation


class TestReading(Record):
    """What a failed test says about the kernel; never a verdict, which is the grader's."""

    __test__ = False  # keeps pytest from collecting it

    cause: str
    suspicion: str = ""


class ProfileReading(Record):
    """What holds the kernel back, and the lever to pull next."""

    bottleneck: str
    lever: str
    figure: Figure | None = None


class Explanation(Record):
    """A kernel explained to a person."""

    text: str
