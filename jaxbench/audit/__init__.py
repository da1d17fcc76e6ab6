"""The audit of the tasks themselves: what a kernel that does not do the work would get away with."""
