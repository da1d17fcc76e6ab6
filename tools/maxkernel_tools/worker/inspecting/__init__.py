"""Reads what a jaxpr says about a kernel, inside the worker: facts as plain JSON, never a judgement.

Owns the walk of jaxprs, the evaluation of index maps, the simulation of kernel bodies on indices alone, and the search
for the equation an exception is about. What the facts mean is decided in ``maxkernel_tools.diagnosing``.
"""

from maxkernel_tools.worker.inspecting.facts import jaxpr_facts
from maxkernel_tools.worker.inspecting.failures import locate_failure
from maxkernel_tools.worker.inspecting.graph import reference_graph

__all__ = ["jaxpr_facts", "locate_failure", "reference_graph"]
