"""The nursery: a warm process of one thread that forks a child per job, watches over it and says how it ended.

It has imported jax and used no backend, so that a fork costs milliseconds. It takes orders on a control socket of whole
messages (the job's private socket comes along as a descriptor), never reads a job's data and never runs its code.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import selectors
import signal
import socket
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any, Final

from maxkernel_tools.worker import child, operations
from maxkernel_tools.worker.jobs import Job, JobOrder
from maxkernel_tools.worker.walls import Policy, kernel, readable_paths
from maxkernel_tools.worker.walls.namespaces import Namespaces, leave

_TICK_S: Final = 0.02
_MESSAGE_BYTES: Final = 1 << 17


class Nursery:
    """The event loop over one control socket.

    Args:
        control: a ``SOCK_SEQPACKET`` socket; its end means that the lab is gone.
        without: walls to leave out.
    """

    def __init__(self, control: socket.socket, without: frozenset[str]) -> None:
        self._control = control
        self._without = without
        self._namespaces = Namespaces(network=False, pid_home=None) if "pid-namespace" in without else leave()
        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
        self._operations = operations.load()
        self._readable = readable_paths()
        self._jobs: dict[str, Job] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(control, selectors.EVENT_READ, self._take_order)

    def serve(self) -> None:
        """Serve until the control socket ends."""
        gc.collect()
        gc.freeze()
        self._tell({"event": "ready", "pid": os.getpid()})
        while True:
            for key, _ in self._selector.select(_TICK_S if self._jobs else None):
                key.data()
            for job in list(self._jobs.values()):
                job.watch(time.monotonic())
            self._sweep()

    def _tell(self, event: dict[str, Any]) -> None:
        self._control.send(json.dumps(event).encode())

    def _take_order(self) -> None:
        data, descriptors, _, _ = socket.recv_fds(self._control, _MESSAGE_BYTES, 1)
        if not data:
            self._end()
        order = json.loads(data)
        if order["op"] == "kill":
            job = self._jobs.get(order["job"])
            if job is not None:
                job.kill("exited")
            return
        self._start(JobOrder(**order["spec"]), descriptors[0])

    def _start(self, order: JobOrder, channel: int) -> None:
        out_read, out_write = os.pipe2(os.O_CLOEXEC)
        err_read, err_write = os.pipe2(os.O_CLOEXEC)
        policy = Policy(
            directory=Path(order.directory),
            roots=tuple(Path(path) for path in order.roots),
            memory_bytes=order.memory_bytes,
            cpu_s=order.cpu_s,
            without=self._without,
        )
        surroundings = child.Surroundings(
            channel=channel,
            stdout=out_write,
            stderr=err_write,
            policy=policy,
            readable=self._readable,
            pid_namespace=self._namespaces.pid_home is not None,
            network_namespace=self._namespaces.network,
        )
        pid = self._namespaces.fork()
        if pid == 0:
            _live(surroundings, self._operations)
        for descriptor in (out_write, err_write, channel):
            os.close(descriptor)
        job = Job(order, pid, out_read, err_read, time.monotonic())
        self._jobs[order.job] = job
        self._selector.register(job.pidfd, selectors.EVENT_READ, lambda: self._finish(job))
        for pipe in job.pipes:
            self._selector.register(pipe.descriptor, selectors.EVENT_READ, lambda pipe=pipe: self._drain(pipe, job))

    def _drain(self, pipe: Any, job: Job) -> None:
        if not pipe.drain():
            self._selector.unregister(pipe.descriptor)
            pipe.close()
        if pipe.flooded:
            job.kill("output-flood")

    def _finish(self, job: Job) -> None:
        self._selector.unregister(job.pidfd)
        report = job.reap(time.monotonic())
        for pipe in job.pipes:
            if not pipe.closed:
                pipe.drain()
                self._selector.unregister(pipe.descriptor)
                pipe.close()
        del self._jobs[job.order.job]
        self._tell({"event": "ended", "job": job.order.job, **report, **job.tails()})

    def _sweep(self) -> None:
        """Kill strays: a job's grandchildren come to this subreaper when their parent ends."""
        if self._namespaces.pid_home is not None:
            return
        known = {job.pid for job in self._jobs.values()}
        try:
            children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        except OSError:
            return
        for pid in (int(text) for text in children):
            if pid not in known:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)

    def _end(self) -> None:
        for job in self._jobs.values():
            job.kill("exited")
        self._sweep()
        os._exit(0)


def _live(surroundings: child.Surroundings, todo: operations.Operations) -> None:
    """Be the child; never returns into the nursery's loop."""
    code = 0
    try:
        child.run(surroundings, todo)
    except BaseException:  # noqa: BLE001 - outermost boundary of the process; the text goes to the job's own fd 2
        traceback.print_exc()
        code = 70
    finally:
        os._exit(code)


def main(arguments: list[str]) -> None:
    """Serve on the control socket ``--fd`` as a child of ``--parent``; dies with it."""
    parser = argparse.ArgumentParser(prog="nursery")
    parser.add_argument("--fd", type=int, required=True)
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--without", nargs="*", default=[])
    options = parser.parse_args(arguments)
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != options.parent:
        sys.exit("the lab is gone")
    warnings.filterwarnings("ignore", message=".*os.fork.*")
    Nursery(socket.socket(fileno=options.fd), frozenset(options.without)).serve()
