"""Makes the cases behind docs/accuracy.md, in two steps: the published times were taken with an older toolchain.

1. In an environment with that toolchain (``pip install 'jax[tpu]==0.6.2'``)::

       python benchmarks/accuracy_cases.py dump OUT [TASK ...]

   compiles each reference at its full size in bfloat16 for v6e and keeps the schedule dumps, one folder a task.

2. In the project's own environment::

       python benchmarks/accuracy_cases.py estimate OUT > tools/maxkernel_tools/profiling/accuracy.json
"""

# ruff: noqa: PLC0415 - each step runs in another environment and can import only its own half

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

TASKS = Path(__file__).resolve().parents[1] / "jaxbench" / "tasks"
DUMPED = "(final_bundles|post-ra|per-bundle|TLP-hlo)"
DROPPED = re.compile(r"packed-bundles|post-bundle-packing|pre-delay")
# What was measured is written otherwise than the task's reference. 28k pads a zero-dilated copy of its input (its
# published flop count is that program's, to the digit). 49k must pool in bfloat16 windows: as a mean in float32 its
# HBM traffic at peak bandwidth alone would take longer than the published time.
MEASURED = {
    "28k": """
import jax.numpy as jnp
from jax import lax


def conv_transpose(x, weight):
    B, C, D, H, W = x.shape
    spread = jnp.zeros((B, C, 2 * D - 1, 2 * H - 1, 2 * W - 1), x.dtype).at[:, :, ::2, ::2, ::2].set(x)
    spread = jnp.pad(spread, ((0, 0), (0, 0), (2, 2), (2, 2), (2, 2)))
    flipped = jnp.flip(weight, (2, 3, 4)).swapaxes(0, 1)
    return lax.conv_general_dilated(
        spread, flipped, (1, 1, 1), "VALID", dimension_numbers=("NCDHW", "OIDHW", "NCDHW")
    )


module._conv_transpose = conv_transpose
""",
}
GROUPS = {
    "matmul with elementwise epilogue": "19k 20k 26k 27k 30k 35k 37k 41k 44k 47k 48k",
    "normalisation, softmax, reductions": "21k 23k 24k 29k 31k 32k 36k 38k 40k 43k 45k 49k 50k",
    "convolution": "18k 22k 25k 28k 33k 34k 39k 46k",
}


