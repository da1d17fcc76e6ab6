"""Inputs given without a task: tried as they are, and where that costs much on smaller ones beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from maxkernel_tools.checking import planning
from tests.checking.support import judge, text_call

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

pytestmark = pytest.mark.toolchain

REFERENCE = "def workload(x):\n    return x + 1.0\n"
KERNEL = """
import jax
from jax.experimental import pallas as pl

ROWS = 64


def body(x_ref, o_ref):
    o_ref[...] = x_ref[...] + ADDED


def workload(x):
    block = pl.BlockSpec((ROWS, x.shape[1]), lambda i: (i, 0))
    return pl.pallas_call(
        body,
        grid=(x.shape[0] // ROWS,),
        in_specs=[block],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)
"""


@pytest.fixture
def costly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything above 256 by 128 counts as much work."""
    monkeypatch.setattr(planning, "_EASY_FLOPS", 256 * 128)
    monkeypatch.setattr(planning, "_SHRUNK_TO", (512, 256, 128))


@pytest.mark.usefixtures("costly")
@pytest.mark.parametrize("level", ["quick", "sanitize"])
def test_a_costly_shape_is_tried_once_and_a_smaller_one_under_every_setting(
    level: Any, portal: BlockingPortal, runtime: Any
) -> None:
    call = text_call(KERNEL.replace("ADDED", "1.0"), REFERENCE, ["f32[512,128]"])
    result = portal.call(judge, runtime, call, level)
    assert result.verdict == "correct", result.summary
    names = [case.name.split(",", maxsplit=1)[0] for case in result.cases]
    assert names.count("given") == 1
    assert names.count("shrunk") == (2 if level == "quick" else len(planning.SANITIZE))
    assert "shrunk (f32[256,128])" in result.shape_generality


@pytest.mark.usefixtures("costly")
def test_wrong_at_the_shape_given_is_wrong(portal: BlockingPortal, runtime: Any) -> None:
    wrong = (
        KERNEL.replace("ADDED", "(1.0 if x_ref.shape[0] < 128 else 2.0)")
        .replace("ROWS = 64\n", "")
        .replace("def workload(x):\n", "def workload(x):\n    ROWS = x.shape[0] // 4\n")
    )
    result = portal.call(judge, runtime, text_call(wrong, REFERENCE, ["f32[512,128]"]))
    assert result.verdict == "incorrect"
    assert result.findings[0].code.value == "wrong-result"


@pytest.mark.usefixtures("costly")
def test_a_kernel_for_the_shape_given_only_is_right_and_said_to_be_so(portal: BlockingPortal, runtime: Any) -> None:
    single = KERNEL.replace("ADDED", "(1.0 if o_ref.shape[0] == ROWS and N == 512 else 9.0)").replace(
        "def workload(x):\n", "def workload(x):\n    global N\n    N = x.shape[0]\n"
    )
    result = portal.call(judge, runtime, text_call(single, REFERENCE, ["f32[512,128]"]))
    assert result.verdict == "correct", result.summary
    assert "wrong on shrunk (f32[256,128])" in result.shape_generality.lower()
