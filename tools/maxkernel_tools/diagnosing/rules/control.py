"""Failures of control: semantics, buffering, primitives without a rule, sharding, and what nothing else fits."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files

from maxkernel_tools.diagnosing.evidence import Draft, Evidence
from maxkernel_tools.diagnosing.wording import shorten
from maxkernel_tools.records.findings import FindingCode

_LENGTHS = re.compile(r"len\(grid\)=(\d+), len\(dimension_semantics\)=(\d+)")
_PRIMITIVE = re.compile(r"Unimplemented primitive in Pallas[\w ]*lowering[^:]*: ([\w\-]+)")
_NO_RULE = re.compile(
    r"(?:lowering|translation) rule .*(?:not (?:found|implemented|registered)|missing)|[Nn]ot [Ii]mplemented|not yet "
    r"implemented|"
    r"not implemented"
)


@cache
def _primitive_hints() -> dict[str, str]:
    text = files("maxkernel_tools.diagnosing.rules").joinpath("primitives.json").read_text(encoding="utf-8")
    return json.loads(text)


def semantics_length(evidence: Evidence) -> Draft | None:
    """``dimension_semantics`` of another length than the grid."""
    text = evidence.words.gist
    if "dimension semantics" not in text and "dimension_semantics" not in text:
        return None
    match = _LENGTHS.search(text)
    axes, given = match.groups() if match else ("its number of", "another number")
    wanted = ", ".join(['"arbitrary"'] * int(axes)) if match else ""
    example = f" ({wanted}{',' if axes == '1' else ''})" if match else ""
    return Draft(
        FindingCode.DIMENSION_SEMANTICS_LENGTH,
        f"dimension_semantics needs one entry per grid axis: the grid has {axes}, {given} given.",
        f'Give one entry per axis{example}; "parallel" only for axes whose steps are independent.',
        line=evidence.source.keyword_line(evidence.call_line, "dimension_semantics", "compiler_params")
        or evidence.call_line,
    )


def no_abstract_device(evidence: Evidence) -> Draft | None:
    """Lowering asked for the chip, and this line of jax has no way to pretend one."""
    if "Unsupported TPU device kind: cpu" not in evidence.error.message:
        return None
    return Draft(
        FindingCode.LAB_UNAVAILABLE,
        "This toolchain's jax has no abstract devices: it cannot lower this kernel on a machine without a TPU, because "
        "the lowering asks which chip it is for. This says nothing about the kernel.",
        "Compile it with a toolchain of a newer jax.",
        line=evidence.line or evidence.call_line,
    )


def buffer_count(evidence: Evidence) -> Draft | None:
    """A pipeline mode with a number of buffers the pipeline cannot have."""
    text = evidence.words.gist
    if not re.search(r"\bbuffering (?:are|is) supported|buffer[_ ]count|[Bb]uffered\(", text):
        return None
    match = re.search(r"Got (-?\d+)", text)
    given = match.group(1) if match else None
    operand = next(
        (o for o in evidence.operands() if given is not None and o.get("buffers") == int(given)),
        None,
    )
    line = evidence.operand_line(operand) if operand is not None else evidence.source.text_line("Buffered(")
    return Draft(
        FindingCode.BUFFER_COUNT,
        f"pl.Buffered({given if given is not None else '...'}) is not possible here; a pallas_call pipeline has 1 or "
        "2 buffers.",
        "Use pl.Buffered(1) or pl.Buffered(2) (the default); for deeper pipelines use pltpu.emit_pipeline or copies "
        "of your own.",
        line=line or evidence.call_line,
    )


def primitive(evidence: Evidence) -> Draft | None:
    """An operation Pallas has no rule for."""
    match = _PRIMITIVE.search(evidence.words.gist)
    if match is None:
        return None
    name = match.group(1)
    hint = _primitive_hints().get(name) or (
        f"Express {name} with elementwise operations, jnp.dot, reductions with keepdims and pltpu.roll, or do it "
        "outside the kernel."
    )
    return Draft(
        FindingCode.UNIMPLEMENTED_PRIMITIVE,
        f"Pallas has no TensorCore rule for {name}.",
        hint,
        line=evidence.line,
    )


def shard_map(evidence: Evidence) -> Draft | None:
    """A kernel that needs a mesh."""
    text = evidence.words.gist
    if not re.search(r"shard_map|unbound axis name|cannot be automatically partitioned", text):
        return None
    return Draft(
        FindingCode.NEEDS_SHARD_MAP,
        f"The kernel talks to other devices and must run under a mesh: {shorten(text, 200)}.",
        "Call the pallas_call inside jax.shard_map over a mesh with the axis it names; this lab compiles for one "
        "device.",
        line=evidence.body_line or evidence.line,
    )


def no_rule(evidence: Evidence) -> Draft | None:
    """The lowering refuses a form of an operation it otherwise has."""
    error = evidence.error
    lowering = error.phase in ("lower", "export") and error.type_name in ("NotImplementedError", "LoweringException")
    compiling = error.phase == "compile" and _NO_RULE.search(evidence.words.gist) is not None
    if not (lowering or compiling):
        return None
    return Draft(
        FindingCode.UNIMPLEMENTED_PRIMITIVE,
        f"This form of the operation is not implemented for TPU kernels: {shorten(evidence.words.gist, 300)}",
        "Express it with elementwise operations, 2-D jnp.dot, reductions with keepdims and pltpu.roll, or do it "
        "outside the kernel.",
        line=evidence.line,
    )


def compile_error(evidence: Evidence) -> Draft:
    """What nothing more specific fits: the compiler's own words."""
    operation = f" Operation: {shorten(evidence.words.operation, 160)}" if evidence.words.operation else ""
    return Draft(
        FindingCode.COMPILE_ERROR,
        f"{evidence.error.type_name}: {shorten(evidence.words.gist)}{operation}",
        "Look at this line first; the whole message is in the compiler-message artifact.",
        line=evidence.line,
    )


CONTROL_RULES = (no_abstract_device, semantics_length, buffer_count, primitive, shard_map)
LATE_RULES = (no_rule,)
