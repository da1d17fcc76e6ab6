"""The built-in author's craft: reads a reference's jaxpr as data and writes Pallas source from blueprints.

Knows nothing of MCP, minds or jobs, and never runs what it writes: the lab's tools judge it like any other candidate.
"""

from maxkernel_orchestrators.authoring.blocks import ChipFacts
from maxkernel_orchestrators.authoring.drafting import Draft, drafts_for
from maxkernel_orchestrators.authoring.graphs import Unrecognised

__all__ = ["ChipFacts", "Draft", "Unrecognised", "drafts_for"]
