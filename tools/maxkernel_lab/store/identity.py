"""The run id: the same candidate on the same workload always has the same one, so that its stages join."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from maxkernel_tools.records.kernels import params_key

if TYPE_CHECKING:
    from maxkernel_tools.context import KernelCall, Workload


def run_id_of(call: KernelCall) -> str:
    """Return the id of ``call``: ``r-`` and 12 hex digits of a hash of kernel text, roots, params and workload."""
    parts = [
        call.kernel.sha256,
        ",".join(call.kernel.import_roots),
        params_key(call.params),
        workload_key(call.workload),
    ]
    return "r-" + _digest(parts)


def workload_key(workload: Workload) -> str:
    """Return a text that is equal for equal workloads.

    The reference is part of a task's own hash. Without a task it is left out: compiling needs none, testing does, and
    both belong to one run.
    """
    if workload.task is not None:
        return f"{workload.label}@{workload.task.sha256}"
    return json.dumps([str(spec) for spec in workload.inputs])


def task_run_id(task_id: str, sha256: str) -> str:
    """Return the id under which what is known about a task itself is kept."""
    return "r-" + _digest(["task", task_id, sha256])


def call_run_id(tool: str, arguments: str) -> str:
    """Return the id under which the whole of a result that belongs to no run is kept."""
    return "r-" + _digest(["call", tool, arguments])


def _digest(parts: list[str]) -> str:
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:12]
