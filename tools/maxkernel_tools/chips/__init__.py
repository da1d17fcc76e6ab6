"""Hardware facts per TPU generation, as data with a source for each figure; no other place holds one."""

from maxkernel_tools.chips.table import Chip, chip, chip_sources, roofline_us

__all__ = ["Chip", "chip", "chip_sources", "roofline_us"]
