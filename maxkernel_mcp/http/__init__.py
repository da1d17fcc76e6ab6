"""The server over streamable HTTP: who may connect, how much they may ask, and how it starts and ends."""

from maxkernel_mcp.http.access import Access, Limits, read_token
from maxkernel_mcp.http.application import build_application
from maxkernel_mcp.http.listening import serve_http

__all__ = ["Access", "Limits", "build_application", "read_token", "serve_http"]
