"""Reference graphs written by hand, for tests that need no tracer."""

from __future__ import annotations

from maxkernel_tools.records.tasks import ReferenceEquation, ReferenceGraph


def equation(output: str, primitive: str, *inputs: str, aval: str, **params: str) -> ReferenceEquation:
    return ReferenceEquation(primitive=primitive, inputs=inputs, outputs=(output,), params=params, avals=(aval,))


def bias_relu(m: int = 4096, k: int = 8192, n: int = 8192, dtype: str = "bf16") -> ReferenceGraph:
    """``max((x @ w + b - 2) * 0.1, 0)`` as jax 0.10 and 0.12 print it."""
    full = f"{dtype}[{m},{n}]"
    return ReferenceGraph(
        inputs=("a", "b", "c"),
        input_avals=(f"{dtype}[{m},{k}]", f"{dtype}[{k},{n}]", f"{dtype}[{n}]"),
        outputs=("i",),
        output_avals=(full,),
        equations=(
            equation("d", "dot_general", "a", "b", aval=full, dimension_numbers="(((1,), (0,)), ((), ()))"),
            equation("e", "broadcast_in_dim", "c", aval=f"{dtype}[1,{n}]", broadcast_dimensions="(1,)"),
            equation("f", "add", "d", "e", aval=full),
            equation("g", "sub", "f", f"2.0:{dtype}", aval=full),
            equation("h", "mul", "g", f"0.10009765625:{dtype}", aval=full),
            equation("i", "max", "h", f"0.0:{dtype}", aval=full),
        ),
    )


def rms_norm(b: int = 8, s: int = 4096, d: int = 8192) -> ReferenceGraph:
    """RMS normalisation over the last axis, with a scale."""
    wide, narrow, column = f"f32[{b},{s},{d}]", f"bf16[{b},{s},{d}]", f"f32[{b},{s},1]"
    return ReferenceGraph(
        inputs=("a", "b"),
        input_avals=(narrow, f"bf16[{d}]"),
        outputs=("n",),
        output_avals=(narrow,),
        equations=(
            equation("c", "convert_element_type", "a", aval=wide, new_dtype="float32"),
            equation("e", "mul", "c", "c", aval=wide),
            equation("f", "reduce_sum", "e", aval=f"f32[{b},{s}]", axes="(2,)"),
            equation("g", "broadcast_in_dim", "f", aval=column, broadcast_dimensions="(0, 1)"),
            equation("h", "div", "g", f"{float(d)}:f32", aval=column),
            equation("i", "add", "h", "9.999999747378752e-06:f32", aval=column),
            equation("j", "rsqrt", "i", aval=column),
            equation("k", "mul", "c", "j", aval=wide),
            equation("l", "convert_element_type", "k", aval=narrow, new_dtype="bfloat16"),
            equation("m", "broadcast_in_dim", "b", aval=f"bf16[1,1,{d}]", broadcast_dimensions="(2,)"),
            equation("n", "mul", "l", "m", aval=narrow),
        ),
    )
