"""What the built-in author writes, judged by the real tracer, the interpreter with its checks on, and the compiler."""

from __future__ import annotations

import ast
import importlib.util
import re

import numpy as np
import pytest
from anyio.from_thread import BlockingPortal

from maxkernel_orchestrators.authoring import Draft, Unrecognised, drafts_for
from maxkernel_tools.records.arrays import ArraySpec
from maxkernel_tools.records.kernels import KernelSource
from maxkernel_tools.records.targets import Target
from maxkernel_tools.runtime import (
    CompileRequest,
    InterpretCase,
    InterpretOptions,
    InterpretRequest,
    ReferenceRequest,
    Runtime,
    TraceRequest,
)
from tests.orchestrators.references import HEAD, MATMULS, ROWS, V6E, Reference, graph_of, readable

pytestmark = pytest.mark.toolchain
if importlib.util.find_spec("libtpu") is None:
    pytest.skip("no TPU compiler here: libtpu is not installed", allow_module_level=True)

_ROUNDING = {"bf16": 2.0**-8, "f32": 2.0**-18}


def written(portal: BlockingPortal, runtime: Runtime, reference: Reference) -> tuple[Draft, ...]:
    return drafts_for(readable(graph_of(portal, runtime, reference.source, reference.full)), V6E, reference.name)


def judge(portal: BlockingPortal, runtime: Runtime, reference: Reference, draft: Draft, specs: tuple[str, ...]) -> None:
    """Interpret ``draft`` with races and uninitialised memory watched, against an f64 oracle of the same inputs."""
    parsed = tuple(map(ArraySpec.parse, specs))
    drawn = portal.call(
        runtime.reference,
        ReferenceRequest(source=KernelSource(text=reference.source), seed=7, dtype=parsed[0].dtype, specs=parsed),
    )
    assert drawn.error is None, drawn.error
    for params in reference.params:
        kept = {name: value for name, value in params.items() if name in draft.params}
        reply = portal.call(
            runtime.interpret,
            InterpretRequest(
                kernel=KernelSource(text=draft.source),
                cases=(InterpretCase(drawn.inputs, InterpretOptions(detect_races=True)),),
                params=kept,
                export=False,
            ),
        )
        assert reply.error is None, reply.error
        case = reply.cases[0]
        assert case.error is None, case.error
        assert not case.races
        got, right = case.outputs[0].astype(np.float64), drawn.oracle[0].astype(np.float64)
        assert got.shape == right.shape
        # Two roundings of the output, relative to the largest value: kernels sum in float32 and round once.
        allowed = 2 * _ROUNDING[parsed[0].dtype] * max(float(np.abs(right).max()), 1e-3)
        assert np.abs(got - right).max() <= allowed, (reference.name, draft.move, specs)


_ALWAYS = {"bias-relu", "transposed-weight", "scalar", "rms-norm", "layer-norm"}
EVERY = [
    pytest.param(reference, id=reference.name, marks=() if reference.name in _ALWAYS else pytest.mark.slow)
    for reference in MATMULS + ROWS
]


@pytest.mark.parametrize("reference", EVERY)
def test_a_written_kernel_is_right_where_every_axis_has_a_partial_block(
    portal: BlockingPortal, runtime: Runtime, reference: Reference
) -> None:
    draft = written(portal, runtime, reference)[0]
    for specs in reference.small:
        judge(portal, runtime, reference, draft, specs)


def test_the_stepped_kernel_masks_both_tails_of_k(portal: BlockingPortal, runtime: Runtime) -> None:
    plain = MATMULS[1]
    full = ("bf16[1024,65536]", "bf16[65536,1024]", "bf16[1024]")
    drafts = drafts_for(readable(graph_of(portal, runtime, plain.source, full)), V6E, "long")
    stepped = next(draft for draft in drafts if draft.move == "k-steps")
    judge(portal, runtime, plain, stepped, plain.small[0])
    judge(portal, runtime, plain, stepped, ("bf16[5,136]", "bf16[136,264]", "bf16[264]"))


@pytest.mark.parametrize("reference", [MATMULS[7], ROWS[0]], ids=lambda reference: reference.name)
def test_a_written_kernel_compiles_for_v5e_and_v6e(
    portal: BlockingPortal, runtime: Runtime, reference: Reference
) -> None:
    draft = written(portal, runtime, reference)[0]
    targets = (Target.V5E, Target.V6E)
    specs = tuple(map(ArraySpec.parse, reference.full))
    small = {name: min(value, 256) for name, value in draft.params.items()}
    traced = portal.call(
        runtime.trace, TraceRequest(kernel=KernelSource(text=draft.source), inputs=specs, params=small, targets=targets)
    )
    assert not traced.errors, traced.errors
    for target in targets:
        reply = portal.call(runtime.compile, CompileRequest(traced.exported[target], target, dumps=False))
        assert reply.ok, reply.error


def test_every_draft_reads_well_and_says_what_it_does(portal: BlockingPortal, runtime: Runtime) -> None:
    for reference in (MATMULS[1], ROWS[0]):
        for draft in written(portal, runtime, reference):
            tree = ast.parse(draft.source)
            assert ast.get_docstring(tree)
            names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
            assert {"workload", "kernel"} <= names
            assert max(map(len, draft.source.splitlines())) <= 140
            assert not re.search(r"\$\w+", draft.source)
            assert "vmem_limit_bytes" in draft.source
            assert "cost_estimate" in draft.source
            assert "name=" in draft.source


@pytest.mark.parametrize(
    ("body", "inputs", "word"),
    [
        ("def workload(x):\n    return jnp.sort(x, axis=-1)\n", ("f32[64,512]",), "sort"),
        ("def workload(x):\n    return jnp.cumsum(x, axis=-1)\n", ("f32[64,512]",), "cumsum"),
        ("def workload(x, w):\n    return (x @ w) @ w.T\n", ("f32[64,512]", "f32[512,64]"), "matrix products"),
        ("def workload(x):\n    return x.sum(0)\n", ("f32[64,512]",), "axes [0]"),
    ],
)
def test_what_is_outside_the_blueprints_is_refused_with_a_reason(
    portal: BlockingPortal, runtime: Runtime, body: str, inputs: tuple[str, ...], word: str
) -> None:
    graph = readable(graph_of(portal, runtime, HEAD + body, inputs))
    with pytest.raises(Unrecognised, match=re.escape(word)):
        drafts_for(graph, V6E, "outside")
