"""Tasks as data: read ``task.toml``, evaluate its formulas, find tasks by id or folder. No jax, nothing is executed."""

from maxkernel_tools.tasks.catalog import TaskCatalog
from maxkernel_tools.tasks.loading import REFERENCE_FILE, TASK_FILE, Task, load_task
from maxkernel_tools.tasks.sizing import (
    check_dims,
    flops,
    hbm_bytes,
    input_specs,
    least_flops,
    least_hbm_bytes,
    output_specs,
)

__all__ = [
    "REFERENCE_FILE",
    "TASK_FILE",
    "Task",
    "TaskCatalog",
    "check_dims",
    "flops",
    "hbm_bytes",
    "input_specs",
    "least_flops",
    "least_hbm_bytes",
    "load_task",
    "output_specs",
]
