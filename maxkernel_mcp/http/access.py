"""Who may connect and how much they may ask: records, and the rules a person's flags must keep."""

from __future__ import annotations

import ipaddress
import os
import socket
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from maxkernel_tools.errors import MisuseError

LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
_MIN_TOKEN: Final = 16
# Container engines mount secrets there with a mode of their own; nobody else is in the container.
_CONTAINER_SECRETS: Final = Path("/run/secrets")
_MAX_TOKEN: Final = 4096


@dataclass(frozen=True)
class Limits:
    """What clients may ask of the server together and apart.

    Attributes:
        body_bytes: of one request.
        requests_per_s: each address, over time; ``burst`` at once.
        in_flight: requests of all clients under way, open streams included.
        sessions: of the older era.
        idle_s: a session without a request for so long is closed.
    """

    body_bytes: int = 4 << 20
    requests_per_s: float = 500.0
    burst: int = 2000
    in_flight: int = 512
    sessions: int = 256
    idle_s: float = 1800.0


@dataclass(frozen=True, repr=False)
class Access:
    """Where to listen and for whom; not shown as text, since it holds the token.

    Attributes:
        host: address to bind. port: 0 picks one.
        token: what clients must bear; empty: none is asked for, on loopback only.
        allowed_hosts: names clients may call this server by, besides the loopback's and ``host``.
    """

    host: str = "127.0.0.1"
    port: int = 0
    token: str = ""
    allowed_hosts: tuple[str, ...] = ()

    def checked(self) -> Access:
        """Return this, where it may be served.

        Raises:
            MisuseError: other machines could connect without a token.
        """
        if not self.token and not is_loopback(self.host):
            raise MisuseError(
                f"--host {self.host} is reachable from other machines, and there is no token.",
                allowed="127.0.0.1, ::1 or localhost without a token; any address with --token-file.",
                action="Make one with `umask 077; openssl rand -hex 32 > token` and pass --token-file token.",
            )
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """Names in ``Host`` and ``Origin`` that are this server."""
        own = () if self.host in {"0.0.0.0", "::"} else (_bracketed(self.host),)  # noqa: S104 - compared, not bound
        machine = () if is_loopback(self.host) else (socket.gethostname(),)
        return tuple(dict.fromkeys((*LOOPBACK, *own, *machine, *map(_bracketed, self.allowed_hosts))))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach ``host``; a name that resolves elsewhere, or not at all, is not."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def read_token(path: Path) -> str:
    """Return the token in ``path``.

    Raises:
        MisuseError: the file cannot be read, others may read it, or it holds no usable token. The token is never told.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as stream:
            mode = os.fstat(stream.fileno()).st_mode
            data = stream.read(_MAX_TOKEN + 1)
    except OSError as error:
        raise MisuseError(
            f"The token file {path} cannot be read: {error.strerror}.", allowed="a readable file.", action="Correct it."
        ) from None
    if mode & (stat.S_IRWXG | stat.S_IRWXO) and not path.is_relative_to(_CONTAINER_SECRETS):
        raise MisuseError(
            f"Others may read the token file {path} (mode {stat.S_IMODE(mode):04o}).",
            allowed="a file only its owner can read.",
            action=f"Run `chmod 600 {path}`.",
        )
    token = data.decode("ascii", "replace").strip()
    if not _MIN_TOKEN <= len(token) <= _MAX_TOKEN or not _is_bearable(token):
        raise MisuseError(
            f"The token file {path} holds no usable token.",
            allowed=f"{_MIN_TOKEN} to {_MAX_TOKEN} visible ASCII characters without spaces.",
            action="Make one with `umask 077; openssl rand -hex 32 > token`.",
        )
    return token


def _is_bearable(token: str) -> bool:
    return all("!" <= character <= "~" for character in token)


def split_authority(value: str) -> str:
    """Return the host of ``host``, ``host:port`` or ``[v6]:port``, in lower case."""
    host = value.rpartition(":")[0] if ":" in value.rpartition("]")[2] else value
    return host.lower()


def names_of(hosts: Sequence[str]) -> frozenset[str]:
    """Return ``hosts`` for comparison."""
    return frozenset(host.lower() for host in hosts)
