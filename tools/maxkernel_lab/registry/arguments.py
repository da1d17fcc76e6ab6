"""The arguments of every tool. Descriptions are what a model reads: short, with an example where form matters."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from maxkernel_lab.registry.definition import Arguments
from maxkernel_tools.records.kernels import ParamValue
from maxkernel_tools.records.verdicts import TestLevel

MAX_SOURCE: int = 256_000
"""Longest kernel text, in characters; the largest kernels in public use are below 100 kB."""

_Path = Annotated[str, Field(max_length=4096)]
_Name = Annotated[str, Field(max_length=4096)]
_Spec = Annotated[str, Field(max_length=200)]
_Specs = Annotated[tuple[_Spec, ...], Field(max_length=64)]
_Source = Annotated[str, Field(max_length=MAX_SOURCE)]
_TARGETS = "v4 v5e v5p v6e tpu7x, or a jax device kind"


_TOOLCHAIN = "Name of an added jax and libtpu (maxkernel toolchain list); default: the installed."


class NoArguments(Arguments):
    """A tool without arguments."""


class ListTasksArguments(Arguments):
    """Filters of ``list_tasks``."""

    query: Annotated[str, Field(max_length=200, description="Words in id, title or operator.")] = ""
    tier: Annotated[str, Field(max_length=50, description="priority, kernelbench, models or user.")] = ""
    limit: Annotated[int, Field(ge=1, le=200)] = 60


class GetTaskArguments(Arguments):
    """A task, or a reference of one's own with its inputs."""

    task: Annotated[_Name, Field(description="Task id (8p_GEMM) or a task folder.")] = ""
    reference: Annotated[_Source, Field(description="Text of a plain JAX file defining workload; needs inputs.")] = ""
    reference_path: Annotated[_Path, Field(description="Path of such a file.")] = ""
    inputs: Annotated[_Specs, Field(description='Abstract inputs without a task: ["bf16[8192,8192]"].')] = ()


class LookupDocsArguments(Arguments):
    """What to look up."""

    query: Annotated[
        str,
        Field(max_length=400, description="A name (pltpu.make_async_copy, also misspelt) or words (wait for a DMA)."),
    ]
    limit: Annotated[int, Field(ge=1, le=20)] = 5


class KernelArguments(Arguments):
    """One kernel on one workload."""

    source: Annotated[_Source, Field(description="Kernel text defining workload(*inputs, **PARAMS).")] = ""
    path: Annotated[_Path, Field(description="Path of the kernel file, instead of source.")] = ""
    import_roots: Annotated[
        tuple[_Path, ...], Field(max_length=16, description="Project folders the kernel may import from.")
    ] = ()
    task: Annotated[_Name, Field(description="Task id (8p_GEMM) or a task folder; gives inputs and reference.")] = ""
    inputs: Annotated[_Specs, Field(description='Abstract inputs without a task: ["bf16[8192,8192]", "s32[16]"].')] = ()
    params: Annotated[
        dict[str, ParamValue], Field(max_length=64, description="Values over the file's PARAMS: {BLOCK_M: 256}.")
    ] = Field(default_factory=dict[str, ParamValue])
    plan_id: Annotated[
        str, Field(max_length=40, description="The approved plan this carries out; needed where the paradigm is hitl.")
    ] = ""


class CompileArguments(KernelArguments):
    """Arguments of ``compile_kernel``."""

    targets: Annotated[
        tuple[Annotated[str, Field(max_length=50)], ...],
        Field(max_length=5, description=f"TPU generations: {_TARGETS}. Default: the target in the settings (v6e)."),
    ] = ()
    toolchain: Annotated[
        tuple[Annotated[str, Field(max_length=64)], ...],
        Field(max_length=8, description=f"{_TOOLCHAIN} Several: every target with each, differences named."),
    ] = ()
    dumps: Annotated[bool, Field(description="false: no final schedule, so no time estimate; faster.")] = True
    passes: Annotated[bool, Field(description="Keep each pass of the Mosaic compiler as an artifact; slower.")] = False


class _ReferenceArguments(KernelArguments):
    reference: Annotated[_Source, Field(description="Without a task: text of a plain JAX file with workload.")] = ""
    reference_path: Annotated[_Path, Field(description="Path of such a file.")] = ""


class TestArguments(_ReferenceArguments):
    """Arguments of ``test_kernel``."""

    __test__ = False  # keeps pytest from collecting it

    level: Annotated[
        TestLevel, Field(description="quick; full adds shapes and seeds; sanitize adds races and uninitialised reads.")
    ] = "quick"
    target: Annotated[str, Field(max_length=50, description=f"TPU generation to interpret as: {_TARGETS}.")] = ""


class ProfileArguments(_ReferenceArguments):
    """Arguments of ``profile_kernel``."""

    target: Annotated[str, Field(max_length=50, description=f"TPU generation: {_TARGETS}.")] = ""
    mode: Annotated[
        Literal["auto", "estimate", "device"],
        Field(description="auto measures where a TPU is, else estimates; the result says which."),
    ] = "auto"
    against: Annotated[str, Field(max_length=50, description="reference, none, or a run id to compare with.")] = (
        "reference"
    )
    toolchain: Annotated[str, Field(max_length=64, description=_TOOLCHAIN)] = ""


