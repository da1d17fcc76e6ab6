"""The ``compile_kernel`` tool: what the real TPU compiler says of a kernel, per target, as findings and figures.

Owns the order trace, refuse early, compile, report. Processes and caches belong to the runtime; the meaning of errors
to ``maxkernel_tools.diagnosing``; times to ``maxkernel_tools.profiling``.
"""

from maxkernel_tools.compiling.tool import CompileOptions, compile_kernel

__all__ = ["CompileOptions", "compile_kernel"]
