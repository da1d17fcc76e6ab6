"""What ``test_kernel`` answers."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from maxkernel_tools.records.base import Record
from maxkernel_tools.records.results import ToolResult

Verdict = Literal["correct", "incorrect", "inconclusive", "rejected", "crashed", "timed-out"]
TestLevel = Literal["quick", "full", "sanitize"]


class CaseReport(Record):
    """One shape and seed, compared with the oracle.

    Errors are relative to the spread of the oracle's output where ``*_rel_err`` says so, absolute otherwise.
    """

    name: str
    dims: dict[str, int] = Field(default_factory=dict)
    inputs: tuple[str, ...] = ()
    seed: int | None = None
    dtype: str = ""
    passed: bool
    max_abs_err: float | None = None
    mean_abs_err: float | None = None
    max_rel_err: float | None = None
    allowed: float | None = None
    first_bad_index: tuple[int, ...] | None = None
    bad_fraction: float | None = None
    explanation: str = ""


class SanitizerReport(Record):
    """What interpretation with checks on watched for, and what it saw."""

    races_checked: bool = False
    uninitialized_checked: bool = False
    out_of_bounds_checked: bool = False
    cores: tuple[int, ...] = ()
    dma_modes: tuple[str, ...] = ()
    races: int = 0
    uninitialized_reads: int = 0
    out_of_bounds_reads: int = 0


class SandboxReport(Record):
    """Which walls stood around the candidate while it ran."""

    landlock: bool = False
    bwrap: bool = False
    rlimits: bool = False
    no_network: bool = False
    pid_namespace: bool = False
    seccomp: bool = False
    memory_watchdog: bool = False
    notes: tuple[str, ...] = ()


class Receipt(Record):
    """Hashes an accepted verdict rests on; ``maxkernel verify`` recomputes them.

    Attributes:
        imported_files: hash of every file of the user's project the kernel imported, by path under its import root.
    """

    candidate_sha256: str
    task_sha256: str
    policy_sha256: str
    grader_sha256: str
    flags: str
    versions: dict[str, str]
    seed_commitment: str
    imported_files: dict[str, str] = Field(default_factory=dict)


class TestResult(ToolResult):
    """Answer of ``test_kernel``.

    Attributes:
        verdict: the grader's word; ``ok`` is ``verdict == "correct"``.
        tier: what it rests on: ``interpret`` (not silicon) or ``device``.
        cases: every shape and seed tried.
        unexercised: grid axes no case gave two steps and a ragged one.
    """

    __test__ = False  # keeps pytest from collecting it

    verdict: Verdict
    level: TestLevel = "quick"
    tier: Literal["interpret", "device", "cpu-stand-in"] = "interpret"
    cases: tuple[CaseReport, ...] = ()
    sanitizer: SanitizerReport | None = None
    sandbox: SandboxReport | None = None
    unexercised: tuple[str, ...] = ()
    shape_generality: str = ""
    receipt: Receipt | None = None


class Difference(Record):
    """One thing an accepted verdict rests on that is not what it was."""

    what: str
    then: str
    now: str


class VerifyResult(ToolResult):
    """Answer of ``maxkernel verify``: whether an accepted verdict still stands.

    Attributes:
        rerun: the kernel was judged again on new seeds; without it only hashes were compared.
        compared: what was recomputed. differences: what of it is not as it was.
        verdict_then: the recorded verdict. verdict_now: the new one; empty without a rerun.
    """

    level: str = ""
    target: str = ""
    rerun: bool = False
    verdict_then: str = ""
    verdict_now: str = ""
    compared: tuple[str, ...] = ()
    differences: tuple[Difference, ...] = ()
