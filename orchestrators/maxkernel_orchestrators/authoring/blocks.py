"""Chooses block shapes before anything is compiled: what fits the chip's VMEM, and what should be fast.

A coarse model ranks; the lab's compiler and schedule decide. Nothing here is reported as a time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Walk = Literal["rows-outer", "columns-outer", "k-steps"]

_USABLE_VMEM = 0.78  # of the physical VMEM: the rest is left to the compiler's own scratch and to its spills
_STEP_CYCLES = 280  # pipeline bookkeeping, filling and draining the MXU, of one grid step in compiled GEMMs
_PARKED_CYCLES = 0.6  # load, add and store of one accumulator register that the MXU did not hide
CHUNK = 256  # columns a whole-K kernel multiplies at once, as its blueprint has it
_MAX_PARKED_TILE = 1 << 20  # elements of an accumulator tile: beyond it the compiler needs most of a minute
_MAX_STEP_CYCLES = 9000  # of straight-line MXU work in one step: code grows with it, and compile time faster


class ChipFacts(BaseModel):
    """What the author needs to know of a chip; the lab's ``maxkernel://chips/...`` resource, other fields ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    target: str
    clock_hz: float
    hbm_achievable_bytes_per_s: float
    peak_flops: dict[str, float] = Field(default_factory=dict)
    vmem_bytes: int
    mxu_size: int = 128

    @property
    def usable_vmem(self) -> int:
        """VMEM a kernel of ours asks for, in whole MiB."""
        return int(self.vmem_bytes * _USABLE_VMEM) >> 20 << 20

    def peak(self, dtype: str) -> float:
        """Peak flop/s of the MXU for operands of ``dtype``."""
        kind = "int8" if dtype in {"s8", "u8"} else "bf16"
        return self.peak_flops.get(kind) or self.peak_flops.get("bf16") or 1e14


@dataclass(frozen=True)
class MatmulSizes:
    """What bears on block shapes: extents, and bytes per element of each array."""

    m: int
    n: int
    k: int
    lhs_bytes: int
    rhs_bytes: int
    out_bytes: int
    tile_bytes: int  # bytes per element of all side inputs that vary along rows and columns
    dtype: str


@dataclass(frozen=True)
class MatmulBlocks:
    """One way to tile a matrix product."""

    walk: Walk
    block_m: int
    block_n: int
    block_k: int

    @property
    def params(self) -> dict[str, int]:
        """Values of the kernel's ``PARAMS``."""
        params = {"BLOCK_M": self.block_m, "BLOCK_N": self.block_n}
        return params | {"BLOCK_K": self.block_k} if self.walk == "k-steps" else params

    def vmem_bytes(self, sizes: MatmulSizes) -> int:
        """Blocks (twice, for the pipeline), accumulator and the epilogue's float32 tile."""
        tile = self.block_m * self.block_n
        factors = self.block_m * self.block_k * sizes.lhs_bytes + self.block_k * self.block_n * sizes.rhs_bytes
        return 2 * factors + tile * (2 * sizes.out_bytes + 2 * sizes.tile_bytes + 8)

    def step_cycles(self, sizes: MatmulSizes, chip: ChipFacts) -> float:
        """MXU cycles of one grid step, padded to the MXU."""
        return self._cycles(self.block_n, sizes, chip)

    def unrolled_cycles(self, sizes: MatmulSizes, chip: ChipFacts) -> float:
        """MXU cycles of the straight-line code of a step: what bears on compile time."""
        return self._cycles(self.block_n if self.walk == "k-steps" else min(CHUNK, self.block_n), sizes, chip)

    def _cycles(self, columns: int, sizes: MatmulSizes, chip: ChipFacts) -> float:
        edge = chip.mxu_size
        padded = self.block_m * (math.ceil(columns / edge) * edge) * (math.ceil(self.block_k / edge) * edge)
        return 2 * padded / (chip.peak(sizes.dtype) / chip.clock_hz)

    def time_us(self, sizes: MatmulSizes, chip: ChipFacts) -> float:
        """Rank of this tiling: the larger of MXU work and traffic, plus the fetches that nothing hides.

        Those are the first blocks', and, where one operand stays while the other streams, what is left of the staying
        operand's next block after the one step during which it is fetched.
        """
        rows, columns = math.ceil(sizes.m / self.block_m), math.ceil(sizes.n / self.block_n)
        steps = rows * columns * math.ceil(sizes.k / self.block_k)
        chunks = 1 if self.walk == "k-steps" else math.ceil(self.block_n / CHUNK)
        cycles = self.step_cycles(sizes, chip) + _STEP_CYCLES * chunks
        if self.walk == "k-steps":
            cycles += _PARKED_CYCLES * self.block_m * self.block_n / 1024
        lhs, rhs = sizes.m * sizes.k * sizes.lhs_bytes, sizes.k * sizes.n * sizes.rhs_bytes
        traffic = sizes.m * sizes.n * (sizes.out_bytes + sizes.tile_bytes)
        traffic += lhs * (1 if self.walk == "rows-outer" else columns)
        traffic += rhs * (1 if self.walk == "columns-outer" else rows)
        bandwidth = chip.hbm_achievable_bytes_per_s
        lhs_s = self.block_m * self.block_k * sizes.lhs_bytes / bandwidth
        rhs_s = self.block_k * self.block_n * sizes.rhs_bytes / bandwidth
        step_s = cycles / chip.clock_hz
        exposed = lhs_s + rhs_s
        if self.walk == "rows-outer":
            exposed += (rows - 1) * max(0.0, lhs_s + rhs_s - step_s)
        if self.walk == "columns-outer":
            exposed += (columns - 1) * max(0.0, lhs_s + rhs_s - step_s)
        return 1e6 * (max(steps * step_s, traffic / bandwidth) + exposed)


