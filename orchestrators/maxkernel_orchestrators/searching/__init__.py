"""Graph search: global exploration of the design space by ask/tell policies over a graph of candidates.

Seams: :mod:`nodes` is what a policy may know; :mod:`policies` choose; :mod:`expanding` turns a choice into a kernel;
:mod:`graph` keeps everything in SQLite; :mod:`search` is the loop. :mod:`landscapes` replays recorded design spaces, so
that policies can be compared without a lab.
"""

from maxkernel_orchestrators.searching.graph import Graph
from maxkernel_orchestrators.searching.search import Search

__all__ = ["Graph", "Search"]