class AutotuneArguments(_ReferenceArguments):
    """Arguments of ``autotune_kernel``."""

    target: Annotated[str, Field(max_length=50, description=f"TPU generation: {_TARGETS}.")] = ""
    space: Annotated[
        dict[str, Annotated[tuple[ParamValue, ...], Field(max_length=256)]],
        Field(max_length=16, description="Values to try per name of PARAMS: {BLOCK_M: [128, 256]}. Default: SPACE."),
    ] = Field(default_factory=dict[str, tuple[ParamValue, ...]])
    budget: Annotated[
        int, Field(ge=0, le=4096, description="Configurations to compile at most; 0: a quarter of them, at least 8.")
    ] = 0


class DiffArguments(Arguments):
    """Arguments of ``diff_traces``."""

    baseline: Annotated[
        _Path,
        Field(description="A capture (*.xplane.pb, *.trace.json.gz, or its folder), or a profiled run: r-…, r-…@v5e."),
    ]
    candidate: Annotated[_Path, Field(description="The same kind. Negative deltas mean this side is faster.")]
    core: Annotated[int, Field(ge=-1, le=65535, description="Core to compare; -1: the lowest in the baseline.")] = -1
    candidate_core: Annotated[int, Field(ge=-1, le=65535, description="Core of the candidate; -1: the same.")] = -1
    target: Annotated[str, Field(max_length=50, description=f"Chip, where a capture does not say: {_TARGETS}.")] = ""


class OptimizeArguments(Arguments):
    """Arguments of ``start_optimization``."""

    task: Annotated[_Name, Field(description="Task id or task folder.")] = ""
    reference_path: Annotated[_Path, Field(description="Without a task: a plain JAX file with workload.")] = ""
    inputs: Annotated[_Specs, Field(description="Abstract inputs of that reference.")] = ()
    start_from: Annotated[_Path, Field(description="Path of a kernel to improve.")] = ""
    paradigm: Annotated[Literal["", "auto", "search", "hitl"], Field(description="Default: the settings' (auto).")] = ""
    policy: Annotated[
        Literal["", "parallel", "beam", "mcts", "islands", "random"],
        Field(description="Who chooses in a graph search. Default: the settings' (parallel)."),
    ] = ""
    seed: Annotated[int, Field(ge=0, le=1 << 31, description="Seed of a graph search; 0: the settings' (0).")] = 0
    author: Annotated[
        str,
        Field(
            max_length=1000,
            description="Who writes kernels: builtin (no key), PROVIDER:MODEL, cli:NAME, or one per role.",
        ),
    ] = ""
    target: Annotated[str, Field(max_length=50, description=f"TPU generation: {_TARGETS}.")] = ""
    budget: Annotated[int, Field(ge=0, le=100_000, description="Kernels to try at most; 0: the settings'.")] = 0
    budget_tokens: Annotated[int, Field(ge=0, description="Tokens of the author, in all; 0: the settings'.")] = 0
    budget_usd: Annotated[float, Field(ge=0, description="USD for the author's tokens; 0: the settings'.")] = 0


class ProposePlanArguments(Arguments):
    """Arguments of ``propose_plan``."""

    task: Annotated[_Name, Field(min_length=1, description="Task id or folder the plan is for.")]
    plan: Annotated[
        str,
        Field(
            min_length=1,
            max_length=16_000,
            description="What to try, why, and the effect expected on which figure of the profile.",
        ),
    ]


class GetJobArguments(Arguments):
    """Arguments of ``get_job``."""

    job_id: Annotated[str, Field(max_length=40, description="As a call gave it: j-…")]
    wait_s: Annotated[float, Field(ge=0, le=40, description="Wait this long for the job to end.")] = 0


class JobArguments(Arguments):
    """Arguments of ``cancel_job`` and ``resume_job``."""

    job_id: Annotated[str, Field(max_length=40, description="As a call gave it: j-…")]


class GetRunArguments(Arguments):
    """Arguments of ``get_run``."""

    run_id: Annotated[str, Field(max_length=40, description="As a result gave it: r-…")]


class VerifyArguments(Arguments):
    """Arguments of ``maxkernel verify``."""

    run_id: Annotated[str, Field(max_length=40, description="As a result gave it: r-…")]
    hashes_only: Annotated[bool, Field(description="Compare hashes; do not judge the kernel again.")] = False


class ListRunsArguments(Arguments):
    """Filters of ``list_runs``."""

    task: Annotated[str, Field(max_length=200, description="Only runs of this task id.")] = ""
    kind: Annotated[str, Field(max_length=40, description="candidate or task.")] = ""
    verdict: Annotated[str, Field(max_length=40, description="Only runs whose newest test says this.")] = ""
    limit: Annotated[int, Field(ge=1, le=200)] = 20
