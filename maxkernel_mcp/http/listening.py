"""Listen, serve until a signal comes, and end as the stdio server does: nothing of the lab stays behind."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Final

import anyio
import uvicorn

from maxkernel_lab.lab import Lab
from maxkernel_lab.settings import Settings
from maxkernel_mcp.http.access import Access, Limits
from maxkernel_mcp.http.application import MCP_PATH, build_application
from maxkernel_mcp.server import build_server
from maxkernel_mcp.serving import arm_hard_exit, leave, serve_socket, signal_comes
from maxkernel_tools.errors import MisuseError

_BACKLOG: Final = 128
_LAST_ANSWERS_S: Final = 1
_HEADER_BYTES: Final = 32 << 10


async def serve_http(
    settings: Settings,
    task_roots: Sequence[Path],
    access: Access,
    announce: Callable[[str], None],
    limits: Limits | None = None,
) -> None:
    """Serve any number of clients until a signal comes.

    Args:
        settings: of the lab.
        task_roots: the face's own tasks.
        access: where and for whom.
        announce: told the server's URL once it listens.
        limits: what clients may ask.

    Raises:
        MisuseError: the address cannot be used, or may not be without a token.
        MachineryError: the lab's home or store cannot be used.
    """
    sock = _bound(access.checked())
    async with anyio.create_task_group() as group:
        async with Lab.open(settings, task_roots, connect=serve_socket) as lab:
            application = build_application(build_server(lab), access, limits)
            server = _Server(
                uvicorn.Config(
                    application,
                    log_config=None,
                    access_log=False,
                    server_header=False,
                    timeout_graceful_shutdown=_LAST_ANSWERS_S,
                    h11_max_incomplete_event_size=_HEADER_BYTES,
                    ws="none",
                )
            )
            group.start_soon(_end_on_signal, server)
            announce(f"http://{_shown(sock)}{MCP_PATH}")
            await server.serve(sockets=[sock])
            arm_hard_exit()
        group.cancel_scope.cancel()
    leave()


class _Server(uvicorn.Server):
    """uvicorn without signal handlers of its own: ours close the lab first."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


async def _end_on_signal(server: uvicorn.Server) -> None:
    await signal_comes()
    server.should_exit = True
    arm_hard_exit(_LAST_ANSWERS_S + 8.0)


def _bound(access: Access) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            access.host, access.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        sock = socket.socket(family, kind, protocol)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.listen(_BACKLOG)
    except (OSError, OverflowError) as error:
        raise MisuseError(
            f"--host {access.host} --port {access.port} cannot be listened on: {error}.",
            allowed="an address of this machine and a free port; port 0 picks one.",
            action="Choose another port, or end what uses it.",
        ) from None
    sock.setblocking(False)
    return sock


def _shown(sock: socket.socket) -> str:
    host, port = sock.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
