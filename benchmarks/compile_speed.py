"""What a warm ``compile_kernel`` call costs beyond the compile, and against a fresh ``python file.py`` per candidate.

Every round compiles a kernel nobody has compiled before, in three ways in turn, so that all meet the same machine: a
call without schedule dumps, a call with them, a fresh interpreter that compiles the same text. On an idle machine::

    PYTHONPATH=.:tools:orchestrators python benchmarks/compile_speed.py [ROUNDS]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final

import anyio

from maxkernel_lab.lab import Lab
from maxkernel_lab.settings import load_settings
from maxkernel_tools.records.compiles import CompileResult

ALLOWED_OVERHEAD_MS: Final = 150.0
WANTED_RATIO: Final = 5.0

KERNEL: Final = """
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def body(a_ref, b_ref, o_ref):
    o_ref[...] = jnp.dot(a_ref[...], b_ref[...], preferred_element_type=jnp.float32) + NUMBER


def workload(a, b):
    return pl.pallas_call(
        body,
        grid=(2, 2),
        in_specs=[pl.BlockSpec((128, 256), lambda i, j: (i, 0)), pl.BlockSpec((256, 128), lambda i, j: (0, j))],
        out_specs=pl.BlockSpec((128, 128), lambda i, j: (i, j)),
        out_shape=jax.ShapeDtypeStruct((256, 256), jnp.float32),
        name="small",
    )(a, b)
"""
FRESH: Final = """
from jax.experimental import topologies
from jax.sharding import SingleDeviceSharding

topology = topologies.get_topology_desc(platform="tpu", topology_name="v6e:2x2")
sharding = SingleDeviceSharding(topology.devices[0])
array = jax.ShapeDtypeStruct((256, 256), jnp.bfloat16, sharding=sharding)
print(len(jax.jit(workload).trace(array, array).lower(lowering_platforms=("tpu",)).compile().as_text()))
"""


async def calls(home: Path, rounds: int, fresh_s: list[float]) -> dict[bool, list[tuple[float, int]]]:
    """Return wall milliseconds and the compiler's own per call, without and with dumps; ``fresh_s`` is filled."""
    measured: dict[bool, list[tuple[float, int]]] = {False: [], True: []}
    async with Lab.open(load_settings(flags={"home": home})) as lab:
        for number in range(-2, rounds):  # the first two warm the processes
            for dumps in (False, True):
                arguments = {
                    "source": KERNEL.replace("NUMBER", str(2 * number + dumps + 10)),
                    "inputs": ["bf16[256,256]"] * 2,
                    "targets": ["v6e"],
                    "dumps": dumps,
                }
                started = time.perf_counter()
                result = await lab.call("compile_kernel", arguments, _silent)
                wall_ms = (time.perf_counter() - started) * 1000
                if not isinstance(result, CompileResult) or not result.ok or result.targets[0].cached:
                    raise SystemExit(f"not a compile: {result.summary}")
                if number >= 0:
                    measured[dumps].append((wall_ms, result.targets[0].compile_ms))
            if number >= 0:
                text = KERNEL.replace("NUMBER", str(2 * number + 10)) + FRESH
                fresh_s.append(await anyio.to_thread.run_sync(fresh, text, home))
    return measured


async def _silent(done: float, total: float | None, message: str) -> None:
    del done, total, message


def fresh(text: str, folder: Path) -> float:
    """Return the seconds a new interpreter takes to compile ``text``."""
    file = folder / "candidate.py"
    file.write_text(text)
    variables = {**os.environ, "JAX_PLATFORMS": "cpu", "TPU_SKIP_MDS_QUERY": "1", "ALLOW_MULTIPLE_LIBTPU_LOAD": "1"}
    started = time.perf_counter()
    subprocess.run([sys.executable, str(file)], check=True, capture_output=True, env=variables, timeout=600)
    return time.perf_counter() - started


def row(name: str, values: Sequence[float]) -> float:
    """Print one line of the table and return its median."""
    middle = median(values)
    sys.stdout.write(f"{name:<44} {middle:9.0f} {min(values):9.0f} {max(values):9.0f}\n")
    return middle


def main() -> None:
    """Measure, print, and fail where a limit does not hold."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    fresh_s: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        measured = anyio.run(calls, Path(folder), rounds, fresh_s)
    sys.stdout.write(f"{rounds} rounds, milliseconds{'median':>30} {'least':>9} {'most':>9}\n")
    plain = row("compile_kernel, no dumps", [wall for wall, _ in measured[False]])
    row("  of which the compile itself", [own for _, own in measured[False]])
    overhead = row("  beyond the compile", [wall - own for wall, own in measured[False]])
    dumped = row("compile_kernel with dumps and an estimate", [wall for wall, _ in measured[True]])
    row("  of which the compile itself", [own for _, own in measured[True]])
    fresh_ms = row("fresh python file.py", [seconds * 1000 for seconds in fresh_s])
    sys.stdout.write(f"dumps and the estimate add {dumped - plain:.0f} ms; a call is {fresh_ms / plain:.1f}x faster\n")
    if overhead > ALLOWED_OVERHEAD_MS or fresh_ms < WANTED_RATIO * plain:
        raise SystemExit(f"allowed: {ALLOWED_OVERHEAD_MS:.0f} ms beyond the compile, at least {WANTED_RATIO:.0f}x")


if __name__ == "__main__":
    main()
