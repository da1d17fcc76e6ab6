"""A forked child: puts the walls up, reads its one request, does the work, sends the reply, ends.

Runs in the only process that loads this candidate. Nothing it says is trusted but arrays and exported bytes.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import random
import signal
import socket
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from maxkernel_tools.runtime import InterpretRequest, RawError, ReferenceRequest, TraceRequest
from maxkernel_tools.wire import Message, WireError
from maxkernel_tools.wire.replies import (
    encode_case,
    encode_done,
    encode_reference_reply,
    encode_trace_reply,
    encode_walls,
)
from maxkernel_tools.wire.requests import decode_request
from maxkernel_tools.worker.channel import Channel
from maxkernel_tools.worker.failures import WorkFailure, raw_error
from maxkernel_tools.worker.operations import Operations
from maxkernel_tools.worker.walls import Policy, attempts, enter, kernel


@dataclass(frozen=True)
class Surroundings:
    """What the nursery hands a child at birth.

    Attributes:
        channel: descriptor of the job's private socket.
        stdout: descriptor of the pipe fd 1 becomes. ``stderr``: likewise for fd 2.
        policy: the walls.
        readable: what every job may read.
        pid_namespace: forked into a PID namespace of its own. ``network_namespace``: the nursery left the network.
    """

    channel: int
    stdout: int
    stderr: int
    policy: Policy
    readable: Sequence[Path]
    pid_namespace: bool
    network_namespace: bool


def run(surroundings: Surroundings, operations: Operations) -> None:
    """Live the whole life of a child; the caller ends the process afterwards."""
    sock = _settle(surroundings)
    channel = Channel(sock)
    report = enter(
        surroundings.policy,
        surroundings.readable,
        pid_namespace=surroundings.pid_namespace,
        network_namespace=surroundings.network_namespace,
    )
    policy = surroundings.policy
    attempts.watch([*surroundings.readable, *policy.roots, policy.directory])
    message = channel.receive()
    if message is None:
        return
    nonce = message.nonce
    channel.send(encode_walls(report, nonce))
    error: RawError | None = None
    try:
        _work(message, channel, operations)
    except WorkFailure as failure:
        error = failure.error
    except BaseException as exception:  # noqa: BLE001 - the worker's outermost boundary: candidate code may raise anything
        error = raw_error(exception, message.kind)
    channel.send(encode_done(error, nonce))
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


def _settle(surroundings: Surroundings) -> socket.socket:
    os.setsid()
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    with open(os.devnull, "rb") as null:  # noqa: PTH123 - descriptors are what this is about
        os.dup2(null.fileno(), 0)
    os.dup2(surroundings.stdout, 1)
    os.dup2(surroundings.stderr, 2)
    os.dup2(surroundings.channel, 3)
    os.closerange(4, os.sysconf("SC_OPEN_MAX"))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    faulthandler.enable(file=2, all_threads=False)
    home = str(surroundings.policy.directory)
    os.chdir(home)
    os.environ.update(HOME=home, TMPDIR=home)
    tempfile.tempdir = home
    random.seed()
    return socket.socket(fileno=3)


def _work(message: Message, channel: Channel, operations: Operations) -> None:
    request = decode_request(message)
    if isinstance(request, TraceRequest):
        channel.send(encode_trace_reply(operations.trace(request), message.nonce))
    elif isinstance(request, InterpretRequest):
        for case in operations.interpret(request):
            channel.send(encode_case(case, message.nonce))
    elif isinstance(request, ReferenceRequest):
        channel.send(encode_reference_reply(operations.reference(request), message.nonce))
    else:
        raise WireError(f"A child does not {message.kind}.")
