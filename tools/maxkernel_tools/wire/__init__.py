"""What the lab and its worker processes say to each other, as bytes: frames, arrays, requests and replies.

Plain data in both directions and no pickle: what a candidate's process sends is read as data or refused with
:class:`WireError`. Knows no sockets, no processes and no jax.
"""

from maxkernel_tools.wire.frames import Limits, Message, WireError, encode, reading

__all__ = ["Limits", "Message", "WireError", "encode", "reading"]
