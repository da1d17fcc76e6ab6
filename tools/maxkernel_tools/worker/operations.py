"""The three things a child can do, imported while the nursery is warm and before any wall stands."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, cast

from maxkernel_tools.runtime import (
    CaseReply,
    Frame,
    InterpretRequest,
    RawError,
    ReferenceReply,
    ReferenceRequest,
    TraceReply,
    TraceRequest,
)
from maxkernel_tools.wire import replies, requests
from maxkernel_tools.worker.failures import WorkFailure
from maxkernel_tools.worker.rehearsal import rehearsal
from maxkernel_tools.worker.walls import unchanged

# Imported lazily by jax on the first lowering; brought in early they cost each child nothing. Absent in some versions.
_LOWERING_MODULES: Final = (
    "jax.experimental.pallas.tpu",
    "jax._src.pallas.mosaic.pallas_call_registration",
    "jax._src.pallas.mosaic.sc_lowering",
    "jax._src.pallas.mosaic.interpret.interpret_pallas_call",
    "jaxlib.mlir.dialects.mhlo",
    "jaxlib.mlir.dialects.builtin",
    "jax._src.export.serialization",
    "inspect",
    "hashlib",
    "traceback",
)


@dataclass(frozen=True)
class Operations:
    """What children do. The functions return replies with a placeholder for how the child ended."""

    trace: Callable[[TraceRequest], TraceReply]
    interpret: Callable[[InterpretRequest], Iterator[CaseReply]]
    reference: Callable[[ReferenceRequest], ReferenceReply]


def load() -> Operations:
    """Import jax, the operations, and what jax would import later."""
    tracing: Any = importlib.import_module("maxkernel_tools.worker.tracing")
    for name in _LOWERING_MODULES:
        with suppress(ImportError):
            importlib.import_module(name)
    requests.prepare()
    replies.prepare()
    _rehearse(tracing.trace)
    found = Operations(
        trace=tracing.trace,
        interpret=_operation("interpreting", "interpret"),
        reference=_operation("referencing", "reference"),
    )
    unchanged.remember()
    return found


def _rehearse(trace: Callable[[TraceRequest], TraceReply]) -> None:
    """Trace a tiny kernel as far as no backend is needed, so that what it imports is there before the walls are."""
    received = requests.decode_request(requests.encode_request(rehearsal(), ""))
    replies.encode_trace_reply(trace(cast("TraceRequest", received)), "")
    error = RawError(type_name="E", message="", phase="load", frames=(Frame("kernel.py", 1, "workload"),))
    replies.decode_done(replies.encode_done(error, ""))


def _operation(module: str, name: str) -> Callable[[Any], Any]:
    """Return an operation; where this line of jax lacks what it needs, one that says so."""
    try:
        return getattr(importlib.import_module(f"maxkernel_tools.worker.{module}"), name)
    except ImportError as error:
        lacking = RawError(type_name="UnavailableOperation", message=f"Not with this jax: {error}.", phase=name)

    def absent(_: object) -> Any:
        raise WorkFailure(lacking)

    return absent
