"""The walls around candidate code: Landlock, seccomp, limits and namespaces, through ctypes alone.

A process enters them on its own behalf, for good; each wall is optional and the report says which ones stand.
"""

from maxkernel_tools.worker.walls.policy import Policy, enter, readable_paths

__all__ = ["Policy", "enter", "readable_paths"]
