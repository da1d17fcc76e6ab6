"""The ASGI application: the SDK's streamable HTTP of both eras behind our gate."""

from __future__ import annotations

from typing import Any, Final

from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp

from maxkernel_mcp.http.access import Access, Limits
from maxkernel_mcp.http.gate import Gate

MCP_PATH: Final = "/mcp"


def build_application(server: Server[Any], access: Access, limits: Limits | None = None) -> ASGIApp:
    """Return the application that serves ``server`` at ``/mcp``, and its health at ``/health``.

    Raises:
        MisuseError: other machines could connect without a token.
    """
    given = limits or Limits()
    names = access.checked().names
    # The SDK drops its own checks for hosts that are not loopback unless told what to allow.
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[form for name in names for form in (name, f"{name}:*")],
        allowed_origins=[
            f"{scheme}://{name}{end}" for name in names for scheme in ("http", "https") for end in ("", ":*")
        ],
    )
    inner = server.streamable_http_app(
        streamable_http_path=MCP_PATH,
        transport_security=security,
        host=access.host,
        max_request_body_size=given.body_bytes,
        max_sessions=given.sessions,
        session_idle_timeout=given.idle_s,
    )
    return Gate(inner, access, given)
