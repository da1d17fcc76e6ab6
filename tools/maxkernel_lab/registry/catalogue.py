"""All tools, each defined once."""

from __future__ import annotations

import difflib
from typing import Final

from maxkernel_lab.registry import arguments as args
from maxkernel_lab.registry import (
    diff_tools,
    docs_tools,
    environment,
    job_tools,
    kernel_tools,
    plan_tools,
    run_tools,
    task_tools,
    tuning_tools,
    verifying,
)
from maxkernel_lab.registry.definition import Tool
from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.compiles import CompileResult
from maxkernel_tools.records.diffs import DiffResult
from maxkernel_tools.records.docs import LookupResult
from maxkernel_tools.records.environments import EnvironmentResult
from maxkernel_tools.records.jobs import JobResult, RunListResult, RunResult
from maxkernel_tools.records.plans import PlanResult
from maxkernel_tools.records.profiles import ProfileResult
from maxkernel_tools.records.tasks import TaskListResult, TaskResult
from maxkernel_tools.records.tuning import TuneResult
from maxkernel_tools.records.verdicts import TestResult, VerifyResult

TOOLS: Final[tuple[Tool, ...]] = (
    Tool(
        name="describe_environment",
        title="Describe the lab",
        description="Where this lab runs and what it can do: versions, runtimes, targets, sandbox, authors, limits, "
        "and the origin of each setting. Call it first when something is unavailable.",
        arguments=args.NoArguments,
        result=EnvironmentResult,
        handler=environment.describe_environment,
    ),
    Tool(
        name="list_tasks",
        title="List tasks",
        description="List the benchmark's kernel tasks, filtered by words and tier.",
        arguments=args.ListTasksArguments,
        result=TaskListResult,
        handler=task_tools.list_tasks,
    ),
    Tool(
        name="get_task",
        title="Get a task",
        description="What a task computes: semantics, inputs, reference source and jaxpr, tolerance policy, flops, "
        "bytes, roofline time per TPU, published times with their source. Also reads a reference of your own with its "
        "inputs.",
        arguments=args.GetTaskArguments,
        result=TaskResult,
        handler=task_tools.get_task,
        long=True,
    ),
    Tool(
        name="lookup_docs",
        title="Look up documentation",
        description="Signatures and documentation of the installed jax and Pallas, by name or by words, and passages "
        "of a guide to TPU kernels (tiling, memory, pipelining, DMA, matmul, attention, numerics).",
        arguments=args.LookupDocsArguments,
        result=LookupResult,
        handler=docs_tools.lookup_docs,
        long=True,
    ),
    Tool(
        name="compile_kernel",
        title="Compile a kernel",
        description="Compile a JAX Pallas kernel with the real TPU compiler, no TPU needed. Answers per target: errors "
        "with the line to edit and a hint, VMEM and SMEM use, flops, HBM bytes, an estimated time.",
        arguments=args.CompileArguments,
        result=CompileResult,
        handler=kernel_tools.compile_kernel,
        long=True,
    ),
    Tool(
        name="test_kernel",
        title="Test a kernel",
        description="Judge a kernel against its reference in TPU interpret mode, in a sandbox, on inputs and "
        "tolerances the grader owns. Verdict: correct, incorrect, inconclusive, rejected, crashed or timed-out.",
        arguments=args.TestArguments,
        result=TestResult,
        handler=kernel_tools.test_kernel,
        long=True,
    ),
    Tool(
        name="profile_kernel",
        title="Profile a kernel",
        description="Time of a kernel and what bounds it, against its reference or an earlier run. Without a TPU both "
        "sides are estimated by the schedule model; time_source says which it is.",
        arguments=args.ProfileArguments,
        result=ProfileResult,
        handler=kernel_tools.profile_kernel,
        long=True,
    ),
    Tool(
        name="autotune_kernel",
        title="Autotune a kernel",
        description="Find the fastest values of a kernel's PARAMS over its SPACE with few compiles: what cannot fit or "
        "cannot win is pruned first, the winner's numerics are tested. Answers every configuration and why it fell; "
        "the tuned source is an artifact, the file is never edited. What was timed is kept for the next call.",
        arguments=args.AutotuneArguments,
        result=TuneResult,
        handler=tuning_tools.autotune_kernel,
        long=True,
    ),
    Tool(
        name="diff_traces",
        title="Compare two runs",
        description="Where the time went between two profiler captures: parity first, then a delta split exactly over "
        "ops, each with a verdict against measured noise and what changed. Also compares two profiled runs by the "
        "compiler's schedule. The whole table and an HTML view are artifacts.",
        arguments=args.DiffArguments,
        result=DiffResult,
        handler=diff_tools.diff_traces,
        long=True,
    ),
    Tool(
        name="start_optimization",
        title="Start an optimisation",
        description="Start an unattended search for a faster kernel and return a job_id at once. Follow with get_job.",
        arguments=args.OptimizeArguments,
        result=JobResult,
        handler=job_tools.start_optimization,
        read_only=False,
        idempotent=False,
        open_world=True,
    ),
    Tool(
        name="propose_plan",
        title="Propose a plan",
        description="Put a plan before the person, who approves or rejects it in the client (elicitation) or in a "
        "shell (maxkernel plans approve). Returns plan_id and status; call it again with the same text to see whether "
        "it was approved. Then pass plan_id to the kernel tools. No tool call can approve a plan.",
        arguments=args.ProposePlanArguments,
        result=PlanResult,
        handler=plan_tools.propose_plan,
        read_only=False,
    ),
    Tool(
        name="get_job",
        title="Get a job",
        description="State, progress, best kernel so far and cost of a job; its result when done. wait_s waits for it.",
        arguments=args.GetJobArguments,
        result=JobResult,
        handler=job_tools.get_job,
    ),
    Tool(
        name="cancel_job",
        title="Cancel a job",
        description="Stop a job and all its processes. What it finished stays; resume_job continues it.",
        arguments=args.JobArguments,
        result=JobResult,
        handler=job_tools.cancel_job,
        read_only=False,
    ),
    Tool(
        name="resume_job",
        title="Resume a job",
        description="Continue an interrupted or cancelled job from its last finished step.",
        arguments=args.JobArguments,
        result=JobResult,
        handler=job_tools.resume_job,
        read_only=False,
        open_world=True,
    ),
    Tool(
        name="get_run",
        title="Get a run",
        description="The record of one candidate on one workload: its stages, results and artifacts.",
        arguments=args.GetRunArguments,
        result=RunResult,
        handler=run_tools.get_run,
    ),
    Tool(
        name="list_runs",
        title="List runs",
        description="The newest runs, with verdict and time, filtered by task, kind or verdict.",
        arguments=args.ListRunsArguments,
        result=RunListResult,
        handler=run_tools.list_runs,
    ),
)
SHELL_TOOLS: Final[tuple[Tool, ...]] = (
    Tool(
        name="verify_run",
        title="Verify a run",
        description="Recompute every hash an accepted verdict rests on, judge the kernel again, and say what differs.",
        arguments=args.VerifyArguments,
        result=VerifyResult,
        handler=verifying.verify_run,
        long=True,
    ),
)
"""Tools that only the shell offers: a client's own verdicts are no matter of trust between it and its server."""

_BY_NAME: Final = {tool.name: tool for tool in (*TOOLS, *SHELL_TOOLS)}


def find_tool(name: str) -> Tool:
    """Return the tool called ``name``.

    Raises:
        MisuseError: there is none; a close name is suggested.
    """
    tool = _BY_NAME.get(name)
    if tool is None:
        close = difflib.get_close_matches(name, _BY_NAME, n=1)
        raise MisuseError(
            f"Unknown tool {name[:80]!r}.",
            allowed=", ".join(tool.name for tool in TOOLS) + ".",
            action=f"Did you mean {close[0]}?" if close else "Call one of these.",
        )
    return tool
