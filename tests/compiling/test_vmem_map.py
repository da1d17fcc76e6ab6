"""The compiler's VMEM map, read from the form two versions print, and not guessed where the form is unknown."""

from __future__ import annotations

import gzip

import pytest

from maxkernel_tools.compiling.vmem_map import read_vmem_map

PAGE = """<html><script>
        // --- 1. THE DATA SOURCE ---
        const DATA =%s;
        const MAX_BYTES_GLOBAL = DATA.global_info.vmem_capacity;
</script></html>
"""
TWO_WINDOWS = """{
  "global_info": { "module_name": "jit_call", "vmem_capacity": 134217728 },
  "hlo_breakdowns": {
    "<top-inlining-caller>": { "blocks": [ { "allocations": [ { "padding": 0, "size": 65536, "tag": "x" } ] } ] },
    "workload.1": { "blocks": [ { "allocations": [
      { "padding": 0, "shape": "u8[65536]", "size": 65536,
        "tag": "input window allocation for operator input 0. The window shape is bf16[128,128]." },
      { "padding": 0, "shape": "f32[8,128]", "size": 4096, "tag": "scratch operand" },
      { "padding": 0, "shape": "u8[8192]", "size": 8192, "tag": "SPILL" },
      { "padding": 512, "shape": "u8[131072]", "size": 131072,
        "tag": "output window allocation for operator output 0. The window shape is f32[128,128]." }
    ] } ] }
  }
}"""
NOTHING = """{
  "global_info": { "module_name": "jit_call", "vmem_capacity": 134217728 },
  "hlo_breakdowns": null
}"""


def write(folder, text: str) -> None:
    (folder / "TLP-08-vmem_report.html.gz").write_bytes(gzip.compress(text.encode()))


def test_windows_by_operand(tmp_path):
    write(tmp_path, PAGE % TWO_WINDOWS)
    found = read_vmem_map(tmp_path)
    assert found.capacity_bytes == 128 << 20
    windows = {allocation.operand: allocation.bytes for allocation in found.allocations if allocation.operand}
    assert windows == {"in0": 65536, "out0": 131072}
    assert found.used_bytes() == 65536 + 131072 + 4096 + 8192
    assert (found.used_bytes("scratch"), found.used_bytes("spill")) == (4096, 8192)
    assert "SPILL" in found.as_text()


def test_a_program_with_nothing_in_vmem(tmp_path):
    write(tmp_path, PAGE % NOTHING)
    assert read_vmem_map(tmp_path).used_bytes() == 0


@pytest.mark.parametrize("text", ["", "<html>other</html>", PAGE % "{\n broken\n }", PAGE % '{\n "a": 1\n }'])
def test_an_unknown_form_is_no_map(tmp_path, text):
    write(tmp_path, text)
    assert read_vmem_map(tmp_path) is None


def test_no_dumps_no_map(tmp_path):
    assert read_vmem_map(None) is None
    assert read_vmem_map(tmp_path) is None
