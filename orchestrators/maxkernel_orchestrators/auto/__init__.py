"""Auto: climbs from the best verified kernel until a stopping rule holds."""

from maxkernel_orchestrators.auto.climb import Climb

__all__ = ["Climb"]
