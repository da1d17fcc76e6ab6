"""Who gets how much of HBM, by arithmetic."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxkernel_tools.schedule.engine import Clockwork


def clock(**changes: float) -> Clockwork:
    return Clockwork(**{"bytes_per_cycle": 10.0, "latency_cycles": 5.0, "local_bytes_per_cycle": 100.0, **changes})


def test_transfers_of_a_kernel_are_served_in_order() -> None:
    engine = clock()
    engine.start((1, 0), 1, 100, "read")
    engine.start((1, 1), 1, 200, "read")
    assert engine.wait((1, 0), 1) == 15
    assert engine.wait((1, 1), 1) == 35
    engine.now = 40
    assert engine.wait((1, 1), 1) == 0


def test_strided_writes_pay_for_their_pieces() -> None:
    engine = clock(write_piece_cycles=3.0)
    engine.start((1, 0), 1, 100, "write", 20)
    engine.start((1, 1), 1, 100, "read", 20)
    assert engine.wait((1, 0), 1) == 65
    assert engine.wait((1, 1), 1) == 75


def test_a_background_copy_shares_evenly_and_takes_what_is_left() -> None:
    engine = clock(latency_cycles=0.0)
    engine.start((0, 9), 1, 1000, "read", background=True)
    engine.start((1, 0), 1, 300, "read")
    # 30 cycles' worth at half speed.
    assert engine.wait((1, 0), 1) == 60
    engine.now = 60
    # 70 cycles' worth of the copy are left and it is alone.
    assert engine.wait((0, 9), 1) == 70


@given(
    st.lists(st.tuples(st.integers(1, 500), st.booleans(), st.integers(0, 60)), min_size=1, max_size=30),
)
def test_no_byte_is_faster_than_the_bandwidth(transfers: list[tuple[int, bool, int]]) -> None:
    engine = clock(latency_cycles=0.0)
    total = 0
    for at, (size, background, pause) in enumerate(transfers):
        engine.now += pause
        engine.start((0, at), 1, size, "read", background=background)
        total += size
    start = engine.now
    for at in range(len(transfers)):
        engine.now += engine.wait((0, at), 1)
    pauses = sum(pause for _, _, pause in transfers)
    assert engine.now >= total / 10 - 1e-6
    assert engine.now <= pauses + total / 10 + 1e-6
    assert engine.busy_cycles == pytest.approx(total / 10)
    assert engine.now >= start
