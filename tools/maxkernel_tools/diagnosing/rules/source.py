"""Failures before any compiling: the text does not parse, import, define an entry, or trace."""

from __future__ import annotations

import re

from maxkernel_tools.diagnosing.evidence import Draft, Evidence
from maxkernel_tools.diagnosing.wording import shorten
from maxkernel_tools.records.findings import FindingCode, Stage
from maxkernel_tools.records.kernels import ENTRY_NAMES

_SYNTAX = ("SyntaxError", "IndentationError", "TabError")
_IMPORT = ("ImportError", "ModuleNotFoundError")
_INDEX_MAP = re.compile(r"[Ii]ndex[ _]map.* at (?P<file>\S+?\.py):(?P<line>\d+)")
_CAPTURED = re.compile(r"captures constants \[(?P<avals>.*?)\](?=\.|$)", re.DOTALL)
_SLICE = re.compile(
    r"Out of bound slice: start=(?P<start>-?\d+), size=(?P<size>\d+), stride=(?P<stride>\d+), dim=(?P<dim>\d+)"
)
_MISSING = re.compile(r"(?P<name>[\w.<>]+)\(\) (?:missing (?P<missing>\d+) required|takes (?P<takes>.+?) positional)")


def syntax_error(evidence: Evidence) -> Draft | None:
    """The text is not Python."""
    if evidence.error.type_name not in _SYNTAX or evidence.error.phase != "load":
        return None
    return Draft(
        FindingCode.SYNTAX_ERROR,
        f"The file is not valid Python: {shorten(evidence.words.gist)}.",
        "Fix the syntax at this line, or at the unclosed bracket or quote just above it.",
        line=evidence.error.frames[-1].line if evidence.error.frames else evidence.line,
        stage=Stage.SOURCE,
    )


def import_error(evidence: Evidence) -> Draft | None:
    """A module it imports is not there."""
    if evidence.error.type_name not in _IMPORT:
        return None
    return Draft(
        FindingCode.IMPORT_ERROR,
        f"An import failed: {shorten(evidence.words.gist)}.",
        "Import only jax, numpy and the standard library, or name the folder of your own modules in import_roots.",
        line=evidence.line,
        stage=Stage.SOURCE,
    )


def missing_entry(evidence: Evidence) -> Draft | None:
    """No ``workload`` in the file."""
    if evidence.error.type_name != "MissingEntry":
        return None
    return Draft(
        FindingCode.MISSING_ENTRY,
        f"{evidence.error.message}",
        f"Define {ENTRY_NAMES[0]}(*inputs, **params) at the top level; it is called with the task's inputs in order.",
        line=1,
        stage=Stage.SOURCE,
    )


def captured_constant(evidence: Evidence) -> Draft | None:
    """The kernel closes over an array."""
    match = _CAPTURED.search(evidence.error.message)
    if match is None:
        return None
    own = [frame.line for frame in evidence.error.source_frames]
    named = re.search(r"pallas_call (\w+) at ", evidence.error.message)
    used = evidence.source.captured_line(named.group(1)) if named else None
    return Draft(
        FindingCode.CAPTURED_CONSTANT,
        f"The kernel body uses an array from outside ({match.group('avals')}); a body may use only its refs and "
        "scalars.",
        "Pass the array to pallas_call as another input with its own BlockSpec and read it through its ref.",
        line=own[-1] if own else used or evidence.body_line or evidence.line,
    )


def exits(evidence: Evidence) -> Draft | None:
    """The file ends its own process."""
    if evidence.error.type_name not in ("SystemExit", "KeyboardInterrupt"):
        return None
    return Draft(
        FindingCode.PROCESS_EXITED,
        f"The file ends the process ({evidence.error.type_name}: {shorten(evidence.words.gist, 80) or 'no text'}).",
        "Remove the call that exits; raise an exception where something is wrong.",
        line=evidence.body_line or evidence.line,
    )


