"""Use a lab elsewhere: a bridge from a client's stdin and stdout to a server over HTTP or ssh."""

from maxkernel_mcp.connecting.places import Place, parse_place
from maxkernel_mcp.connecting.running import connect

__all__ = ["Place", "connect", "parse_place"]
