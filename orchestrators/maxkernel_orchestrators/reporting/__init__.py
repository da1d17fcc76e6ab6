"""What a run says at its end: the result record, the exported kernel, a report, a table for the shell."""

from maxkernel_orchestrators.reporting.export import export
from maxkernel_orchestrators.reporting.outcome import OptimizationResult, outcome_of

__all__ = ["OptimizationResult", "export", "outcome_of"]
