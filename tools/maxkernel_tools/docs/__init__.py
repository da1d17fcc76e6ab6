"""The documentation a kernel author needs: an index of the installed API, and a guide of our own. Never imports jax.

The entries come from a worker (``maxkernel_tools.worker.documenting``), which may.
"""

from maxkernel_tools.docs.index import build_index, index_name
from maxkernel_tools.docs.pages import Page, guide_page, guide_pages
from maxkernel_tools.docs.searching import search

__all__ = ["Page", "build_index", "guide_page", "guide_pages", "index_name", "search"]
