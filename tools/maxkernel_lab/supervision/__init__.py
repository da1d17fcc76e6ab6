"""Starts, watches and ends processes; moves frames between them and the lab. Knows nothing of kernels."""
