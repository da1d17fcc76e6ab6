"""Reads ``table.json`` into records. Owns units and what "per device" means; knows nothing of schedules."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from pydantic import Field

from maxkernel_tools.records.base import Record
from maxkernel_tools.records.targets import Target

# Which peak a dtype computes at on the MXU. f32 matmuls run as bf16 passes; their peak is the table's own.
_PEAK_OF = {
    "bf16": "bf16",
    "f16": "bf16",
    "f32": "f32",
    "f64": "f32",
    "s8": "int8",
    "u8": "int8",
    "s4": "int4",
    "u4": "int4",
}


class Chip(Record):
    """One TPU generation, as the compiler sees one of its devices.

    A device is what ``jax.devices()`` lists: on v4 and tpu7x half a chip (one of two TensorCores), on v5p a whole chip
    run as one megacore. Peaks below are per *device*: a kernel cannot use more.

    Attributes:
        clock_hz: TensorCore clock; one bundle issues per cycle.
        hbm_bytes_per_s: peak HBM bandwidth of the device.
        hbm_achievable_bytes_per_s: what long streaming transfers reach.
        lone_dma_bytes_per_s: what one transfer alone reaches; only intervals use it.
        peak_flops: by compute type (``bf16``, ``f32``, ``int8``, ``int4``, ``fp8``).
        mxu_count: MXUs per TensorCore; ``mxu_size`` their edge.
        vmem_bytes: VMEM per TensorCore; ``scoped_vmem_bytes`` is the compiler's default limit for one kernel.
        vmem_bytes_per_cycle: rate of transfers inside a core.
        dma_latency_us: from the start of a small transfer to its completion being seen.
        write_piece_ns: least time per contiguous piece of a strided write to HBM.
        launch_us: fixed cost of one program on the device.
        sources: where each figure is from.
    """

    target: Target
    device_kind: str
    topology: str
    cores: int
    cores_per_chip: int
    clock_hz: float
    hbm_bytes_per_s: float
    hbm_achievable_bytes_per_s: float
    lone_dma_bytes_per_s: float
    hbm_capacity_bytes: int
    peak_flops: dict[str, float]
    mxu_count: int
    mxu_size: int
    vmem_bytes: int
    scoped_vmem_bytes: int
    smem_bytes: int
    dma_latency_us: float
    write_piece_ns: float
    vmem_bytes_per_cycle: float
    launch_us: float
    sources: dict[str, str] = Field(default_factory=dict)

    def peak_for(self, dtype: str) -> float:
        """Return the peak in flop/s for operands of ``dtype`` (short spelling); bf16's where the table has none."""
        kind = _PEAK_OF.get(dtype, "fp8" if dtype.startswith("f8") else "bf16")
        return self.peak_flops.get(kind, self.peak_flops["bf16"])


@cache
def _table() -> dict[str, Any]:
    text = files("maxkernel_tools.chips").joinpath("table.json").read_text(encoding="utf-8")
    return json.loads(text)


@cache
def chip(target: Target) -> Chip:
    """Return the facts of ``target``, per device."""
    table = _table()
    row = table["chips"][target.value]
    share = row["cores_per_device"] / row["cores_per_chip"]
    model = {name: entry["value"] for name, entry in table["model"].items()}
    hbm = row["hbm_peak_bytes_per_s"] * share
    return Chip(
        target=target,
        device_kind=row["device_kind"],
        topology=row["topology"],
        cores=row["cores_per_device"],
        cores_per_chip=row["cores_per_chip"],
        clock_hz=row["clock_hz"],
        hbm_bytes_per_s=hbm,
        hbm_achievable_bytes_per_s=hbm * model["hbm_achievable_fraction"],
        lone_dma_bytes_per_s=hbm * model["lone_dma_fraction"],
        hbm_capacity_bytes=int(row["hbm_capacity_bytes"] * share),
        peak_flops={kind: value * share for kind, value in row["peak_flops"].items()},
        mxu_count=row["mxu_count"],
        mxu_size=row["mxu_size"],
        vmem_bytes=row["vmem_bytes"],
        scoped_vmem_bytes=row["scoped_vmem_bytes"],
        smem_bytes=row["smem_bytes"],
        vmem_bytes_per_cycle=model["vmem_bytes_per_cycle"],
        write_piece_ns=model["write_piece_ns"],
        dma_latency_us=model["dma_latency_us"],
        launch_us=model["launch_us"],
        sources={name: table["sources"][key] for name, key in row["figures"].items()},
    )


def chip_sources() -> dict[str, str]:
    """Return the sources the table cites, by short name."""
    return dict(_table()["sources"])


def roofline_us(target: Target, flops: float, hbm_bytes: float, dtype: str = "bf16") -> float:
    """Return the least time any program can take: the larger of compute at peak and traffic at peak, in µs.

    Args:
        target: the chip.
        flops: floating-point operations.
        hbm_bytes: bytes that must cross HBM.
        dtype: operand dtype of the arithmetic, short spelling.
    """
    facts = chip(target)
    return max(flops / facts.peak_for(dtype), hbm_bytes / facts.hbm_bytes_per_s) * 1e6
