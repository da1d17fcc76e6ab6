"""Faults of memory inside the body: read before written, out of bounds, copies not awaited, waits in vain."""

from __future__ import annotations

from collections.abc import Sequence

from maxkernel_tools.diagnosing.evidence import Draft
from maxkernel_tools.diagnosing.silent.scene import Observation, Rule, Scene, span
from maxkernel_tools.records.findings import FindingCode


def uninitialized(scene: Scene, seen: Observation) -> Draft | None:
    """A read of memory nothing was written to."""
    del scene
    if seen.get("aliased"):
        return None
    argument = seen["argument"]
    out = str(seen["operand"]).startswith("out")
    when = "at the first step of each output block" if out else "before its first use"
    return Draft(
        FindingCode.UNINITIALIZED_READ,
        f"{argument}{span(seen.get('missing'))} is read here before anything was written to it; it holds garbage.",
        f"Write {argument} first {when}: zero it under pl.when(pl.program_id(axis) == 0), axis being the one that is "
        "summed over."
        if out or str(seen["operand"]).startswith("scratch")
        else f"Write {argument} before reading it.",
        line=seen.get("line"),
    )


def unwritten(scene: Scene, seen: Observation) -> Draft | None:
    """An output of which a part is never written."""
    if seen.get("aliased") or not seen.get("returned_whole"):
        return None
    argument = seen["argument"]
    if seen.get("never"):
        message = f"{argument} is never written in block {tuple(seen['block'])}; the result holds garbage."
        line = scene.call.get("function_line") or seen.get("line")
    else:
        message = (
            f"{argument}{span(seen.get('missing'))} is never written in block {tuple(seen['block'])}; the result "
            "holds garbage there."
        )
        line = seen.get("line")
    return Draft(
        FindingCode.UNINITIALIZED_READ,
        message,
        f"Write the whole window of {argument} in every block, for example {argument}[...] = ... before the partial "
        "stores.",
        line=line,
    )


def aliases(scene: Scene, observations: Sequence[Observation]) -> list[Draft]:
    """One finding for all aliased outputs whose window does not carry the input's values."""
    mine = [
        seen
        for seen in observations
        if seen.get("aliased") and seen.get("kind") in ("unwritten-output", "uninitialized-read")
    ]
    if not mine:
        return []
    written = [seen for seen in mine if not seen.get("never")]
    parts = [
        f"{seen['argument']} {'is never written' if seen.get('never') else 'lacks ' + span(seen.get('missing'))}"
        for seen in mine
    ]
    line = (written or mine)[0].get("line") or scene.line
    return [
        Draft(
            FindingCode.ALIAS_NOT_CARRIED,
            "input_output_aliases shares the HBM buffer, not the VMEM window: an output window starts as garbage "
            f"and is written back whole. {'; '.join(parts)}.",
            "Copy the input's window to the output's first (o_ref[...] = x_ref[...]), or give both "
            "memory_space=pl.ANY and copy only what changes.",
            line=line,
        )
    ]


def out_of_bounds(scene: Scene, seen: Observation) -> Draft:
    """An access past the end of a reference."""
    del scene
    reads = seen["kind"] == "out-of-bounds-read"
    size = seen["stop"] - seen["start"]
    return Draft(
        FindingCode.OUT_OF_BOUNDS_READ if reads else FindingCode.OUT_OF_BOUNDS_WRITE,
        f"{seen['argument']} is {'read' if reads else 'written'} from {seen['start']} to {seen['stop'] - 1} along "
        f"dimension {seen['axis']}, which has {seen['extent']} elements "
        f"({max(seen['stop'] - seen['extent'], -seen['start'])} too far).",
        f"Use a slice size that divides {seen['extent']} instead of {size}, or pad the array on the host; pl.ds is "
        "not clipped and block padding does not cover it.",
        line=seen.get("line"),
    )


_RACES = {
    "read-before-wait": "{a} is read here while the copy into it (line {s}) is still in flight",
    "write-before-wait": "{a} is written here while the copy into it (line {s}) is still in flight",
    "source-overwritten": "{a} is overwritten here while the copy that reads it (line {s}) is still in flight",
    "copy-over-copy": "This copy goes to {a} while another one (line {s}) still reads or writes it",
    "never-awaited": "The copy of {a} started here is never awaited; the kernel may end before it",
}


def race(scene: Scene, seen: Observation) -> Draft:
    """A copy used before it was awaited."""
    del scene
    text = _RACES[str(seen["kind"])].format(a=seen["argument"], s=seen.get("started_line"))
    return Draft(
        FindingCode.DMA_RACE,
        f"{text}.",
        "Call .wait() on the copy before this line; to keep the overlap, start the copy of the next part into a "
        "second buffer first.",
        line=seen.get("line"),
    )


def starved(scene: Scene, seen: Observation) -> Draft:
    """A wait nothing will ever end."""
    del scene
    name = str(seen["argument"]) + (f"[{seen['slot']}]" if seen.get("slot") else "")
    if "wanted" in seen:
        what = f"{name} is waited on until it reaches {seen['wanted']}, but only {seen['count']} was signalled"
        hint = f"Signal {name} as often as it is waited on (pl.semaphore_signal), or drop the wait."
    else:
        what = f"{name} is waited on, but no copy that signals it is in flight"
        hint = f"Start the copy that signals {name} before this wait, once per wait; or drop the wait."
    return Draft(FindingCode.DEADLOCK, f"{what}: the kernel hangs here.", hint, line=seen.get("line"))


MEMORY_RULES: dict[str, Rule] = {
    "uninitialized-read": uninitialized,
    "unwritten-output": unwritten,
    "out-of-bounds-read": out_of_bounds,
    "out-of-bounds-write": out_of_bounds,
    "starved-wait": starved,
    **dict.fromkeys(_RACES, race),
}
