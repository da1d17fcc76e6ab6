"""``autotune_kernel``: the fastest configuration of a kernel's ``SPACE`` by the schedule model, with few compiles.

Never edits the user's file; the tuned source is an artifact.
"""

from maxkernel_tools.tuning.cache import TuningCache
from maxkernel_tools.tuning.tool import autotune_kernel

__all__ = ["TuningCache", "autotune_kernel"]
