"""Where a lab may be: ``http(s)://HOST:PORT[/mcp]`` or ``ssh:[USER@]HOST``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from maxkernel_mcp.http.access import is_loopback
from maxkernel_tools.errors import MisuseError

_ALLOWED: Final = "http://HOST:PORT/mcp, https://HOST/mcp, or ssh:HOST (ssh:USER@HOST)."
# A host that began with a dash would be an option of ssh's.
_SSH_HOST: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]*(@[A-Za-z0-9_\[][A-Za-z0-9_.:\-\]]*)?")


@dataclass(frozen=True, repr=False)
class Place:
    """A lab elsewhere; not shown as text, since it may hold a token.

    Attributes:
        url: of its MCP endpoint, or empty. ssh_host: or the host to reach by ssh.
        token: what its server wants borne.
        command: what starts a lab's server there, for ssh.
    """

    url: str = ""
    ssh_host: str = ""
    token: str = ""
    command: str = "maxkernel serve"

    @property
    def shown(self) -> str:
        """How to speak of it."""
        return self.url or f"ssh:{self.ssh_host}"


def parse_place(text: str, *, token: str = "", command: str = "") -> Place:
    """Return the place a person named.

    Raises:
        MisuseError: it is no such place, or a token would travel in the clear.
    """
    if text.startswith("ssh:"):
        host = text.removeprefix("ssh:").removeprefix("//")
        if not _SSH_HOST.fullmatch(host):
            raise MisuseError(f"{text[:200]!r} names no host.", allowed=_ALLOWED, action="Write it like ssh:lab-host.")
        return Place(ssh_host=host, command=command or "maxkernel serve")
    try:
        parts = urlsplit(text)
        port_is_right = parts.port is None or parts.port > 0
    except ValueError:
        raise MisuseError(f"{text[:200]!r} is no address.", allowed=_ALLOWED, action="Correct it.") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or not port_is_right:
        raise MisuseError(f"{text[:200]!r} is no place of a lab.", allowed=_ALLOWED, action="Correct it.")
    if parts.username or parts.password:
        raise MisuseError("The address holds a password.", allowed=_ALLOWED, action="Use --token-file for a secret.")
    if token and parts.scheme == "http" and not is_loopback(parts.hostname):
        raise MisuseError(
            f"The token would travel in the clear to {parts.hostname}.",
            allowed="https://, ssh:HOST, or http:// to this machine.",
            action=f"Use ssh:{parts.hostname}, or a tunnel (ssh -L) and http://127.0.0.1:PORT/mcp.",
        )
    path = parts.path if parts.path not in {"", "/"} else "/mcp"
    return Place(url=parts._replace(path=path, fragment="").geturl(), token=token)
