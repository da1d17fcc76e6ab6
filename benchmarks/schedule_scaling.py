"""How the model's own time grows with schedule length and grid steps.

The schedules are written here: a pipelined loop with one input stream, ``bundles`` long, run ``steps`` times.
"""

from __future__ import annotations

import sys
import time
import tracemalloc

from maxkernel_tools.schedule.bundles import parse_bundles
from maxkernel_tools.schedule.engine import Clockwork
from maxkernel_tools.schedule.machine import Machine

FILLER = (
    "%v1_v1 = vadd.f32 %v2_v2, %v3_v3  ;;  %v4_v4 = vld [vmem:[%s7_s7] sm:$0xff]  ;;  %5 = vst [vmem:[%s7_s7]] %v1_v1"
)


def schedule(bundles: int, steps: int) -> str:
    """Write a loop that starts and awaits one transfer a pass."""
    head = [
        "%s1_s1 = smov 0  ;;  %s20_s5 = smov [#allocation3]",
        "%s2_s1 = sphi %s1_s1, %s3_s1  ;;  %s9_s4 = sand.u32 1, %s2_s1",
        "%s3_s1 = sadd.s32 1, %s2_s1  ;;  %p5_p0 = scmp.lt.s32.totalorder %s2_s1, 1000000000",
        "%30 = dma.hbm_to_vmem (%p5_p0), %s8_s8, 4096, %s7_s7, %s20_s5",
    ]
    tail = [
        "%31 = dma.done.wait (%p5_p0), %s20_s5, 4096",
        f"%p6_p1 = scmp.ge.s32.totalorder %s3_s1, {steps}",
        "%40 = sbr.rel (!%p6_p1) target = $region9",
        *[""] * 5,
    ]
    body = [*head, *[FILLER] * max(0, bundles - len(head) - len(tail)), *tail]
    return "".join(
        f"{'0' if at == 0 else hex(at)} {'LB' if at == 1 else ''} : > {{ {text} }}"
        + (" /* Start region 9 */\n" if at == 1 else "\n")
        for at, text in enumerate(body)
    )


def measure(bundles: int, steps: int) -> tuple[float, float, float, bool]:
    """Return CPU seconds to parse and to run, peak MiB, and whether the run was extrapolated."""
    text = schedule(bundles, steps)
    tracemalloc.start()
    parse_bundles(text)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    started = time.process_time()
    machine = Machine(parse_bundles(text))
    parsed = time.process_time()
    run = machine.run(Clockwork(800.0, 1000.0, 2000.0), expected_trips=steps)
    ended = time.process_time()
    expected = (bundles - 2) * steps
    if abs(run.issue_cycles / expected - 1) > 0.01:
        raise SystemExit(f"{run.issue_cycles} bundles issued, {expected} expected")
    return parsed - started, ended - parsed, peak, run.truncated


def main() -> None:
    print(f"{'bundles':>8} {'steps':>9} {'parse s':>8} {'run s':>8} {'peak MiB':>9}  extrapolated")
    for bundles, steps in ((100, 100), (1_000, 1_000), (5_000, 10_000), (20_000, 100_000), (20_000, 1_000_000)):
        parse_s, run_s, peak, cut = measure(bundles, steps)
        print(f"{bundles:>8} {steps:>9} {parse_s:>8.3f} {run_s:>8.3f} {peak:>9.1f}  {'yes' if cut else 'no'}")
        if parse_s + run_s > 1.0 and "--strict" in sys.argv:
            raise SystemExit("over a second")


if __name__ == "__main__":
    main()
