"""Which op shares another op's schedule: the compiler dumps identical fusions once."""

from __future__ import annotations

import re
from collections.abc import Callable

from maxkernel_tools.schedule.dumps import TOP_LEVEL, DumpFolder
from maxkernel_tools.schedule.hlo import HloModule, HloOp

_PAIR = re.compile(r"%?([\w.\-]+)\s*(?:->|=>|:|=)\s*%?([\w.\-]+)")


def deduplicated(folder: DumpFolder, module: HloModule) -> Callable[[str], str | None]:
    """Return a function from an op without a schedule to the program whose schedule it runs.

    The compiler's own map decides where it was dumped; else the op with a schedule that has the same opcode,
    shapes, layouts, operand shapes and the same instructions inside.
    """
    table: dict[str, str] = {}
    if folder.has(TOP_LEVEL, "deduplication"):
        for left, right in _PAIR.findall(folder.text(TOP_LEVEL, "deduplication")):
            table[left] = right
            table.setdefault(right, left)

    def signature(op: HloOp) -> tuple[object, ...]:
        operands = tuple(module.all_ops[name].arrays for name in op.operands if name in module.all_ops)
        bodies = tuple(
            tuple((inner.opcode, inner.arrays) for inner in module.computations.get(name, ())) for name in op.called
        )
        return (op.opcode, op.arrays, operands, bodies)

    by_signature: dict[tuple[object, ...], str] = {}
    for program in folder.programs:
        op = module.all_ops.get(program)
        if op is not None:
            by_signature.setdefault(signature(op), program)

    def look_up(name: str) -> str | None:
        if name in table and folder.has(table[name], "final_bundles"):
            return table[name]
        op = module.all_ops.get(name)
        return by_signature.get(signature(op)) if op is not None else None

    return look_up
