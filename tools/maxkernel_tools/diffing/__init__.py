"""Compares two captures: pairs ops, splits the delta exactly, says what is more than noise. Reads no files itself."""

from maxkernel_tools.diffing.tool import TraceDiff, diff_traces, full_diff

__all__ = ["TraceDiff", "diff_traces", "full_diff"]
