"""Run references in a process of its own, on the CPU, and keep inputs and outputs as float64 for the tests to compare.

Usage: ``python evaluate_references.py CASES OUT``. CASES is JSON: a list of {key, file, dims, dtype, draw, run}; OUT is
the npz to write, with ``<key>/in<i>`` and, where ``run`` is true, ``<key>/out`` and ``<key>/dtype``. ``draw`` is
``hardened`` (seed 0), ``classic`` or ``original``.
"""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import jax
import ml_dtypes
import numpy as np

DTYPES = {"bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}


def main() -> None:
    cases_file, out_file = sys.argv[1:]
    arrays: dict[str, np.ndarray] = {}
    loaded: dict[str, dict[str, object]] = {}
    for case in json.loads(Path(cases_file).read_text()):
        file = case["file"]
        if file not in loaded:
            loaded[file] = runpy.run_path(file, run_name="reference")
        dtype = np.dtype(DTYPES[case["dtype"]])
        if case["draw"] == "hardened":
            inputs = loaded[file]["create_inputs"](np.random.default_rng(0), case["dims"], dtype)
        else:
            inputs = loaded[file]["create_classic_inputs"](case["dims"], dtype, original=case["draw"] == "original")
        with jax.enable_x64(case["dtype"] == "f64"):
            out, *more = (np.asarray(leaf) for leaf in jax.tree.leaves(jax.jit(loaded[file]["workload"])(*inputs)))
        key = case["key"]
        arrays[f"{key}/dtype"] = np.array([str(dtype), str(out.dtype)])
        arrays[f"{key}/out"] = out.astype(np.float64)
        arrays |= {f"{key}/more{i}": value.astype(np.float64) for i, value in enumerate(more)}
        arrays |= {f"{key}/in{i}": value.astype(np.float64) for i, value in enumerate(inputs)}
    np.savez(out_file, **arrays)


if __name__ == "__main__":
    main()
