"""Real captures of real TPUs: sums to the picosecond, by the device's clock."""

from __future__ import annotations

import pytest

from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.targets import Target
from maxkernel_tools.traces import read_profile
from maxkernel_tools.traces.xspace import read_space, stat_values
from tests.shared_data import shared_path
from tests.traces.real import inference, v6e

OLD = ("data", "traces", "openxla-xprof", "tpu_inference_2.old.xplane.pb")


@pytest.mark.parametrize(
    ("name", "sums"),
    [
        ("2026_01_12_00_26_20", (65_722_837_580, 65_719_868_886)),
        ("2026_01_12_01_08_50", (63_779_727_239, 63_777_473_937)),
    ],
)
def test_sums_over_ops(name: str, sums: tuple[int, int]) -> None:
    profile = inference(name)
    assert profile.clock == "device"
    assert (profile.ops_ps(0), profile.ops_ps(1)) == sums
    for core in (0, 1):
        modules = [module for module in profile.modules if module.core == core]
        assert len(modules) == 4
        assert all(module.idle_ps > 0 for module in modules)
        assert profile.modules_ps(core) == (profile.ops_ps(core) or 0) + sum(module.idle_ps for module in modules)
    # Neighbours overlap by one picosecond of rounding, and by no more.
    assert sum(module.overlap_ps for module in profile.modules if module.core == 0) in {189, 202}


def test_five_pallas_kernels_of_64_calls() -> None:
    profile = inference("2026_01_12_00_26_20")
    kernels: dict[str, int] = {}
    for op in profile.ops:
        if op.is_pallas and op.core == 0:
            kernels[op.base] = kernels.get(op.base, 0) + op.calls
            assert (op.flops, op.flops_origin) == (None, "none")
    assert kernels == {
        "RPA-bq_32-bkvp_32-p_128-": 64,
        "quantized_matmul_kernel_1024_5120_512": 64,
        "quantized_matmul_kernel_256_5120_4096": 64,
        "quantized_matmul_kernel_512_5120_2560": 64,
        "quantized_matmul_kernel_512_6400_1024": 64,
    }


def test_four_chips_by_the_device_clock() -> None:
    profile = v6e()
    assert (profile.device.kind, profile.device.origin, profile.device.peak_flops) == ("TPU v6 Lite", "read", 918e12)
    assert [profile.ops_ps(core) for core in profile.device.cores] == [
        78_783_723_903_750,
        78_788_304_606_250,
        78_780_797_327_500,
        78_765_077_868_750,
    ]
    (copy_done,) = [op for op in profile.ops if op.core == 0 and op.name == "copy-done.2"]
    assert copy_done.self_ps == 19_411_432_413_750
    assert [module.runs for module in profile.modules if module.name == "jit_f"] == [100] * 4


def test_the_host_clock_would_have_been_wrong() -> None:
    plane = next(one for one in read_space(shared_path(*OLD)).planes if one.name == b"/device:TPU:0")
    wanted = {entry.key for entry in plane.event_metadata if entry.value.display_name == b"copy-done.2"}
    (ops,) = [line for line in plane.lines if line.name == b"XLA Ops"]
    host = sum(event.duration_ps for event in ops.events if event.metadata_id in wanted)
    assert round(host / 1e6, 2) == 22_029_145.48


def test_golden_table_flags_the_two_kernels_with_wrong_flops() -> None:
    path = shared_path("data", "traces", "openxla-xprof", "golden_hlo_stats_v5p.json.gz")
    profile = read_profile(path, target=Target.V5P)
    assert len(profile.ops) == 357
    assert profile.ops_ps(0) == 3_897_804_986_484
    assert profile.by_category(0)["custom-call"] // 1_000_000_000 == 439
    assert round(profile.by_category(0)["custom-call"] / 1e6, 3) == 439_805.394
    untrusted = [op for op in profile.ops if not op.trusted]
    assert sorted(op.base.split("_segmented")[0] for op in untrusted) == ["vmap_splash_mha_dkv", "vmap_splash_mha_dq"]
    peak = profile.device.peak_flops or 0
    rates = sorted((op.flops or 0) * op.calls / op.total_ps * 1e12 / peak for op in untrusted)
    assert [round(rate, 1) for rate in rates] == [3.3, 4.1]
    # Without a chip there is no peak, and nothing is doubted.
    assert all(op.trusted for op in read_profile(path).ops)


def test_the_corrupt_file_fails_cleanly() -> None:
    with pytest.raises(MisuseError, match="UTF-8 conversion"):
        read_profile(shared_path("data", "traces", "openxla-xprof", "tpu_inference_2.HEAD.xplane.pb"))


def test_references_between_stats_are_resolved() -> None:
    plane = next(one for one in read_space(shared_path(*OLD)).planes if one.name == b"/device:TPU:0")
    assert stat_values(plane.stats, {})  # names absent: values still read
    profile = v6e()
    (fusion,) = [op for op in profile.ops if op.core == 0 and op.name == "broadcast_add_fusion.1"]
    assert fusion.scope == "jit(f)/jit(main)/add"
    assert fusion.flops_origin == "hlo"
