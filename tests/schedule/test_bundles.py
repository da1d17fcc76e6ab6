"""The bundle parser on stored schedules of two compiler versions, and on text nobody wrote."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxkernel_tools.schedule.bundles import branch_target, parse_bundles
from maxkernel_tools.schedule.dumps import DumpFolder
from maxkernel_tools.schedule.unknown import UnknownFormatError
from tests.schedule.samples import PALLAS_GEMM, RMSNORM

HEADER = "= control target key start\nLH: loop header\nLB: loop body\n= control target key end\n\n"


def test_pallas_gemm_of_the_newer_compiler() -> None:
    listing = parse_bundles(DumpFolder.open(PALLAS_GEMM).text("workload.1", "final_bundles"))
    assert listing.bundles == 1067
    assert listing.labels == {17: "LB", 233: "PF", 1016: "PF", 1041: "PF"}
    branches = [item for item in listing.instructions if item.opcode == "sbr.rel"]
    assert [branch_target(listing, item) for item in branches] == [1041, 233, 1016, 17]
    starts = [item for item in listing.instructions if item.opcode.startswith("dma.h")]
    assert [item.operands.split(", ")[1] for item in starts] == ["16384", "16384"]
    assert all(item.negated for item in starts)


def test_fusion_of_the_older_compiler() -> None:
    listing = parse_bundles(DumpFolder.open(RMSNORM).text("fusion.2", "final_bundles"))
    branches = [item for item in listing.instructions if item.opcode == "sbr.rel"]
    targets = [branch_target(listing, item) for item in branches]
    # This version prints "bundleno" of another numbering; the labelled region is what counts.
    assert [listing.labels[target] for target in targets] == ["PF", "LB"]
    assert any(item.opcode == "sdivrem.u32" for item in listing.instructions)


def test_a_predicated_move_is_a_select() -> None:
    text = HEADER + "     0   :  { %s8_s2 = smov (%p7_p0, %s33_s6), 0  ;;  %v1_v0 = vadd.f32 %v0_v0, %v0_v0 }\n"
    (move,) = parse_bundles(text).instructions
    assert (move.dest, move.predicate, move.negated, move.otherwise, move.operands) == (
        "s8_s2",
        "p7_p0",
        False,
        "%s33_s6",
        "0",
    )


@pytest.mark.parametrize("text", ["", "nothing of the kind", HEADER, HEADER + "   0x5   :  { %1 = sfence }\n"])
def test_another_format_is_named(text: str) -> None:
    with pytest.raises(UnknownFormatError, match="final_bundles"):
        parse_bundles(text)


@given(st.text(max_size=400))
def test_any_text_parses_or_is_refused(text: str) -> None:
    with contextlib.suppress(UnknownFormatError):
        parse_bundles(text)


@given(
    st.lists(
        st.lists(
            st.sampled_from(
                [
                    "%s1_s1 = sadd.s32 1, %s0_s0",
                    "%2 = vst [vmem:[%s1] sm:$0xff] %v1",
                    "%p3_p1 = pneg %p2_p2",
                    "%5 = sfence",
                ]
            ),
            max_size=4,
        ),
        min_size=1,
        max_size=60,
    )
)
def test_bundles_are_counted_whatever_is_in_them(bundles: list[list[str]]) -> None:
    lines = [
        f"{'0' if at == 0 else hex(at)} {'LB' if at == 3 else ''}  : > {{ {'  ;;  '.join(body)} }}"
        for at, body in enumerate(bundles)
    ]
    listing = parse_bundles(HEADER + "\n".join(lines) + "\n")
    assert listing.bundles == len(bundles)
    scalar = sum(part.startswith(("%s1", "%p3")) for body in bundles for part in body)
    assert len(listing.instructions) == scalar
    assert listing.labels == ({3: "LB"} if len(bundles) > 3 else {})
