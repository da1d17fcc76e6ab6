"""The built-in author without a compiler: reading graphs, choosing blocks, writing text."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxkernel_orchestrators.authoring import ChipFacts, Unrecognised, drafts_for
from maxkernel_orchestrators.authoring.blocks import MatmulBlocks, MatmulSizes, RowSizes, matmul_blocks, row_blocks
from maxkernel_orchestrators.authoring.graphs import format_number, parse_literal, read_graph, unrounded
from maxkernel_orchestrators.authoring.placing import Frame
from tests.orchestrators.graphs import bias_relu, equation, rms_norm
from tests.orchestrators.references import V6E

NAMES = ("x", "weight", "bias")
SMALL_VMEM = ChipFacts(
    target="small", clock_hz=1e9, hbm_achievable_bytes_per_s=5e11, peak_flops={"bf16": 1e14}, vmem_bytes=16 << 20
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2.0:f32", 2.0),
        ("0:i32[]", 0),
        ("-inf:bf16", -math.inf),
        ("True:pred", True),
        ("1e-05:f32", 1e-5),
        ("TypedInt(1, dtype=int32):s32", 1),
    ],
)
def test_literals_are_read_in_every_spelling_jax_has(text: str, value: object) -> None:
    literal = parse_literal(text)
    assert literal is not None
    assert literal.value == value


@pytest.mark.parametrize("name", ["a", "ab", "inf2", "nan_", "e1"])
def test_names_of_values_are_not_literals(name: str) -> None:
    assert parse_literal(name) is None


def test_constants_rounded_to_bfloat16_are_written_as_somebody_wrote_them() -> None:
    assert unrounded(0.10009765625, "bf16") == 0.1
    assert unrounded(0.70703125, "bf16") == pytest.approx(math.sqrt(0.5), abs=1e-15)
    assert unrounded(-0.044677734375, "bf16") == -0.044715
    assert unrounded(1.5, "bf16") == 1.5
    assert unrounded(0.10009765625, "f32") == 0.10009765625
    assert format_number(9.999999747378752e-06) == "1e-05"


def test_a_matmul_with_an_epilogue_becomes_a_readable_kernel() -> None:
    drafts = drafts_for(read_graph(bias_relu(), NAMES), V6E, "41k")
    source = drafts[0].source
    assert "return jnp.maximum((product + bias - 2.0) * 0.1, 0.0)" in source
    assert "def workload(x, weight, bias, BLOCK_M=" in source
    assert "pl.BlockSpec((1, block_n), lambda i, j: (0, j))" in source
    assert drafts[0].params


def test_a_normalisation_takes_its_row_length_from_the_input() -> None:
    draft = drafts_for(read_graph(rms_norm(), ("x", "scale")), V6E, "12p_RMSNorm")[0]
    assert "/ columns + 1e-05" in draft.source
    assert "8192" not in draft.source
    assert 'name="k12p_rmsnorm"' in draft.source


def test_argument_names_that_would_shadow_the_kernel_are_changed() -> None:
    source = drafts_for(read_graph(bias_relu(), ("pl", "lambda", "pl")), V6E, "names")[0].source
    compile(source, "kernel.py", "exec")
    assert "def workload(pl_in, x1, " in source


def test_equal_equations_are_one_value() -> None:
    graph = bias_relu()
    twice = graph.model_copy(
        update={
            "equations": (
                *graph.equations,
                equation("j", "dot_general", "a", "b", aval="bf16[4096,8192]", **graph.equations[0].params),
                equation("k", "add", "i", "j", aval="bf16[4096,8192]"),
            ),
            "outputs": ("k",),
        }
    )
    source = drafts_for(read_graph(twice, NAMES), V6E, "twice")[0].source
    assert source.count("lax.dot_general(") == 1


def test_a_vector_result_is_refused() -> None:
    with pytest.raises(Unrecognised):
        drafts_for(read_graph(bias_relu(m=1), NAMES), V6E, "vector")


def test_a_partial_broadcast_is_refused() -> None:
    frame = Frame((4, 5, 6), 2)
    assert frame.kind(((0,), (1,), (2,))) == "full"
    assert frame.kind(((), (), (2,))) == "row"
    assert frame.kind(((0,), (1,), ())) == "column"
    with pytest.raises(Unrecognised):
        frame.kind(((0,), (), (2,)))
    with pytest.raises(Unrecognised):
        frame.kind(((2,), (0,), (1,)))


@given(st.lists(st.integers(2, 5), min_size=1, max_size=4), st.integers(0, 3))
def test_merging_axes_and_splitting_them_again_gives_the_same_axes(sizes: list[int], cut: int) -> None:
    frame = Frame(tuple(sizes), len(sizes) - 1)
    cut = min(cut, len(sizes))
    merged = tuple(filter(None, (math.prod(sizes[:cut]) if cut else 0, math.prod(sizes[cut:]) if sizes[cut:] else 0)))
    labels = frame.partition(frame.axes(), merged)
    assert [axis for label in labels for axis in label] == list(range(len(sizes)))


@given(
    st.integers(1, 40_000),
    st.integers(1, 40_000),
    st.integers(1, 40_000),
    st.sampled_from([V6E, SMALL_VMEM]),
    st.sampled_from([1, 2, 4]),
)
def test_every_tiling_offered_fits_vmem_and_obeys_the_tile(m: int, n: int, k: int, chip: ChipFacts, width: int) -> None:
    sizes = MatmulSizes(m, n, k, width, width, width, 0, "bf16")
    for blocks in matmul_blocks(sizes, chip):
        assert blocks.vmem_bytes(sizes) <= chip.usable_vmem
        assert blocks.block_m % 8 == 0
        assert blocks.block_n % 128 == 0
        assert blocks.walk != "k-steps" or blocks.block_k % 128 == 0


def test_traffic_decides_which_operand_stays() -> None:
    tall = MatmulSizes(65536, 512, 4096, 2, 2, 2, 0, "bf16")
    wide = MatmulSizes(512, 65536, 4096, 2, 2, 2, 0, "bf16")
    assert matmul_blocks(tall, V6E)[0].walk == "columns-outer"
    assert matmul_blocks(wide, V6E)[0].walk == "rows-outer"


def test_a_k_too_long_for_vmem_is_stepped() -> None:
    sizes = MatmulSizes(1024, 1024, 1 << 20, 2, 2, 2, 0, "bf16")
    assert {blocks.walk for blocks in matmul_blocks(sizes, V6E)} == {"k-steps"}


def test_the_exposed_fetch_is_counted() -> None:
    sizes = MatmulSizes(4096, 8192, 8192, 2, 2, 2, 0, "bf16")
    short, long = (MatmulBlocks("rows-outer", 1024, columns, 8192).time_us(sizes, V6E) for columns in (256, 1024))
    assert long < short


@given(st.integers(2, 100_000), st.integers(2, 500_000))
def test_every_band_of_rows_fits(rows: int, columns: int) -> None:
    for params in row_blocks(RowSizes(rows, columns, 4, 2), V6E):
        assert 2 * params["BLOCK_ROWS"] * columns * 4 <= V6E.usable_vmem
