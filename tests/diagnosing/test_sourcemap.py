"""The line a person must edit, found in the text alone."""

from __future__ import annotations

from maxkernel_tools.diagnosing.sourcemap import SourceMap

TEXT = """\
import jax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

TABLE = jax.numpy.arange(8)
SEMANTICS = ("parallel", "arbitrary")


def helper(v):
    return v * TABLE


def body(x_ref, o_ref):
    copy = pltpu.make_async_copy(
        x_ref, o_ref, None)
    copy.start()
    o_ref[...] = helper(x_ref[...])
    copy.wait()


def workload(x):
    grid = (x.shape[0] // 8, 2)
    left = pl.BlockSpec((8, 128), lambda i, j: (i, j))
    spec = pl.GridSpec(
        grid=grid,
        in_specs=[
            left,
            pl.BlockSpec((8, 128),
                         lambda i, j: (j, i)),
        ],
        out_specs=[left] * 2,
    )
    return pl.pallas_call(
        body,
        grid_spec=spec,
        compiler_params=pltpu.CompilerParams(dimension_semantics=SEMANTICS),
        scratch_shapes=[pltpu.VMEM((8, 128), x.dtype), pltpu.SemaphoreType.DMA],
    )(x)
"""
LINES = TEXT.splitlines()
CALL = next(number for number, line in enumerate(LINES, 1) if "pl.pallas_call(" in line)


def line_of(fragment: str) -> int:
    return next(number for number, line in enumerate(LINES, 1) if fragment in line)


def test_grid_through_a_grid_spec_and_a_name():
    assert SourceMap(TEXT).keyword_line(CALL, "grid") == line_of("grid = (x.shape")


def test_semantics_through_compiler_params_and_a_constant():
    assert SourceMap(TEXT).keyword_line(CALL, "dimension_semantics") == line_of("SEMANTICS = ")


def test_operands_in_place_and_by_name():
    source = SourceMap(TEXT)
    assert source.operand_line(CALL, "in", 0) == line_of("left = ")
    assert source.operand_line(CALL, "in", 1) == line_of("lambda i, j: (j, i)") - 1
    assert source.operand_line(CALL, "scratch", 1) == line_of("scratch_shapes")


def test_index_map_on_a_later_line_leads_to_its_block_spec():
    source = SourceMap(TEXT)
    lambda_line = line_of("lambda i, j: (j, i)")
    assert source.operand_line(CALL, "in", 1, lambda_line) == lambda_line - 1


def test_a_started_copy_leads_to_where_it_is_described():
    source = SourceMap(TEXT)
    described = line_of("make_async_copy")
    assert source.copy_line(line_of("copy.start()")) == described
    assert source.copy_line(line_of("copy.wait()")) == described


def test_a_captured_array_is_found_in_the_function_that_uses_it():
    assert SourceMap(TEXT).captured_line("body") == line_of("return v * TABLE")


def test_lines_of_a_call_and_of_a_body():
    source = SourceMap(TEXT)
    assert source.inside_pallas_call(CALL + 2)
    assert not source.inside_pallas_call(line_of("copy.start()"))


def test_text_that_does_not_parse_has_no_map():
    source = SourceMap("def workload(x:\n")
    assert source.pallas_call(1) is None
    assert source.keyword_line(1, "grid") is None
    assert source.operand_line(1, "in", 0) is None