def store_dtype(evidence: Evidence) -> Draft | None:
    """A store whose value has another dtype than the ref."""
    message = evidence.error.message
    match = re.search(r"Invalid dtype for `\w+`\. Ref dtype: (\w+)\. Value dtype: (\w+)", message)
    if match is None:
        copied = "DMA source and target element type mismatch" in message
        if not copied:
            return None
        return Draft(
            FindingCode.STORE_DTYPE_MISMATCH,
            "An asynchronous copy has source and destination of different dtypes; a copy moves bits and converts "
            "nothing.",
            "Give the destination buffer the source's dtype and convert after the copy, in VMEM.",
            line=evidence.source.copy_line(evidence.line),
        )
    ref, value = match.groups()
    return Draft(
        FindingCode.STORE_DTYPE_MISMATCH,
        f"The stored value is {value} but the ref is {ref}; stores do not convert.",
        f"Convert at the store: .astype(ref.dtype) ({ref} here), or give the output or scratch the dtype {value}.",
        line=evidence.line,
    )


def static_slice(evidence: Evidence) -> Draft | None:
    """A slice known to leave its array."""
    match = _SLICE.search(evidence.error.message)
    if match is None:
        return None
    start, size, stride, dim = (int(match.group(name)) for name in ("start", "size", "stride", "dim"))
    last = start + (size - 1) * stride
    return Draft(
        FindingCode.OUT_OF_BOUNDS_READ,
        f"The slice covers elements {start} to {last} of a dimension of {dim}; the last allowed is {dim - 1}.",
        f"Use a size that divides {dim}, or make the last slice shorter; pl.ds does not clip.",
        line=evidence.line,
    )


def index_map(evidence: Evidence) -> Draft | None:
    """An index map of the wrong arity."""
    message = evidence.error.message
    match = _INDEX_MAP.search(message)
    if match is not None:
        line = int(match.group("line"))
        found = evidence.source.operand_line(None, "none", 0, line)
        return Draft(
            FindingCode.TRACE_ERROR,
            f"An index map does not fit its block: {shorten(evidence.words.gist)}",
            "Return one block index per dimension of the block shape, as integers.",
            line=found or line,
        )
    missing = _MISSING.search(message)
    if missing is None or "<lambda>" not in missing.group("name"):
        return None
    line = evidence.line
    return Draft(
        FindingCode.TRACE_ERROR,
        f"An index map takes another number of arguments than the grid has axes: {shorten(evidence.words.gist)}.",
        "Give every index map one argument per grid axis (then one per scalar-prefetch operand).",
        line=evidence.source.operand_line(line, "in", 0) or line,
    )


def _function_line(evidence: Evidence, missing: re.Match[str] | None) -> int | None:
    return evidence.source.function_line(missing.group("name").rpartition(".")[2]) if missing else None


_TRACER_HINTS = {
    "TracerBoolConversionError": "Python's if, and, or and while cannot branch on a traced value: use pl.when, "
    "lax.cond or jnp.where instead.",
    "TracerIntegerConversionError": "A traced value cannot be a Python integer (index, range, shape): use "
    "lax.fori_loop and pl.ds, or make it a static parameter.",
    "TracerArrayConversionError": "A traced value cannot become a numpy array: use jnp functions instead of np.",
    "ConcretizationTypeError": "A traced value was needed as a constant (a shape, a bound): pass it as a static "
    "parameter.",
    "UnexpectedTracerError": "A traced value left the function it belongs to: return it or store it in a ref instead.",
}


def trace_error(evidence: Evidence) -> Draft | None:
    """Anything else the user's own code raised while it was loaded or traced."""
    if evidence.error.phase not in ("load", "trace"):
        return None
    kind = evidence.error.type_name
    hint = _TRACER_HINTS.get(kind)
    missing = _MISSING.search(evidence.error.message)
    if hint is None and missing is not None:
        hint = (
            "A kernel body takes one ref per input, then one per output, then one per scratch shape; the entry takes "
            "the task's inputs. Make the number of arguments agree."
        )
    if hint is None and "shape" in evidence.error.message.lower():
        hint = "Make the shapes agree at this line; inside a kernel they are block shapes, not array shapes."
    where = "loading the file" if evidence.error.phase == "load" else "tracing"
    return Draft(
        FindingCode.TRACE_ERROR,
        f"{kind} while {where}: {shorten(evidence.words.gist)}",
        hint or "Fix the exception at this line; it is raised by the file's own code before any compiling.",
        line=evidence.body_line or evidence.line or _function_line(evidence, missing),
        stage=Stage.SOURCE if evidence.error.phase == "load" else None,
    )


SOURCE_RULES = (
    syntax_error,
    import_error,
    missing_entry,
    exits,
    captured_constant,
    store_dtype,
    static_slice,
    index_map,
)
"""In the order they are tried; :func:`trace_error` comes after every other rule."""
