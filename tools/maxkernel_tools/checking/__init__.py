"""The grader: whether a kernel computes what its task asks for, on inputs and shapes it could not foresee."""

from maxkernel_tools.checking.comparing import Comparison, compare
from maxkernel_tools.checking.testing import test_kernel
from maxkernel_tools.checking.tolerance import AllowedError, allowed_error

__all__ = ["AllowedError", "Comparison", "allowed_error", "compare", "test_kernel"]
