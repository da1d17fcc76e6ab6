"""Fills blueprints: from what was recognised to source text with its parameters and the values worth trying."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template

from maxkernel_orchestrators.authoring import writing
from maxkernel_orchestrators.authoring.blocks import (
    ChipFacts,
    MatmulBlocks,
    MatmulSizes,
    RowSizes,
    matmul_blocks,
    row_blocks,
)
from maxkernel_orchestrators.authoring.graphs import Graph, Unrecognised
from maxkernel_orchestrators.authoring.matmuls import Matmul, recognise_matmul
from maxkernel_orchestrators.authoring.rows import RowWork, recognise_rows
from maxkernel_tools.records.arrays import DTYPES

_WORTH_TRYING = 1.12  # tilings within this factor of the best, by a model that coarse, are left to the compiler to rank


@dataclass(frozen=True)
class Draft:
    """A kernel nobody has judged yet.

    Attributes:
        blueprint: which one it came from.
        move: how it goes about the work, in a few words; drafts of one reference differ by it.
        source: whole text of the file.
        params: the values its ``PARAMS`` holds.
        trials: other values worth profiling, most promising first.
        close: the coarse model puts it near the best draft; the others are for when that one fails.
    """

    blueprint: str
    move: str
    source: str
    params: dict[str, int]
    trials: tuple[dict[str, int], ...] = ()
    close: bool = True


def drafts_for(graph: Graph, chip: ChipFacts, label: str, most: int = 3) -> tuple[Draft, ...]:
    """Write kernels for ``graph``, most promising first.

    Args:
        graph: the reference.
        chip: where the kernel shall run.
        label: name of the workload, for titles and the kernel's name.
        most: how many structurally different drafts at most.

    Raises:
        Unrecognised: no blueprint fits; the message holds every blueprint's reason.
    """
    reasons: list[str] = []
    if graph.of("dot_general"):
        try:
            return _matmul_drafts(recognise_matmul(graph), graph, chip, label, most)
        except Unrecognised as reason:
            reasons.append(f"matmul: {reason}")
    try:
        return (_row_draft(recognise_rows(graph), graph, chip, label),)
    except Unrecognised as reason:
        reasons.append(f"rows: {reason}")
    raise Unrecognised(" ".join(reasons))


@cache
def _blueprint(name: str) -> Template:
    folder = files("maxkernel_orchestrators.authoring").joinpath("blueprints")
    return Template(folder.joinpath(f"{name}.py.txt").read_text(encoding="utf-8"))


def _matmul_drafts(work: Matmul, graph: Graph, chip: ChipFacts, label: str, most: int) -> tuple[Draft, ...]:
    sizes = MatmulSizes(
        m=work.m,
        n=work.n,
        k=work.k,
        lhs_bytes=_bytes(work.lhs.stored),
        rhs_bytes=_bytes(work.rhs.stored),
        out_bytes=_bytes(work.out_dtype),
        tile_bytes=sum(_bytes(graph.specs[side.value].dtype) for side in work.sides if side.kind == "full"),
        dtype=work.lhs.dtype,
    )
    ranked = matmul_blocks(sizes, chip)
    by_walk: dict[str, list[MatmulBlocks]] = {}
    for blocks in ranked:
        by_walk.setdefault(blocks.walk, []).append(blocks)
    limit = ranked[0].time_us(sizes, chip) * _WORTH_TRYING
    drafts: list[Draft] = []
    for walk, choices in list(by_walk.items())[:most]:
        name = "matmul_k_steps" if walk == "k-steps" else "matmul_whole_k"
        worth = choices[0].time_us(sizes, chip) * _WORTH_TRYING
        tried = [blocks for blocks in _spread(choices)[:3] if blocks.time_us(sizes, chip) <= worth]
        source = _blueprint(name).substitute(writing.matmul_fields(work, graph, tried, chip, label))
        trials = tuple(blocks.params for blocks in tried[1:])
        # Two whole-K kernels differ only in which operand stays: where the model ranks one first, it is the one.
        twin = any(draft.blueprint == name for draft in drafts)
        close = not twin and choices[0].time_us(sizes, chip) <= limit
        drafts.append(Draft(name, walk, writing.tidy(source), tried[0].params, trials, close))
    return tuple(drafts)


def _spread(choices: list[MatmulBlocks]) -> list[MatmulBlocks]:
    """Keep the best tiling of each tile area first: neighbours of equal area rarely differ in the schedule."""
    seen: set[tuple[int, int]] = set()
    first: list[MatmulBlocks] = []
    for blocks in choices:
        key = (blocks.block_m * blocks.block_n, blocks.block_k)
        if key not in seen:
            seen.add(key)
            first.append(blocks)
    return first


def _row_draft(work: RowWork, graph: Graph, chip: ChipFacts, label: str) -> Draft:
    streamed = sum(_bytes(graph.specs[side.value].dtype) for side in work.inputs if side.kind == "full")
    streamed += _bytes(work.out_dtype) if work.out_kind == "full" else 0
    choices = row_blocks(RowSizes(work.rows, work.columns, streamed, work.passes), chip)
    if not choices:
        raise Unrecognised(f"Eight rows of {work.columns} values do not fit VMEM.")
    source = _blueprint("rows").substitute(writing.row_fields(work, graph, choices[:3], chip, label))
    return Draft("rows", "whole rows", writing.tidy(source), choices[0], tuple(choices[1:3]))


def _bytes(dtype: str) -> int:
    return max(1, DTYPES[dtype][1] // 8)
