"""Auto: climbs from the best verified kernel until a stopping rule holds, and says honestly where it ended."""

from maxkernel_orchestrators.auto.climb import Climb, Ending
from maxkernel_orchestrators.auto.stopping import Limits, StopReason, stop_reason

__all__ = ["Climb", "Ending", "Limits", "StopReason", "stop_reason"]
