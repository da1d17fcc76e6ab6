"""Runs a kernel body on indices alone: which parts of which reference are read, written and copied, step by step.

No data is computed. What depends on data is unknown, and the unknown raises no alarm: an unknown branch may have
written anything it writes, an unknown wait may have awaited anything.
"""

from maxkernel_tools.worker.inspecting.simulating.steps import simulate

__all__ = ["simulate"]
