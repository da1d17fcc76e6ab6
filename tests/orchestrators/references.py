"""References the built-in author is tried on, each with a small family of shapes, and its graph by the real tracer."""

from __future__ import annotations

from dataclasses import dataclass

from anyio.from_thread import BlockingPortal

from maxkernel_orchestrators.authoring import ChipFacts
from maxkernel_orchestrators.authoring.graphs import Graph, read_graph
from maxkernel_tools.records.arrays import ArraySpec
from maxkernel_tools.records.kernels import KernelSource
from maxkernel_tools.records.tasks import ReferenceGraph
from maxkernel_tools.runtime import Runtime, TraceRequest

V6E = ChipFacts(
    target="v6e",
    clock_hz=1.75e9,
    hbm_achievable_bytes_per_s=1.45e12,
    peak_flops={"bf16": 918e12, "int8": 1836e12},
    vmem_bytes=128 << 20,
    mxu_size=256,
)

HEAD = "import jax\nimport jax.numpy as jnp\nfrom jax import lax\n\n\n"


@dataclass(frozen=True)
class Reference:
    """A reference and where it is tried.

    Attributes:
        body: text of ``workload``.
        full: inputs at full size. ``small``: inputs to interpret at.
        params: values to interpret with, small enough for several steps.
    """

    name: str
    body: str
    full: tuple[str, ...]
    small: tuple[tuple[str, ...], ...]
    params: tuple[dict[str, int], ...] = ({},)

    @property
    def source(self) -> str:
        return HEAD + self.body


def graph_of(portal: BlockingPortal, runtime: Runtime, source: str, inputs: tuple[str, ...]) -> ReferenceGraph:
    """Trace a reference as ``get_task`` does."""
    request = TraceRequest(
        kernel=KernelSource(text=source), inputs=tuple(map(ArraySpec.parse, inputs)), is_reference=True
    )
    reply = portal.call(runtime.trace, request)
    assert "reference_graph" in reply.facts, reply.errors
    return ReferenceGraph.model_validate(reply.facts["reference_graph"])


def readable(graph: ReferenceGraph, *names: str) -> Graph:
    return read_graph(graph, names)


def _matmul(name: str, epilogue: str, *sides: str, body: str = "jnp.matmul(x, w)") -> Reference:
    """``epilogue`` on a product, tried at sizes where every axis has a partial last block."""
    letters = [f"s{index}" for index in range(len(sides))]
    arguments = ", ".join(["x", "w", *letters])

    def inputs(m: int, k: int, n: int, dtype: str = "bf16") -> tuple[str, ...]:
        transposed = "nk" in body
        shapes = {"row": f"[{n}]", "full": f"[{m},{n}]", "column": f"[{m},1]", "scalar": "[]"}
        weight = f"[{n},{k}]" if transposed else f"[{k},{n}]"
        return (f"{dtype}[{m},{k}]", f"{dtype}{weight}", *(f"{dtype}{shapes[side]}" for side in sides))

    text = f"def workload({arguments}):\n    y = {body}\n    return {epilogue}\n"
    blocks = {"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 128}
    return Reference(name, text, inputs(2048, 2048, 2048), (inputs(136, 200, 200, "f32"),), (blocks,))


def _rows(name: str, body: str, *sides: str) -> Reference:
    letters = [f"s{index}" for index in range(len(sides))]
    arguments = ", ".join(["x", *letters])

    def inputs(b: int, s: int, d: int, dtype: str = "bf16") -> tuple[str, ...]:
        shapes = {"row": f"[{d}]", "full": f"[{b},{s},{d}]", "column": f"[{b},{s},1]"}
        return (f"{dtype}[{b},{s},{d}]", *(f"{dtype}{shapes[side]}" for side in sides))

    text = f"def workload({arguments}):\n{body}"
    return Reference(name, text, inputs(4, 1024, 2048), (inputs(1, 37, 200, "f32"),), ({"BLOCK_ROWS": 16},))


MATMULS = (
    _matmul("plain", "y"),
    _matmul("bias-relu", "jnp.maximum((y + s0 - 2.0) * 1.5, 0)", "row"),
    _matmul("exact-gelu", "jax.nn.gelu(y + s0, approximate=False)", "row"),
    _matmul("mish", "jax.nn.mish(y)"),
    _matmul("residual", "jax.nn.silu(y) * 2 + s0 * s1", "full", "row"),
    _matmul("row-scale", "jnp.clip(y * s0, -1, 1)", "column"),
    _matmul("scalar", "y / (1.0 + jnp.abs(s0)) + jnp.where(y > 0, y, 0.1 * y)", "scalar"),
    _matmul("transposed-weight", "jnp.tanh(y + s0)", "row", body='jnp.einsum("mk,nk->mn", x, w)'),
)
ROWS = (
    _rows(
        "rms-norm",
        "    wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))\n"
        "    mean = jnp.mean(wide * wide, axis=-1, keepdims=True)\n"
        "    return (wide * lax.rsqrt(mean + 1e-5)).astype(x.dtype) * s0\n",
        "row",
    ),
    _rows(
        "layer-norm",
        "    wide = x.astype(jnp.float32)\n"
        "    centred = wide - wide.mean(-1, keepdims=True)\n"
        "    return (centred / jnp.sqrt(wide.var(-1, keepdims=True) + 1e-5) * s0 + s1).astype(x.dtype)\n",
        "row",
        "row",
    ),
    _rows("softmax", "    return jax.nn.softmax(x, axis=-1)\n"),
    _rows("log-sum-exp", "    return jax.scipy.special.logsumexp(x, axis=-1)\n"),
    _rows("swiglu", "    return jax.nn.silu(x) * s0\n", "full"),
)
