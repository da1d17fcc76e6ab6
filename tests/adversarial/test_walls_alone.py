"""With the static rules switched off the walls alone must hold, the verdict must come in bounded time and say why."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from maxkernel_lab.runtimes.local import LocalLimits, LocalRuntime
from maxkernel_lab.runtimes.nursery import JobLimits
from maxkernel_tools.records.verdicts import TestResult
from tests.adversarial.corpus import rules_in_force
from tests.checking.support import judge, text_call
from tests.lab.runtimes.processes import descendants, eventually

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

pytestmark = pytest.mark.toolchain

HEAD = "import jax\nimport jax.numpy as jnp\nfrom jax.experimental import pallas as pl\n"
BODY = "def body(x_ref, o_ref):\n    o_ref[...] = x_ref[...] + 1.0\n"
REFERENCE = "def workload(x):\n    return x + 1.0\n"
FORBIDDEN = "integrity-forbidden-access"
TAMPERING = "integrity-tampering"
ROOT = Path(__file__).resolve().parents[2]

Attack = Callable[..., TestResult]


def kernel(loading: str = "", tracing: str = "") -> str:
    inside = "".join(f"    {line}\n" for line in tracing.splitlines())
    call = "    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)\n"
    return HEAD + loading + "\n" + BODY + "def workload(x):\n" + inside + call


def hidden(statements: str) -> str:
    """The same, swallowing whatever it raises."""
    return "try:\n" + "".join(f"    {line}\n" for line in statements.splitlines()) + "except BaseException:\n    pass\n"


@pytest.fixture(scope="module")
def small(portal: BlockingPortal, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRuntime]:
    limits = LocalLimits(jobs=JobLimits(memory_bytes=700 << 20, output_bytes=1 << 20))
    with portal.wrap_async_context_manager(LocalRuntime(tmp_path_factory.mktemp("walls"), limits=limits)) as running:
        yield running


@pytest.fixture
def attack(portal: BlockingPortal, small: LocalRuntime) -> Iterator[Attack]:
    def call(loading: str = "", tracing: str = "") -> TestResult:
        with rules_in_force(wanted=False):
            return portal.call(judge, small, text_call(kernel(loading, tracing), REFERENCE, ["f32[64,128]"]))

    yield call
    nursery = small.processes()["nursery default"]
    eventually(lambda: not descendants(nursery), "children of the nursery are left behind")


SNIFFERS = {
    "the reference's text": "open({reference!r}).read()",
    "the reference's package": "import jaxbench",
    "the run store": "open({home!r} + '/runs.sqlite', 'rb').read()",
    "the home folder": "import os\nos.listdir({home!r})",
    "an environment key": "import os\nos.environ['SOME_API_KEY']",
    "the network": "import socket\nsocket.create_connection(('127.0.0.1', {port}), timeout=1)",
    "the lab's process": "import os\nos.kill({pid}, 0)",
    "the lab's environment": "open('/proc/{pid}/environ', 'rb').read()",
    "the nursery's memory": "import os\nopen('/proc/%d/mem' % os.getppid(), 'rb').read(1)",
    "a shell": "import subprocess\nsubprocess.run(['/bin/sh', '-c', 'true'])",
    "a child of its own": "import os\nif os.fork() == 0:\n    os.setsid()\n    os._exit(0)",
    "ptrace": "import ctypes\nctypes.CDLL(None).ptrace(16, {pid}, 0, 0)",
    "objects of the harness": "import gc\nfound = [o for o in gc.get_objects() if type(o).__name__ == 'Request']",
}


@pytest.mark.parametrize("where", ["loading", "tracing"])
@pytest.mark.parametrize("what", list(SNIFFERS))
def test_who_reaches_out_is_refused_though_it_hides_the_refusal(
    what: str, where: str, attack: Attack, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret")
    with socket.create_server(("127.0.0.1", 0)) as server:
        statements = SNIFFERS[what].format(
            reference=str(ROOT / "jaxbench" / "tasks" / "8p_GEMM" / "reference.py"),
            home=str(tmp_path),
            port=server.getsockname()[1],
            pid=os.getpid(),
        )
        result = attack(**{where: hidden(statements)})
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()
    assert result.verdict == "rejected", result.summary
    found = [item for item in result.findings if item.code.value == FORBIDDEN]
    assert found
    assert all(item.line and item.source_line and "kept from it" in item.message for item in found)


BOMBS = {
    "heap": ("x = []\nwhile True: x.append(bytearray(8 << 20))", {"incorrect", "crashed"}, "trace-error"),
    "shared maps": (
        "import mmap\nx = []\nwhile True:\n    x.append(mmap.mmap(-1, 16 << 20))\n    x[-1].write(b'1' * (16 << 20))",
        {"crashed"},
        "out-of-memory",
    ),
    "output flood": ("while True: print('x' * 4096)", {"crashed"}, "output-flood"),
    "fork bomb": ("import os\nfor _ in range(9): os.fork()\nwhile True: pass", {"rejected"}, FORBIDDEN),
    "double fork": (
        "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(60)\n    os._exit(0)",
        {"rejected"},
        FORBIDDEN,
    ),
    "its own end": ("import os\nos._exit(0)", {"crashed"}, "process-exited"),
    "a crash": ("import os\nos.abort()", {"crashed"}, "process-exited"),
}


@pytest.mark.parametrize("name", list(BOMBS))
def test_bombs_end_in_a_verdict(name: str, attack: Attack) -> None:
    statements, verdicts, code = BOMBS[name]
    started = time.monotonic()
    result = attack(tracing=statements)
    assert time.monotonic() - started < 60
    assert result.verdict in verdicts, result.summary
    assert code in [item.code.value for item in result.findings]


# Each tries to have a wrong kernel accepted; the kernel itself adds 2 where 1 is asked for.
FORGERIES = {
    "frames on the result channel": (
        "import os, json\n"
        "for kind in ('case', 'trace', 'done'):\n"
        "    h = json.dumps({'kind': kind, 'nonce': '', 'body': {}, 'blobs': []}).encode()\n"
        "    os.write(3, b'MKF1' + len(h).to_bytes(4, 'little') + h)\n"
    ),
    "a printed verdict": 'print(\'{"verdict": "correct", "ok": true}\')',
    "an exit handler": "import atexit, os\natexit.register(lambda: os.write(1, b'verdict: correct'))",
    "a signal handler": (
        "import signal\nsignal.signal(signal.SIGALRM, lambda *_: None)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)"
    ),
    "an array that pickles as another": (
        "import copyreg, numpy\ncopyreg.pickle(numpy.ndarray, lambda a: (numpy.ones, (a.shape, a.dtype)))"
    ),
    "allclose": "import numpy\nnumpy.allclose = numpy.array_equal = lambda *_, **__: True",
    "what an array is": "import numpy\nnumpy.asarray = lambda a, *_, **__: numpy.array(a, copy=True) - 1",
    "the interpreter": (
        "from jax._src.pallas.mosaic.interpret import interpret_pallas_call as inner\n"
        "kept = inner.store\n"
        "def store(*a, **k):\n    a = [v - 1 if getattr(v, 'shape', ()) else v for v in a]\n    return kept(*a, **k)\n"
        "inner.store = store"
    ),
    "the lab's own code": (
        "import sys\n"
        "module = sys.modules['maxkernel_tools.worker.interpreting']\n"
        "kept = module._run\n"
        "import dataclasses\n"
        "module._run = lambda *a: dataclasses.replace(kept(*a), outputs=tuple(o - 1 for o in kept(*a).outputs))"
    ),
    "its own memory": (
        "import ctypes\nwith open('/proc/self/mem', 'r+b') as memory:\n    memory.seek(id(1) + 24)\n    memory.read(4)"
    ),
}


REPLACED = {"what an array is": "numpy.asarray", "the interpreter": "store", "the lab's own code": "_run"}


@pytest.mark.parametrize("name", list(FORGERIES))
def test_a_wrong_kernel_is_not_accepted_whatever_it_forges(
    name: str, portal: BlockingPortal, small: LocalRuntime, attack: Attack
) -> None:
    del attack  # its teardown looks for what is left behind
    text = kernel(loading=FORGERIES[name]).replace("x_ref[...] + 1.0", "x_ref[...] + 2.0")
    with rules_in_force(wanted=False):
        result = portal.call(judge, small, text_call(text, REFERENCE, ["f32[64,128]"]))
    assert result.verdict != "correct", result.summary
    codes = {item.code.value for item in result.findings}
    assert codes & {TAMPERING, FORBIDDEN, "wrong-result", "process-exited", "trace-error"}, codes
    if name in REPLACED:
        assert REPLACED[name] in next(item.message for item in result.findings if item.code.value == TAMPERING)


def test_a_kernel_that_is_another_program_at_each_trace_is_refused(portal: BlockingPortal, small: LocalRuntime) -> None:
    text = kernel(loading="import time\nTINY = (time.time_ns() % 99991) * 1e-13").replace("+ 1.0", "+ 1.0 + TINY")
    with rules_in_force(wanted=False):
        result = portal.call(judge, small, text_call(text, REFERENCE, ["f32[64,128]"]), "full")
    assert result.verdict == "rejected", result.summary
    assert "integrity-unstable-output" in [item.code.value for item in result.findings]
