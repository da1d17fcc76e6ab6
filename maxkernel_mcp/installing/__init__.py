"""Add this server to the settings of MCP clients: the change first, then, on request, written with a backup."""

from maxkernel_mcp.installing.clients import CLIENTS, Client, Surroundings, find_client
from maxkernel_mcp.installing.plans import Plan, Written, plan_install, plan_undo, write

__all__ = [
    "CLIENTS",
    "Client",
    "Plan",
    "Surroundings",
    "Written",
    "find_client",
    "plan_install",
    "plan_undo",
    "write",
]