def dump_one(folder: Path, out: Path) -> None:
    """Compile one task's reference in this process; the dump folder is fixed at libtpu's start."""
    import importlib.util

    scratch = out / ".dumping"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    os.environ.update(
        JAX_PLATFORMS="cpu",
        TPU_SKIP_MDS_QUERY="1",
        ALLOW_MULTIPLE_LIBTPU_LOAD="1",
        LIBTPU_INIT_ARGS=f"--xla_jf_dump_to={scratch} --xla_jf_dump_llo_pass_label_regex={DUMPED}",
    )
    import jax
    import jax.numpy as jnp
    from jax.experimental import topologies
    from jax.sharding import SingleDeviceSharding

    spec = importlib.util.spec_from_file_location("reference", folder / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    short = folder.name.split("_")[0]
    if short in MEASURED:
        exec(MEASURED[short], {"module": module})
    facts = tomllib.loads((folder / "task.toml").read_text())
    device = topologies.get_topology_desc(platform="tpu", topology_name="v6e:2x2").devices[0]
    arguments = [
        jax.ShapeDtypeStruct(
            tuple(int(eval(axis, {}, dict(facts["dims"]))) for axis in entry["shape"]),
            jnp.bfloat16,
            sharding=SingleDeviceSharding(device),
        )
        for entry in facts["inputs"]
    ]
    compiled = jax.jit(module.workload).trace(*arguments).lower(lowering_platforms=("tpu",)).compile()
    kept = out / short
    kept.mkdir(parents=True, exist_ok=True)
    (kept / "optimized.hlo.txt").write_text(compiled.as_text())
    for path in scratch.iterdir():
        if not DROPPED.search(path.name):
            (kept / (re.sub(r"^\d+-", "", path.name) + ".gz")).write_bytes(gzip.compress(path.read_bytes(), 3))
    shutil.rmtree(scratch)


def dump(out: Path, wanted: list[str]) -> None:
    """Compile every task with a published time, one process each."""
    for names in GROUPS.values():
        for short in names.split():
            folder = next(TASKS.glob(short + "_*"))
            if (not wanted or short in wanted) and not (out / short / "optimized.hlo.txt").exists():
                print(short, file=sys.stderr, flush=True)
                subprocess.run([sys.executable, __file__, "dump-one", str(folder), str(out)], check=False)


def estimate_all(out: Path) -> dict[str, object]:
    """Estimate every dumped case with the model's own constants."""
    from maxkernel_tools.profiling import estimate
    from maxkernel_tools.records import Target

    cases: list[dict[str, object]] = []
    for group, names in GROUPS.items():
        for short in names.split():
            folder = next(TASKS.glob(short + "_*"))
            published = [
                entry
                for entry in tomllib.loads((folder / "task.toml").read_text()).get("published", [])
                if entry["target"] == "v6e" and entry.get("comparable", True)
            ]
            if not published or not (out / short).is_dir():
                continue
            profile = estimate(out / short, (out / short / "optimized.hlo.txt").read_text(), {}, Target.V6E)
            cases.append(
                {
                    "task": folder.name,
                    "group": group,
                    "published_us": published[0]["time_ms"] * 1000,
                    "source": published[0]["source"],
                    "estimate_us": round(profile.time_us, 2),
                    "interval_us": [round(edge, 2) for edge in profile.interval_us],
                    "bound_by": profile.bound_by,
                    "note": NOTES.get(short, ""),
                }
            )
    alone = leave_one_out(out, {str(case["task"]).split("_")[0]: float(str(case["published_us"])) for case in cases})
    for case in cases:
        case["leave_one_out_us"] = alone[str(case["task"]).split("_")[0]]
    return {"toolchain": "jax 0.6.2, libtpu 0.0.17.1", "target": "v6e", "cases": cases}


def leave_one_out(out: Path, published: dict[str, float]) -> dict[str, float]:
    """Choose the chip's constants on a grid without the case they are applied to.

    The measure is the mean error with every error cut off at 5 %, so that programs the model does not understand
    choose nothing; the launch cost is the median of what is left over where that is a few microseconds.
    """
    import numpy as np

    from maxkernel_tools.chips import chip
    from maxkernel_tools.profiling.aliases import deduplicated
    from maxkernel_tools.records import Target
    from maxkernel_tools.schedule.dumps import DumpFolder
    from maxkernel_tools.schedule.engine import Clockwork
    from maxkernel_tools.schedule.hlo import parse_hlo
    from maxkernel_tools.schedule.program import Program

    facts = chip(Target.V6E)
    to_us = 1e6 / facts.clock_hz
    grid = [
        (rate, latency, piece)
        for rate in (1.42e12, facts.hbm_achievable_bytes_per_s, 1.49e12)
        for latency in (0.5, 0.6, 0.7)
        for piece in (1.75, 1.95, 2.15)
    ]
    rows: dict[str, list[float]] = {}
    for short in published:
        folder = DumpFolder.open(out / short)
        program = Program(folder, deduplicated(folder, parse_hlo(folder.text("TLP", "hlo"))))
        rows[short] = [
            program.run(
                Clockwork(
                    rate / facts.clock_hz,
                    latency * 1e-6 * facts.clock_hz,
                    facts.vmem_bytes_per_cycle,
                    piece * 1e-9 * facts.clock_hz,
                )
            ).cycles
            * to_us
            for rate, latency, piece in grid
        ]
    answers: dict[str, float] = {}
    for short in published:
        others = [name for name in published if name != short]
        truth = np.array([published[name] for name in others])
        scored: list[tuple[float, float]] = []
        for at in range(len(grid)):
            run = np.array([rows[name][at] for name in others])
            close = np.argsort(np.abs((truth - run - facts.launch_us) / truth))[: len(others) // 2]
            launch = float(np.median((truth - run)[close]))
            error = float(np.mean(np.minimum(np.abs((run + launch) / truth - 1), 0.05)))
            scored.append((error, rows[short][at] + launch))
        answers[short] = round(min(scored)[1], 2)
    return answers


_PREFETCH = (
    "not proven: the gap is about what one transfer needs to fetch the first argument into VMEM; the model takes it as "
    "fetched by the previous run, as most published times do"
)
_RANDOM = "not proven: published with random weights, most others with zeros; two such cases are some 5 % slower"
NOTES = {
    "23k": _PREFETCH,
    "24k": _PREFETCH,
    "36k": _PREFETCH,
    "43k": _PREFETCH,
    "21k": _RANDOM,
    "31k": _RANDOM,
    "33k": "a layout copy that reads and writes in pieces of 2 kB; the model's cost per piece is too low for it",
    "49k": "compiled as windows in bfloat16; spelled as a mean in float32 the error is +6.9 %",
    "28k": "its scatter into the dilated input writes at addresses that depend on data; counted once each",
}


def main() -> None:
    command, *rest = sys.argv[1:]
    if command == "dump-one":
        dump_one(Path(rest[0]), Path(rest[1]))
    elif command == "dump":
        dump(Path(rest[0]), rest[1:])
    else:
        json.dump(estimate_all(Path(rest[0])), sys.stdout, indent=1)
        print()


if __name__ == "__main__":
    main()
