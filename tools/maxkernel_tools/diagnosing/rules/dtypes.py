"""Failures of dtype: what the generation's units do not compute in."""

from __future__ import annotations

import re

from maxkernel_tools.diagnosing.evidence import Draft, Evidence
from maxkernel_tools.diagnosing.wording import shorten
from maxkernel_tools.records.findings import FindingCode

_F16 = re.compile(r"(?<![a-z])(?:\d+x)*f16\b|\bfloat16\b")
_I64 = re.compile(
    r"(?<![a-z\d])(?:\d+x)*[iuf]64\b|64-bit types are not supported|expected (?:float64|int64|uint64) and called"
)
_X64_SETTINGS = ("jax_enable_x64", "enable_x64")
_GENERATION = re.compile(
    r"on target|on this (?:TPU|target|hardware|chip)|TPU ?v\d|TPU generation|[Tt]arget does not support|not supported "
    r"(?:by|on) "
    r"(?:the |this )?(?:hardware|device|target|TPU)",
)


def float16(evidence: Evidence) -> Draft | None:
    """IEEE half precision inside a kernel."""
    words = evidence.words
    shown = _F16.search(words.operation) or _F16.search(words.gist)
    if not shown and not _operand_dtypes(evidence) & {"f16"}:
        return None
    if not shown and evidence.error.phase == "trace":
        return None
    return Draft(
        FindingCode.FLOAT16_UNSUPPORTED,
        "float16 is not a TPU compute type: kernels cannot load, store or compute in it.",
        "Use bfloat16 for storage and float32 for arithmetic; convert from and to float16 outside the pallas_call.",
        line=evidence.line,
    )


def wide_types(evidence: Evidence) -> Draft | None:
    """64-bit values inside a kernel."""
    words = evidence.words
    if evidence.error.phase in ("load", "trace") or not (_I64.search(words.gist) or _I64.search(words.operation)):
        return None
    switched = evidence.source.text_line(*_X64_SETTINGS)
    explicit = _operand_dtypes(evidence) & {"s64", "u64", "f64"}
    text = evidence.kernel.line(evidence.body_line) or ""
    explicit |= {name for name in ("int64", "uint64", "float64") if re.search(rf"\b{name}\b", text)}
    if switched is not None and not explicit:
        return Draft(
            FindingCode.X64_ENABLED,
            "64-bit types are enabled, so that Python integers in index maps and bodies become 64-bit, which a TPU "
            f"kernel cannot hold: {shorten(words.gist, 120)}.",
            "Remove the switch to 64 bits; where it is needed elsewhere, give every constant a 32-bit dtype "
            "(jnp.int32(0)).",
            line=switched,
        )
    what = ", ".join(sorted(explicit)) or "a 64-bit type"
    return Draft(
        FindingCode.INT64_UNSUPPORTED,
        f"The kernel uses {what}; TPU kernels have no 64-bit types: {shorten(words.gist, 120)}.",
        "Use 32-bit types inside the kernel: convert before the pallas_call, and back after it.",
        line=evidence.body_line or _first_load(evidence) or switched or evidence.line,
    )


def _first_load(evidence: Evidence) -> int | None:
    """Where the body first reads a reference: the nearest a refused operand has to a line of its own."""
    lines: dict[str, int] = dict((evidence.call or {}).get("primitive_lines", {}))
    return lines.get("get")


def _operand_dtypes(evidence: Evidence) -> set[str]:
    found: set[str] = set()
    for operand in evidence.operands():
        text = str(operand.get("array", ""))
        if not text.startswith(("dma_sem", "sem", "barrier")) and "[" in text:
            found.add(text.partition("[")[0])
    return found


def accumulator(evidence: Evidence) -> Draft | None:
    """A matmul whose result is narrower than 32 bits."""
    if not re.search(r"Expected matmul acc to be 32-bit|matmul acc(?:umulator)?\b.*32", evidence.words.gist):
        return None
    integer = re.search(r"vector<(?:\d+x)+i\d+>", evidence.words.operation) is not None
    wide = "jnp.int32" if integer else "jnp.float32"
    return Draft(
        FindingCode.MATMUL_ACCUMULATOR_DTYPE,
        "The matmul's result is narrower than 32 bits (it follows the operands' dtype); the MXU accumulates in 32 "
        "bits only.",
        "Ask for the wide result and narrow it at the end: jnp.dot(a, b, "
        f"preferred_element_type={wide}).astype(o_ref.dtype).",
        line=evidence.line,
    )


def generation(evidence: Evidence) -> Draft | None:
    """Something other generations have and this one has not."""
    words = evidence.words
    if words.code != "2001" and not _GENERATION.search(words.gist):
        return None
    target = evidence.target.value if evidence.target else "this generation"
    narrow = _matmul_dtype(evidence)
    if narrow is not None:
        hint = f"On {target}, convert both operands to bfloat16 first (preferred_element_type=jnp.float32)."
        said = words.gist.partition(" failed to legalize")[0]
        message = f"{target} has no {narrow} matmul: {shorten(said, 160)}."
    else:
        hint = f"Use another form for {target} (wider dtype, other instruction), or do not target it."
        message = f"{target} does not support this operation: {shorten(words.gist, 200)}."
    return Draft(FindingCode.UNSUPPORTED_ON_GENERATION, message, hint, line=evidence.line)


def _matmul_dtype(evidence: Evidence) -> str | None:
    if "matmul" not in evidence.words.gist.lower():
        return None
    match = re.search(r"vector<(?:\d+x)+(\w+)>", evidence.words.gist)
    if match is None:
        return None
    names = {"i8": "int8", "i4": "int4", "f8E4M3FN": "float8_e4m3fn", "f8E5M2": "float8_e5m2", "bf16": "bfloat16"}
    return names.get(match.group(1), match.group(1))


def matmul_operands(evidence: Evidence) -> Draft | None:
    """A matmul of a dtype no MXU takes."""
    if not re.search(
        r"Bad lhs/rhs type|[Uu]nsupported matmul|matmul .*(?:type|dtype).*not supported", evidence.words.gist
    ):
        return None
    return Draft(
        FindingCode.MATMUL_OPERAND_DTYPE,
        f"The MXU does not multiply these dtypes: {shorten(evidence.words.gist, 160)}.",
        "Multiply in float32 or bfloat16 (preferred_element_type=jnp.float32), or int8 with "
        "preferred_element_type=jnp.int32 on v5e and later; convert the operands first.",
        line=evidence.line,
    )


DTYPE_RULES = (accumulator, float16, wide_types, generation, matmul_operands)