def matmul_blocks(sizes: MatmulSizes, chip: ChipFacts) -> list[MatmulBlocks]:
    """Return every tiling that fits, best first by the coarse model; at least one."""
    fitting: list[tuple[float, MatmulBlocks]] = []
    budget = chip.usable_vmem * 0.9
    for walk in ("rows-outer", "columns-outer", "k-steps"):
        depths = [sizes.k] if walk != "k-steps" else [d for d in (512, 1024, 2048, 4096) if d < sizes.k]
        for block_k in depths:
            for block_m in _extents(sizes.m, (128, 256, 512, 1024, 2048)):
                for block_n in _extents(sizes.n, (128, 256, 512, 1024, 2048)):
                    blocks = MatmulBlocks(walk, block_m, block_n, block_k)
                    if blocks.vmem_bytes(sizes) <= budget and _compiles_soon(blocks, sizes, chip):
                        fitting.append((blocks.time_us(sizes, chip), blocks))
    if not fitting:
        fitting.append((0.0, MatmulBlocks("k-steps", 128, 128, 512)))
    # Within a few percent the model cannot tell tilings apart: the smaller one compiles sooner and leaves VMEM free.
    return [blocks for _, blocks in sorted(fitting, key=lambda pair: (_class(pair[0]), pair[1].vmem_bytes(sizes)))]


def _class(time_us: float) -> int:
    return int(math.log(max(time_us, 1e-3)) / math.log(1.03))


def _compiles_soon(blocks: MatmulBlocks, sizes: MatmulSizes, chip: ChipFacts) -> bool:
    """Whether the compiler is done within seconds: by the code of one step, and by what was seen to take minutes.

    Four chunks take three times as long as two although the code is the same; wide, flat tiles take several times as
    long as square ones.
    """
    if blocks.unrolled_cycles(sizes, chip) > _MAX_STEP_CYCLES:
        return False
    if blocks.walk != "k-steps":
        return blocks.block_n <= CHUNK or blocks.block_n == 2 * CHUNK
    return blocks.block_m * blocks.block_n <= _MAX_PARKED_TILE and blocks.block_n <= max(512, blocks.block_m)


def _extents(size: int, choices: tuple[int, ...]) -> list[int]:
    """Block extents worth trying for an axis: the choices below it, and the first that covers it."""
    below = [choice for choice in choices if choice < size]
    cover = [choice for choice in choices if choice >= size][:1]
    return below + cover


@dataclass(frozen=True)
class RowSizes:
    """What bears on the number of rows in a band."""

    rows: int
    columns: int
    streamed_bytes: int  # bytes per element of everything read and written once per element
    passes: int


def row_blocks(sizes: RowSizes, chip: ChipFacts) -> list[dict[str, int]]:
    """Return bands of rows that fit, best first; empty where not even the smallest does.

    A band should be long enough for the DMA engine to reach its bandwidth (a MiB or more a transfer) and short
    enough that the first band's fetch, which nothing hides, is a small part of the whole.
    """
    fitting: list[tuple[float, int]] = []
    for rows in (8, 16, 32, 64, 128, 256, 512, 1024, 2048):
        streamed = rows * sizes.columns * sizes.streamed_bytes
        working = rows * sizes.columns * 4 * (2 + sizes.passes)
        if 2 * streamed + working > chip.usable_vmem * 0.9 or (rows > 8 and rows // 2 >= sizes.rows):
            continue
        fitting.append((abs(math.log2(streamed / (4 << 20))), rows))
    return [{"BLOCK_ROWS": rows} for _, rows in sorted(fitting)]
