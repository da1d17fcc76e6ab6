"""Faults of the grid and the index maps."""

from __future__ import annotations

from maxkernel_tools.diagnosing.evidence import Draft
from maxkernel_tools.diagnosing.silent.scene import Observation, Rule, Scene
from maxkernel_tools.records.findings import FindingCode


def empty(scene: Scene, seen: Observation) -> Draft:
    """A grid with a zero."""
    return Draft(
        FindingCode.EMPTY_GRID,
        f"The grid {tuple(scene.grid)} is empty (axis {seen['axis']} is 0): no step runs and nothing is written. An "
        "integer division by the block size rounded down to zero.",
        "Use pl.cdiv(size, block) for the grid, and mask the last block where it feeds a sum.",
        line=scene.keyword_line("grid"),
    )


def missed(scene: Scene, seen: Observation) -> Draft | None:
    """Output blocks no step visits."""
    if not seen.get("returned_whole") or seen.get("aliased"):
        return None
    short = list(seen.get("short", ()))
    if short:
        first = short[0]
        tail = first["visited"] * first["size"]
        what = (
            f"dimension {first['dim']} of {seen['argument']} has {first['extent']} elements in blocks of "
            f"{first['size']}, but only {first['visited']} of {first['blocks']} are visited: elements from {tail} on "
            "are never written"
        )
        hint = "Use pl.cdiv(size, block) for this grid axis so that the tail gets a step of its own."
    else:
        what = f"only {seen['visited']} of {seen['blocks']} blocks of {seen['argument']} are visited"
        hint = "Make the output's index map reach every block: grid and index map must cover the whole array."
    return Draft(
        FindingCode.EMPTY_GRID,
        f"The grid {tuple(scene.grid)} does not cover the output: {what}.",
        hint,
        line=scene.keyword_line("grid"),
    )


def outside(scene: Scene, seen: Observation) -> Draft:
    """A block that lies wholly outside its array."""
    what = f"element {seen['start']}" if seen["start"] == seen["index"] else f"block {seen['index']}"
    return Draft(
        FindingCode.INDEX_MAP_OUT_OF_BOUNDS,
        f"At grid step {tuple(seen['step'])} the index map of {seen['argument']} asks for {what} along dimension "
        f"{seen['dim']} (elements {seen['start']} to {seen['start'] + seen['size'] - 1}); the dimension has "
        f"{seen['extent']} elements, so the last allowed index is {seen['last_index']}.",
        "Return block indices (not element offsets) from 0 to cdiv(size, block) - 1; clamp with jnp.minimum where a "
        "neighbour is meant.",
        line=scene.operand_line(str(seen["operand"])),
    )


def revisited(scene: Scene, seen: Observation) -> Draft:
    """An output block that comes back after another one was visited."""
    if seen.get("read"):
        how = (
            "and the body adds to what it left there, but the window was written back in between and now holds garbage"
        )
    else:
        how = f"and the later visit writes only part of it, so that {seen['argument']} loses what the earlier one wrote"
    return Draft(
        FindingCode.REVISITED_OUTPUT_BLOCK,
        f"A block of {seen['argument']} is visited again after another block was, {how}.",
        "Make all steps of one output block consecutive: put the axis its index map ignores last in the grid, and "
        "initialise the block in the first of those steps.",
        line=scene.operand_line(str(seen["operand"])),
    )


def parallel(scene: Scene, seen: Observation) -> Draft:
    """State carried along an axis declared parallel."""
    axis = seen["axis"]
    return Draft(
        FindingCode.PARALLEL_REDUCTION_AXIS,
        f'Grid axis {axis} is declared "parallel", but step {tuple(seen["read_at"])} reads in {seen["argument"]} (line '
        f"{seen['line']}) what step {tuple(seen['written_at'])} wrote: the axis carries a reduction. It races where "
        "two cores share the grid (v4, v5p) and passes by luck on one.",
        f'Declare axis {axis} "arbitrary" in dimension_semantics.',
        line=scene.keyword_line("dimension_semantics", "compiler_params"),
    )


GRID_RULES: dict[str, Rule] = {
    "empty-grid": empty,
    "missed-output": missed,
    "block-outside": outside,
    "revisited-block": revisited,
    "lost-output": revisited,
    "parallel-carry": parallel,
}
