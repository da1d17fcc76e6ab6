from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from maxkernel_tools.checking.gridsteps import step_text
from tests.adversarial.corpus import call_of, entries
from tests.checking.support import judge

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal


def output(block: list[int], *axes: int) -> dict[str, Any]:
    return {"block": block, "index_map": {"depends_on": list(axes)}}


@pytest.mark.parametrize(
    ("grid", "out", "index", "shape", "text"),
    [
        ([4, 2, 8], output([32, 64], 0, 1), (70, 100), (128, 128), "grid step (2, 1, *)"),
        ([2, 4, 8], output([32, 64], 1, 0), (70, 100), (128, 128), "grid step (1, 2, *)"),
        ([4], output([32, 128], 0), (96, 5), (128, 128), "grid step (3)"),
        ([1, 4], output([128, 32], 0, 1), (0, 127), (128, 128), "grid step (0, 3)"),
        ([2, 2], output([64, 64], 0, 1), (0, 100), (128, 128), ""),  # either axis could cut either dim
        ([3], output([32, 128], 0), (96, 5), (128, 128), ""),  # the grid does not match the blocks
        ([], output([128, 128]), (0, 0), (128, 128), ""),
        ([4], {}, (0, 0), (128, 128), ""),
    ],
)
def test_the_step_is_named_where_it_is_certain(
    grid: list[int], out: dict[str, Any], index: tuple[int, ...], shape: tuple[int, ...], text: str
) -> None:
    assert step_text({"grid": grid}, out, index, shape) == text


@pytest.mark.toolchain
def test_a_verdict_names_block_and_grid_step(portal: BlockingPortal, runtime: Any) -> None:
    entry = next(item for item in entries() if item.name == "one-block-written")
    result = portal.call(judge, runtime, call_of(entry, "cheat"))
    assert result.verdict == "incorrect"
    words = " ".join(item.message for item in result.findings) + " ".join(case.explanation for case in result.cases)
    assert "block [" in words
    assert "grid step (" in words
