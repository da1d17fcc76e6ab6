"""Tells clients that resources changed, in both eras: over listen streams, and to sessions that subscribed.

What changes are runs: a call that answers with a run id may have written to that run. The list of resources changes
with the first word of a run.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final

import anyio
import mcp_types as types
import structlog
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourcesListChanged, ResourceUpdated
from mcp.shared.exceptions import MCPError

from maxkernel_tools.records.results import ToolResult

_logger = structlog.get_logger(__name__)
_Context = Any
_MAX_SUBSCRIPTIONS: Final = 1024
_MAX_SEEN: Final = 10_000


class Changes:
    """Who wants to hear of which resource, and the telling.

    Attributes:
        listen: handler of ``subscriptions/listen``, the newer era's one stream for all changes.
    """

    def __init__(self) -> None:
        self._bus = InMemorySubscriptionBus()
        self.listen = ListenHandler(self._bus)
        self._subscribed: OrderedDict[tuple[int, str], Any] = OrderedDict()
        self._seen: OrderedDict[str, None] = OrderedDict()

    def subscribe(self, context: _Context, uri: str) -> None:
        """Tell this session of changes of ``uri`` from now on; of too many subscriptions the oldest goes."""
        self._subscribed[(_identity(context), uri)] = (context.session, context.session.client_params)
        while len(self._subscribed) > _MAX_SUBSCRIPTIONS:
            self._subscribed.popitem(last=False)

    def unsubscribe(self, context: _Context, uri: str) -> None:
        """Undo ``subscribe``."""
        self._subscribed.pop((_identity(context), uri), None)

    async def after_call(self, context: _Context, result: ToolResult) -> None:
        """Tell what a finished call changed."""
        if result.run_id is None:
            return
        uri = f"maxkernel://runs/{result.run_id}"
        await self._bus.publish(ResourceUpdated(uri=uri))
        for key, (session, _) in list(self._subscribed.items()):
            if key[1] == uri:
                await self._send(session.send_resource_updated(uri), key)
        if result.run_id not in self._seen:
            self._seen[result.run_id] = None
            while len(self._seen) > _MAX_SEEN:
                self._seen.popitem(last=False)
            await self._bus.publish(ResourcesListChanged())
            await self._send(context.session.send_resource_list_changed(), None)

    async def _send(self, sending: Any, key: tuple[int, str] | None) -> None:
        """Send, and forget a session that is gone; nothing is owed to it."""
        try:
            with anyio.move_on_after(1):
                await sending
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, MCPError):
            if key is not None:
                self._subscribed.pop(key, None)


def _identity(context: _Context) -> int:
    """Return what tells one connection from another: a session object is made anew for each request."""
    return id(context.session.client_params)


def resource_uri(params: types.SubscribeRequestParams | types.UnsubscribeRequestParams) -> str:
    """Return the resource a subscription is about, without its page."""
    return str(params.uri).split("?", 1)[0]
