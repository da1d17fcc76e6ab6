"""The gate before the protocol: health, host, origin, rate and token, in this order. Logs no header and no body."""

from __future__ import annotations

import hmac
import json
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import structlog
from starlette.types import ASGIApp, Receive, Scope, Send

from maxkernel_mcp import __version__
from maxkernel_mcp.http.access import Access, Limits, names_of, split_authority

HEALTH_PATH: Final = "/health"
_MAX_ADDRESSES: Final = 4096
_WRONG_TOKEN_COSTS: Final = 20.0
_GUESSES: Final = 20  # wrong tokens from one address before it has to wait
_logger = structlog.get_logger(__name__)


@dataclass
class _Bucket:
    tokens: float
    filled: float


class Gate:
    """An ASGI application around another; ``clock`` is a monotonic time in seconds."""

    def __init__(
        self, inner: ASGIApp, access: Access, limits: Limits, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._inner = inner
        self._token = access.token.encode()
        self._names = names_of(access.names)
        self._limits = limits
        self._clock = clock
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()
        self._in_flight = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through, or answer it here."""
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            status, message, more = refusal
            _logger.info("http_refused", status=status, reason=message, path=str(scope["path"])[:100])
            await _answer(send, status, {"error": message}, more)
            return
        if scope["path"] == HEALTH_PATH:
            await _answer(send, 200, {"status": "ok", "name": "maxkernel", "version": __version__}, {})
            return
        self._in_flight += 1
        try:
            await self._inner(scope, receive, send)
        finally:
            self._in_flight -= 1

    def _refusal(self, scope: Scope, headers: Mapping[str, str]) -> tuple[int, str, dict[str, str]] | None:
        """Return status, message and headers of a refusal, or None."""
        if split_authority(headers.get("host", "")) not in self._names:
            return 421, "This server is not called that. Add the name with --allow-host.", {}
        origin = headers.get("origin")
        if origin is not None and not self._is_own(origin):
            return 403, "Pages of this origin may not use this server. Add its host with --allow-host.", {}
        address = str((scope.get("client") or ("", 0))[0])
        if not self._spend(address, 1.0):
            return 429, "Too many requests.", {"retry-after": "1"}
        if scope["path"] == HEALTH_PATH:
            return None
        if self._in_flight >= self._limits.in_flight:
            return 503, "Too many requests at once.", {"retry-after": "1"}
        if self._token and not self._bears(headers.get("authorization", "")):
            self._spend(address, max(_WRONG_TOKEN_COSTS, self._limits.burst / _GUESSES))
            return 401, "A bearer token is needed.", {"www-authenticate": 'Bearer realm="maxkernel"'}
        return None

    def _is_own(self, origin: str) -> bool:
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        return parts.scheme in {"http", "https"} and split_authority(parts.netloc) in self._names

    def _bears(self, authorization: str) -> bool:
        scheme, _, token = authorization.partition(" ")
        # Compared in constant time whatever was sent; bytes, since compare_digest takes no other than ASCII text.
        same = hmac.compare_digest(token.strip().encode("utf-8", "replace"), self._token)
        return same and scheme.lower() == "bearer"

    def _spend(self, address: str, cost: float) -> bool:
        """Take ``cost`` from an address's bucket; False where it is empty."""
        now = self._clock()
        bucket = self._buckets.pop(address, None) or _Bucket(float(self._limits.burst), now)
        refilled = bucket.tokens + (now - bucket.filled) * self._limits.requests_per_s
        bucket = _Bucket(min(float(self._limits.burst), refilled), now)
        allowed = bucket.tokens >= 1.0
        bucket.tokens = max(0.0, bucket.tokens - cost)
        self._buckets[address] = bucket
        while len(self._buckets) > _MAX_ADDRESSES:
            self._buckets.popitem(last=False)
        return allowed


async def _answer(
    send: Callable[[Any], Awaitable[None]], status: int, body: Mapping[str, str], more: Mapping[str, str]
) -> None:
    data = json.dumps(body).encode()
    headers = {
        "content-type": "application/json",
        "content-length": str(len(data)),
        "cache-control": "no-store",
        **more,
    }
    lines = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": lines})
    await send({"type": "http.response.body", "body": data})
