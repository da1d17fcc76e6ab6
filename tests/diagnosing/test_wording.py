"""Compiler messages taken apart."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from maxkernel_tools.diagnosing.endings import fatal_line
from maxkernel_tools.diagnosing.wording import mib, read_words, shorten, size_bytes

ALIGNMENT = """INTERNAL: Mosaic failed to compile TPU kernel with MLIR module name `b` HLO name `w.1`: E2003: \
CompileTimeMosaicUnprovenMemoryAccessAlignment: cannot statically prove that index in dimension 1 is a multiple of 128
See https://openxla.org/xla/errors/error_2003 for more details.

at location: loc("get:"("get/get"(callsite("b"("kernel.py":11:20 to :40) at "b"("kernel.py":11:20 to :40)))))

The MLIR operation involved:
  %5 = "tpu.vector_load"(%arg1, %0, %4) : (memref<16x1024xf32>, index, index) -> vector<16x64xf32>

Please report a bug at: https://github.com/jax-ml/jax/issues/new/choose
"""


def test_an_error_in_parts():
    words = read_words(ALIGNMENT)
    assert words.code == "2003"
    assert words.gist == "cannot statically prove that index in dimension 1 is a multiple of 128"
    assert words.operation.startswith('%5 = "tpu.vector_load"')
    assert words.places == (("kernel.py", 11), ("kernel.py", 11))


def test_a_message_without_parts_is_its_own_gist():
    assert read_words("Cannot store scalars to VMEM").gist == "Cannot store scalars to VMEM"


def test_the_fatal_line_of_a_crash_log():
    log = (
        "WARNING: Logging before InitGoogle() is written to STDERR\n"
        "F1130 21:19:24.747487   12265 layout.h:253] Check failed: rem == 0 (1024 vs. 0) \n"
        "*** Check failure stack trace: ***\n    @     0x7f  __assert_fail\n"
    )
    assert fatal_line(log) == "layout.h:253 Check failed: rem == 0 (1024 vs. 0)"
    assert fatal_line("") == "no message"


def test_sizes():
    assert size_bytes("39.75", "M") == 39.75 * (1 << 20)
    assert mib(16 << 20) == "16 MiB"
    assert mib(512) == "512 B"


@given(st.text(max_size=3000), st.integers(min_value=20, max_value=700))
def test_shortened_text_fits_and_keeps_its_head(text, limit):
    short = shorten(text, limit)
    assert len(short) <= limit
    assert " ".join(text.split()).startswith(short.split(" … ", maxsplit=1)[0])


@given(st.text(max_size=2000))
def test_any_text_can_be_read(text):
    words = read_words(text)
    assert words.text == text
    assert "\n" not in words.gist
