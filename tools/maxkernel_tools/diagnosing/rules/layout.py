"""Failures of shape and layout: block shapes, alignment of slices and copies, strides, gathers, reshapes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from maxkernel_tools.diagnosing.endings import MASK_HINT
from maxkernel_tools.diagnosing.evidence import Draft, Evidence
from maxkernel_tools.diagnosing.wording import shorten
from maxkernel_tools.records.arrays import DTYPES, ArraySpec
from maxkernel_tools.records.findings import FindingCode

_BLOCK = re.compile(
    r"Block spec for (?P<origin>\S+) in pallas_call (?P<name>\S+) .*?has block shape \((?P<block>.*?)\), array shape "
    r"\((?P<array>[\d, ]*)\)",
    re.DOTALL,
)
_INDEX = re.compile(
    r"index (?:in|at) dimension (?P<dim>\d+) is (?:a multiple of|divisible by the tile dimension) (?P<tile>\d+)"
)
_SIZE = re.compile(r"size at dimension (?P<dim>\d+) is divisible by the tile dimension (?P<tile>\d+)")
_MEMREF = re.compile(r"memref<(?P<shape>(?:\d+x)+)(?P<dtype>\w+)")
LANES, SUBLANES = 128, 8


def block_shape(evidence: Evidence) -> Draft | None:
    """A block whose last two dimensions do not fit the tiles."""
    message = evidence.error.message
    if "last two dimensions of your block shape" not in message and "rank 1 block shapes" not in message:
        return None
    match = _BLOCK.search(message)
    if match is None:
        return Draft(
            FindingCode.BLOCK_SHAPE_TILING,
            shorten(evidence.words.gist),
            "Make the last block dimension a multiple of 128 and the one before it a multiple of 8, or equal to the "
            "array's.",
            line=evidence.call_line,
        )
    operand = _operand(evidence, match.group("origin"))
    block = [_extent(part) for part in re.split(r",\s*(?![^()]*\))", match.group("block")) if part.strip()]
    array = [int(part) for part in match.group("array").split(",") if part.strip()]
    bits = DTYPES[ArraySpec.parse(str(operand["array"])).dtype][1] if operand is not None else 32
    wrong = _wrong_dims(block, array, bits)
    better = _better(block, array, wrong)
    parts = [
        f"block dim {index - len(block)} is {block[index]}: must be a multiple of {_multiple(index, block, bits)} or "
        f"equal the array's {array[index]}"
        for index in wrong
    ]
    steps = ", ".join(
        f"{-(-array[index] // better[index])} grid steps along dim {index - len(block)}"
        for index in wrong
        if better[index] != array[index]
    )
    return Draft(
        FindingCode.BLOCK_SHAPE_TILING,
        f"Block {tuple(block)} of array {tuple(array)} ({match.group('origin')}) does not fit the tiles: "
        f"{'; '.join(parts)}.",
        f"Use block {tuple(better)}" + (f" with {steps}." if steps else ", the whole array along that dimension."),
        line=evidence.operand_line(operand) if operand is not None else evidence.call_line,
    )


def _operand(evidence: Evidence, origin: str) -> Mapping[str, Any] | None:
    for operand in evidence.operands():
        if operand.get("origin") == origin:
            return operand
    return None


def _extent(part: str) -> int:
    digits = re.search(r"\d+", part)
    return int(digits.group()) if digits else 1


def _multiple(index: int, block: list[int], bits: int) -> int:
    if len(block) == 1:
        return LANES * (32 // bits)
    return LANES if index == len(block) - 1 else SUBLANES


def _wrong_dims(block: list[int], array: list[int], bits: int) -> list[int]:
    rank = len(block)
    tiled = [rank - 1] if rank == 1 else [rank - 2, rank - 1]
    return [i for i in tiled if block[i] != array[i] and (rank == 1 or block[i] % _multiple(i, block, bits))]


def _better(block: list[int], array: list[int], wrong: list[int]) -> list[int]:
    better = list(block)
    for index in wrong:
        if len(block) == 1:
            better[index] = min(-(-block[index] // 1024) * 1024, array[index])
            continue
        multiple = LANES if index == len(block) - 1 else SUBLANES
        rounded = -(-block[index] // multiple) * multiple
        better[index] = min(array[index], rounded)
    return better


def dma_slice(evidence: Evidence) -> Draft | None:
    """A copy of a slice that does not start and end on tiles."""
    words = evidence.words
    sliced = "memref_slice" in words.operation or "memref_slice" in words.gist or "enqueue_dma" in words.operation
    if not sliced or not re.search(r"aligned|divisible|layout to express slice|tile", words.gist):
        return None
    index, size = _INDEX.search(words.gist), _SIZE.search(words.gist)
    match = index or size
    shape = _MEMREF.search(words.operation)
    where = f"dimension {match.group('dim')}" if match else "a tiled dimension"
    tile = int(match.group("tile")) if match else LANES
    of = f" of {shape.group('dtype')}[{shape.group('shape').rstrip('x').replace('x', ',')}]" if shape else ""
    what = "length" if size else "start"
    return Draft(
        FindingCode.DMA_SLICE_ALIGNMENT,
        f"The {what} of the copied slice along {where}{of} is not known to be a multiple of {tile}; copies move "
        "whole tiles.",
        f"Copy the aligned region that contains the slice (start and length multiples of {tile}, or the whole "
        "dimension), then slice in VMEM; use pl.multiple_of only where the start really is a multiple.",
        line=evidence.source.copy_line(evidence.line),
    )


def dma_shape(evidence: Evidence) -> Draft | None:
    """A copy between different shapes."""
    if "DMA source and target shape mismatch" not in evidence.words.gist:
        return None
    shapes = [
        f"{m.group('dtype')}[{m.group('shape').rstrip('x').replace('x', ',')}]"
        for m in _MEMREF.finditer(evidence.words.operation)
    ]
    between = f" ({shapes[0]} to {shapes[1]})" if len(shapes) > 1 else ""
    return Draft(
        FindingCode.DMA_SHAPE_MISMATCH,
        f"An asynchronous copy has source and destination of different shapes{between}.",
        "Slice the larger side with .at[...] so that both have the same shape.",
        line=evidence.source.copy_line(evidence.line),
    )


def dynamic_slice(evidence: Evidence) -> Draft | None:
    """A load or store at an offset the compiler cannot prove aligned."""
    words = evidence.words
    match = _INDEX.search(words.gist)
    if words.code != "2003" and (match is None or "prove" not in words.gist):
        return None
    dim, tile = (int(match.group("dim")), int(match.group("tile"))) if match else (1, LANES)
    shape = _MEMREF.search(words.operation)
    rank = shape.group("shape").count("x") if shape else 2
    axis = "lane" if dim == rank - 1 else "sublane"
    hint = (
        f"Read the aligned window of {tile} (start pl.multiple_of((start // {tile}) * {tile}, {tile})) and keep what "
        "is wanted from it with jnp.where or a static slice; pl.multiple_of alone is right only where every start is "
        "a multiple."
    )
    if axis == "sublane":
        hint = (
            f"Make every start a multiple of {tile} and say so with pl.multiple_of(start, {tile}), or load the "
            "aligned rows around it and select; f32 rows may start anywhere, so converting to f32 scratch also works."
        )
    return Draft(
        FindingCode.DYNAMIC_SLICE_ALIGNMENT,
        f"The start along the {axis} dimension ({dim}) is dynamic and not known to be a multiple of {tile}, as this "
        "access needs.",
        hint,
        line=evidence.line,
    )


def lane_stride(evidence: Evidence) -> Draft | None:
    """A strided access along lanes."""
    words = evidence.words
    strided = "strided_load" in words.operation or "strided_store" in words.operation
    sliced = "extract_strided_slice" in words.gist + words.operation and "strides" in words.gist
    if not (strided or sliced or re.search(r"[Ss]trided (?:load|store|slice|access)", words.gist)):
        return None
    return Draft(
        FindingCode.LANE_STRIDE_UNSUPPORTED,
        f"A stride other than 1 along this dimension is not supported: {shorten(words.gist, 200)}.",
        "Load contiguous lanes and select with a mask or a permutation matmul, or stride in the sublane dimension "
        "(pl.ds with stride on a ref of 128 lanes), or rearrange the array before the kernel.",
        line=evidence.line,
    )


def gather(evidence: Evidence) -> Draft | None:
    """Indexing by a vector."""
    text = evidence.words.gist
    found = (
        "gathers supported" in text
        or "int indexing" in text
        or re.search(r"Unimplemented primitive .*: (gather|scatter\w*)\b", text)
        or re.search(
            r"\bdynamic_gather\b|[Gg]ather .*not (?:supported|implemented)", text + " " + evidence.words.operation
        )
    )
    if not found:
        return None
    return Draft(
        FindingCode.GATHER_UNSUPPORTED,
        f"Indexing with an array of indices is not supported inside a kernel: {shorten(text, 200)}.",
        "Gather through the index map (scalar prefetch: PrefetchScalarGridSpec, table[i] in the index map), or loop "
        "over rows with scalar indices from SMEM and pl.ds, or multiply by a one-hot matrix.",
        line=evidence.line,
    )


def reshape(evidence: Evidence) -> Draft | None:
    """A reshape the layouts cannot express."""
    words = evidence.words
    if "shape cast" not in words.gist and "tpu.reshape" not in words.operation:
        return None
    if "xi1>" in words.operation:
        return Draft(
            FindingCode.COMPILER_CRASH,
            "A boolean vector is reshaped (a mask like m[:, None]); this compiler fails inside its layout pass "
            f"({shorten(words.gist, 120)}), and newer ones abort the whole process on it.",
            MASK_HINT,
            line=evidence.line,
        )
    return Draft(
        FindingCode.RESHAPE_UNSUPPORTED,
        "This reshape changes how elements lie in lanes and sublanes in a way that is not supported: "
        f"{shorten(words.operation or words.gist, 200)}.",
        "Reshape outside the kernel, or keep the last dimension (a multiple of 128) unchanged inside it.",
        line=evidence.line,
    )


LAYOUT_RULES = (block_shape, dma_shape, dma_slice, dynamic_slice, lane_stride, gather, reshape)
