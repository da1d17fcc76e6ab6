"""``profile_kernel``: device time of a candidate and its reference by the schedule model, and what to try next."""

from maxkernel_tools.profiling.model import analyse, estimate
from maxkernel_tools.profiling.tool import profile_kernel
from maxkernel_tools.schedule.unknown import UnknownFormatError

__all__ = ["UnknownFormatError", "analyse", "estimate", "profile_kernel"]
