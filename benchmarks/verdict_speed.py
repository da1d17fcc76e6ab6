"""How long a verdict takes, warm, against a harness that starts a fresh process for every kernel.

``python benchmarks/verdict_speed.py [--repeats N] [--json]`` judges a small matrix product at ``quick`` and ``full`` in
a warm lab, and the same kernel in a fresh Python process that imports jax, interprets it on the same shapes and
compares, as a script of one's own would. Wall seconds are medians; processor seconds say what other load on the machine
does not.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import anyio

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from maxkernel_lab.runtimes.local import LocalRuntime  # noqa: E402
from maxkernel_tools.checking import test_kernel as grade  # noqa: E402
from maxkernel_tools.context import CallContext, KernelCall, Workload  # noqa: E402
from maxkernel_tools.records import ArraySpec, KernelSource  # noqa: E402
from maxkernel_tools.records.verdicts import TestLevel  # noqa: E402
from tests.adversarial.corpus import Sink, call_of, entries  # noqa: E402

TARGET_S: Final[dict[str, float]] = {"quick": 2.5, "full": 30.0}
SHAPES: Final = ("bf16[256,256]", "bf16[256,256]")
REFERENCE: Final = (
    "import jax.numpy as jnp\n\n"
    "def workload(a, b):\n    return jnp.dot(a, b, preferred_element_type=jnp.float32).astype(a.dtype)\n"
)
FRESH: Final = """
import sys
import numpy as np
import jax, jax.numpy as jnp
from jax.experimental.pallas import tpu as pltpu
names = {}
exec(compile(open(sys.argv[1]).read(), "kernel.py", "exec"), names)
reference = {}
exec(compile(open(sys.argv[2]).read(), "reference.py", "exec"), reference)
with pltpu.force_tpu_interpret_mode(pltpu.InterpretParams(detect_races=True)):
    for seed, (m, k, n) in enumerate(SHAPES):
        rng = np.random.default_rng(seed)
        a = jnp.asarray(rng.standard_normal((m, k)), jnp.bfloat16)
        b = jnp.asarray(rng.standard_normal((k, n)) / k**0.5, jnp.bfloat16)
        got, want = jax.jit(names["workload"])(a, b), reference["workload"](a, b)
        np.testing.assert_allclose(np.asarray(got, np.float32), np.asarray(want, np.float32), atol=0.05)
"""


def matmul() -> str:
    """The text of the kernel: the tiled product the corpus uses as an honest twin."""
    return next(entry for entry in entries() if entry.name == "interpret-left-on").source("twin").text


def given_call() -> KernelCall:
    """The small product without a task: the shape given, on two seeds."""
    specs = tuple(ArraySpec.parse(text) for text in SHAPES)
    return KernelCall(
        KernelSource(text=matmul()), Workload(specs, " ".join(SHAPES), None, KernelSource(text=REFERENCE))
    )


def task_call() -> KernelCall:
    """The product as a task: shapes of its family and shapes against the kernel's blocks."""
    return call_of(next(entry for entry in entries() if entry.name == "interpret-left-on"), "twin")


def processor_s(pids: Iterable[int]) -> float:
    """Processor seconds of processes and of the children they have waited for (proc(5), fields 14 to 17)."""
    total = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        total += sum(int(ticks) for ticks in fields[11:15])
    return total / os.sysconf("SC_CLK_TCK")


async def judged(call: KernelCall, level: TestLevel, repeats: int, runtime: LocalRuntime) -> dict[str, Any]:
    """Median wall and processor seconds of a verdict in a warm lab."""

    async def ignore(*_: Any) -> None:
        return None

    walls: list[float] = []
    works: list[float] = []
    for _ in range(repeats + 1):
        pids = [os.getpid(), *runtime.processes().values()]
        started, worked = time.perf_counter(), processor_s(pids)
        result = await grade(call, level, CallContext(runtime, Sink(), ignore, "r-benchmark"))
        if result.verdict != "correct":
            raise SystemExit(f"{level}: {result.summary}")
        walls.append(time.perf_counter() - started)
        works.append(processor_s(pids) - worked)
    # the first one warms what only a first call loads
    return {"wall_s": statistics.median(walls[1:]), "cpu_s": statistics.median(works[1:]), "cases": len(result.cases)}


def fresh(shapes: list[tuple[int, int, int]], repeats: int) -> dict[str, Any]:
    """Median seconds of a fresh process that interprets and compares on ``shapes``."""
    walls: list[float] = []
    works: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        kernel, reference = Path(folder) / "kernel.py", Path(folder) / "reference.py"
        kernel.write_text(matmul())
        reference.write_text(REFERENCE)
        script = FRESH.replace("SHAPES", repr(shapes))
        for _ in range(repeats):
            started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
            environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
            subprocess.run([sys.executable, "-c", script, kernel, reference], check=True, env=environment, timeout=600)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            walls.append(time.perf_counter() - started)
            works.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return {"wall_s": statistics.median(walls), "cpu_s": statistics.median(works), "cases": len(shapes)}


async def measure(repeats: int) -> dict[str, Any]:
    """Measure everything in one run."""
    with tempfile.TemporaryDirectory() as home:
        async with LocalRuntime(Path(home)) as runtime:
            quick = await judged(given_call(), "quick", repeats, runtime)
            family = await judged(task_call(), "quick", repeats, runtime)
            full = await judged(task_call(), "full", max(1, repeats // 2), runtime)
    alone = await anyio.to_thread.run_sync(fresh, [(256, 256, 256)] * 2, repeats)
    return {
        "load": os.getloadavg()[0],
        "cores": os.cpu_count(),
        "quick, shape given": quick,
        "quick, task": family,
        "full, task": full,
        "fresh process, shape given": alone,
        "fresh over quick": {name: alone[name] / quick[name] for name in ("wall_s", "cpu_s")},
    }


def main() -> int:
    """Print the figures; 1 where a target is missed on an idle machine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = anyio.run(measure, given.repeats)
    if given.json:
        print(json.dumps(found, indent=1))
    else:
        for name, item in found.items():
            if isinstance(item, dict):
                print(f"{name:28}" + "  ".join(f"{key} {value:.2f}" for key, value in item.items()))
            else:
                print(f"{name:28}{item:.2f}")
    missed = [
        name
        for name, most in TARGET_S.items()
        if found[f"{name}, {'shape given' if name == 'quick' else 'task'}"]["wall_s"] > most
    ]
    if missed:
        print(f"over target: {', '.join(missed)} (load {found['load']:.1f} on {found['cores']} cores)", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
