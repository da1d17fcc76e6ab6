"""Carry messages between a client and a lab elsewhere, and answer for the lab when it is lost."""

from __future__ import annotations

from typing import Any, Final, cast

import anyio
import mcp_types as types
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    encode_header_value,
)
from mcp.shared.message import ClientMessageMetadata, SessionMessage

LAST_ANSWERS_S: Final = 10.0
"""After the client's last word, answers it still waits for are carried for so long."""
LOST_CODE: Final = -32001
_NAMED_BY: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


class Bridge:
    """One client's conversation with one lab.

    Attributes:
        lost: the lab ended the connection, not the client.
    """

    def __init__(self) -> None:
        self.lost = False
        self._asked: dict[types.RequestId, str] = {}
        self._version = ""
        self._answered = anyio.Event()

    async def run(self, near: tuple[Any, Any], far: tuple[Any, Any]) -> None:
        """Carry messages until either side ends.

        Args:
            near: the client's streams, read and write.
            far: the lab's.
        """
        async with anyio.create_task_group() as group:
            group.start_soon(self._outward, near[0], far[1], group.cancel_scope)
            async for item in far[0]:
                if isinstance(item, SessionMessage):
                    await self._inward(item, near[1])
            self.lost = True
            group.cancel_scope.cancel()

    async def _outward(self, near: Any, far: Any, scope: anyio.CancelScope) -> None:
        async for item in near:
            if not isinstance(item, SessionMessage):
                continue
            message = item.message
            if isinstance(message, types.JSONRPCRequest):
                self._asked[message.id] = message.method
            await far.send(SessionMessage(message, metadata=self._metadata(message)))
        with anyio.move_on_after(LAST_ANSWERS_S):
            while self._asked:
                self._answered = anyio.Event()
                await self._answered.wait()
        scope.cancel()

    async def _inward(self, item: SessionMessage, near: Any) -> None:
        message = item.message
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError) and message.id is not None:
            method = self._asked.pop(message.id, "")
            if method == "initialize" and isinstance(message, types.JSONRPCResponse):
                self._version = str(message.result.get("protocolVersion", ""))
            self._answered.set()
        await near.send(SessionMessage(message))

    def _metadata(self, message: types.JSONRPCMessage) -> ClientMessageMetadata | None:
        """Return the headers HTTP wants for a message: what is in the message, said once more for proxies."""
        if not isinstance(message, types.JSONRPCRequest | types.JSONRPCNotification):
            return None
        params = message.params or {}
        meta = cast("dict[str, Any]", params.get("_meta") or {})
        version = meta.get(types.PROTOCOL_VERSION_META_KEY)
        if not isinstance(version, str):
            return (
                ClientMessageMetadata(headers={MCP_PROTOCOL_VERSION_HEADER: self._version}) if self._version else None
            )
        headers = {MCP_PROTOCOL_VERSION_HEADER: version, MCP_METHOD_HEADER: message.method}
        name = params.get(_NAMED_BY.get(message.method, ""))
        if isinstance(name, str):
            headers[MCP_NAME_HEADER] = encode_header_value(name)
        return ClientMessageMetadata(headers=headers)

    def answers_for_the_lab(self, reason: str) -> list[str]:
        """Return an answer, as a line, to everything still asked: a client that waits for a lost lab waits for ever."""
        error = types.ErrorData(code=LOST_CODE, message=reason)
        answers = [types.JSONRPCError(jsonrpc="2.0", id=request, error=error) for request in self._asked]
        self._asked.clear()
        return [answer.model_dump_json(by_alias=True, exclude_unset=True) for answer in answers]
