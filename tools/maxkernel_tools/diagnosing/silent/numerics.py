"""Faults of arithmetic: garbage at the edge that reaches a sum, sums kept too narrow, precision below what it seems."""

from __future__ import annotations

from maxkernel_tools.diagnosing.evidence import Draft
from maxkernel_tools.diagnosing.silent.scene import Observation, Rule, Scene
from maxkernel_tools.records.findings import FindingCode, Severity


def partial(scene: Scene, seen: Observation) -> Draft:
    """A block that hangs over the array's end feeds a sum."""
    names = [scene.argument(str(name)) for name in seen["operands"]]
    return Draft(
        FindingCode.PARTIAL_BLOCK_UNMASKED,
        f"The last block of {', '.join(names)} hangs over the end of the array, and this {seen['operation']} takes "
        "the garbage beyond it in.",
        "Mask before it: jnp.where(pl.program_id(axis) * block + lax.broadcasted_iota(jnp.int32, x.shape, dim) < "
        "size, x, 0) (for a maximum, -inf).",
        line=seen.get("line"),
        severity=Severity.WARNING,
    )


def narrow(scene: Scene, seen: Observation) -> Draft:
    """A sum kept in a narrow type."""
    del scene
    return Draft(
        FindingCode.LOW_PRECISION_ACCUMULATION,
        f"{seen['argument']} sums {seen['additions']} or more parts in {seen['dtype']}, rounding at each addition.",
        "Accumulate in a float32 scratch (pltpu.VMEM(block, jnp.float32)) and convert once at the end.",
        line=seen.get("line"),
        severity=Severity.WARNING,
    )


def default_precision(scene: Scene, seen: Observation) -> Draft:
    """A float32 matmul at default precision."""
    del scene
    return Draft(
        FindingCode.DEFAULT_MATMUL_PRECISION,
        "A float32 matmul at default precision may run as bfloat16 passes on the chip (about 3 decimal digits); "
        "interpretation on a CPU is exact and does not show it.",
        "Pass precision=lax.Precision.HIGHEST where the digits matter, or convert to bfloat16 to say that they do not.",
        line=seen.get("line"),
        severity=Severity.NOTE,
    )


def random_bits(scene: Scene, seen: Observation) -> Draft:
    """Hardware random bits, which interpretation does not have."""
    del scene
    return Draft(
        FindingCode.INTERPRET_PRNG_STUB,
        f"The random bits drawn at line {seen.get('drawn')} are all zero in TPU interpret mode, so what is computed "
        "from them here on cannot be judged without a chip; the kernel itself may be right.",
        "Check statistics on a chip, or hash a counter in the kernel instead of pltpu.prng_random_bits.",
        line=seen.get("line"),
        severity=Severity.NOTE,
    )


NUMERIC_RULES: dict[str, Rule] = {
    "partial-reduction": partial,
    "narrow-sum": narrow,
    "default-precision": default_precision,
    "random-bits": random_bits,
}
