"""The compile service: loads libtpu once, turns exported bytes into what the compiler says of them.

It never runs a candidate. Frames over one socket, one request at a time. The compiler may abort the process; the lab
then reads fd 2 and starts another.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import shutil
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any, Final

import jax
from jax import export
from jax.experimental import topologies
from jax.sharding import SingleDeviceSharding

from maxkernel_tools.records.targets import Target
from maxkernel_tools.runtime import PASSES_FOLDER, ChildReport, CompileReply, CompileRequest
from maxkernel_tools.wire import Message
from maxkernel_tools.wire.replies import encode_compile_reply
from maxkernel_tools.wire.requests import decode_request
from maxkernel_tools.worker.channel import Channel
from maxkernel_tools.worker.dumps import collect, collect_passes
from maxkernel_tools.worker.failures import WorkFailure, phase
from maxkernel_tools.worker.rehearsal import rehearsal
from maxkernel_tools.worker.tracing import trace
from maxkernel_tools.worker.walls import kernel, landlock

# The smallest hosts libtpu knows by name (there is no v7x, and v6e:1x1 wants further arguments).
_TOPOLOGIES: Final[dict[Target, str]] = {
    Target.V4: "v4:2x2x1",
    Target.V5E: "v5e:2x2",
    Target.V5P: "v5p:2x2x1",
    Target.V6E: "v6e:2x2",
    Target.TPU7X: "tpu7x:2x2x1",
}


class CompileService:
    """Compiles for every target in one process.

    Args:
        folder: the service's own folder; in ``dump`` and ``passes`` the compiler writes, ``out`` holds what is kept.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._shardings: dict[Target, SingleDeviceSharding] = {}

    def warm(self) -> None:
        """Load libtpu and compile once, which costs seconds the first time."""
        reply = trace(rehearsal(Target.V6E))
        if Target.V6E in reply.exported:
            exported = reply.exported[Target.V6E]
            self.compile(CompileRequest(exported=exported, target=Target.V6E), "rehearsal")
            shutil.rmtree(self._folder / "out" / "rehearsal", ignore_errors=True)

    def compile(self, request: CompileRequest, key: str) -> CompileReply:
        """Compile; a refusal of the compiler is a reply."""
        started = time.monotonic()
        placeholder = ChildReport(ending="completed")
        try:
            with phase("compile"):
                compiled = self._compiled(request)
                memory = _memory(compiled.memory_analysis())
                cost = _cost(compiled.cost_analysis())
                text = compiled.as_text() or ""
        except WorkFailure as failure:
            reply = CompileReply(child=placeholder, ok=False, compile_ms=_since(started), error=failure.error)
        else:
            reply = CompileReply(
                child=placeholder, ok=True, compile_ms=_since(started), memory=memory, cost=cost, hlo_text=text
            )
        if request.dumps:
            collect(self._folder / "dump", self._folder / "out" / key)
        if request.passes:
            collect_passes(self._folder / "passes", self._folder / "out" / key / PASSES_FOLDER)
        return reply

    def _compiled(self, request: CompileRequest) -> Any:
        exported = export.deserialize(bytearray(request.exported))
        sharding = self._sharding(request.target)
        arguments = [jax.ShapeDtypeStruct(aval.shape, aval.dtype, sharding=sharding) for aval in exported.in_avals]
        lowered = jax.jit(exported.call).trace(*arguments).lower(lowering_platforms=("tpu",))
        return lowered.compile(compiler_options=dict(request.options) or None)

    def _sharding(self, target: Target) -> SingleDeviceSharding:
        if target not in self._shardings:
            topology = topologies.get_topology_desc(platform="tpu", topology_name=_TOPOLOGIES[target])
            self._shardings[target] = SingleDeviceSharding(topology.devices[0])
        return self._shardings[target]


def _since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)


def _memory(stats: Any) -> dict[str, int]:
    names = [name for name in dir(stats) if name.endswith("_in_bytes")]
    return {name: int(getattr(stats, name)) for name in names}


def _cost(analysis: Any) -> dict[str, float]:
    """Numbers of ``cost_analysis()``, which is a dict, or a list of one in older versions."""
    entries = analysis if isinstance(analysis, list) else [analysis]
    return {
        str(name): float(value)
        for entry in entries
        if isinstance(entry, dict)
        for name, value in entry.items()
        if isinstance(value, int | float)
    }


def _wall_in(folder: Path) -> None:
    """The bytes come from candidates: no network, and nothing to write but the service's own folder."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    with contextlib.suppress(OSError):  # needs privileges; Landlock blocks TCP as well
        kernel.unshare(kernel.CLONE_NEWNET)
    try:
        landlock.restrict([Path("/")], [folder, Path("/dev/null")])
    except OSError as error:
        sys.stderr.write(f"Landlock refused: {error}\n")


def main(arguments: list[str]) -> None:
    """Serve on the socket ``--fd`` as a child of ``--parent``; dies with it."""
    parser = argparse.ArgumentParser(prog="compile_service")
    parser.add_argument("--fd", type=int, required=True)
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    options = parser.parse_args(arguments)
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != options.parent:
        sys.exit("the lab is gone")
    _wall_in(options.folder)
    channel = Channel(socket.socket(fileno=options.fd))
    service = CompileService(options.folder)
    service.warm()
    channel.send(Message(kind="ready", nonce="", body={}))
    while (message := channel.receive()) is not None:
        request = decode_request(message)
        if not isinstance(request, CompileRequest):
            sys.exit(f"this service does not {message.kind}")
        channel.send(encode_compile_reply(service.compile(request, message.nonce), message.nonce))
