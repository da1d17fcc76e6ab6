"""Endings no kernel file can bring about quickly: a compiler that gives up, dies, or says what nobody knows."""

from __future__ import annotations

import pytest

from maxkernel_tools.diagnosing import diagnose_compile, diagnose_trace
from maxkernel_tools.records.findings import FindingCode, Severity
from maxkernel_tools.records.kernels import KernelSource
from maxkernel_tools.records.targets import Target
from maxkernel_tools.runtime import ChildReport, CompileReply, Frame, RawError, TraceReply

KERNEL = KernelSource(text="def body(x_ref, o_ref):\n    o_ref[...] = x_ref[...]\n\n\ndef workload(x):\n    return x\n")


def call(**more):
    return {"name": "body", "function": "body", "function_line": 1, "line": 6, "operands": [], **more}


def reply(ending: str, **more) -> CompileReply:
    how = {name: more.pop(name) for name in ("signal", "cpu_ms", "exceeded", "allowed_s") if name in more}
    return CompileReply(
        child=ChildReport(ending=ending, wall_ms=130_000, **how),
        ok=False,
        compile_ms=0,
        **more,
    )


def test_a_compiler_out_of_time_points_at_the_body():
    facts = {"pallas_calls": [call(equations=5000)]}
    spent = reply("timed-out", exceeded="processor-time", cpu_ms=121_000, allowed_s=120.0)
    (finding,) = diagnose_compile(KERNEL, spent, facts, Target.V6E)
    assert finding.code is FindingCode.COMPILE_TIME_BLOWUP
    assert finding.line == 1
    for figure in ("121 s of processor time", "130 s by the clock", "120 s are allowed"):
        assert figure in finding.message


@pytest.mark.parametrize(
    ("exceeded", "said"), [("clock-time", "too busy"), ("no-progress", "used no processor time for 60 s")]
)
def test_a_compile_the_clock_ended_is_not_blamed_on_the_kernel(exceeded: str, said: str):
    temporary = {"array": "f32[2048,4096]", "bytes": 32 << 20, "line": 2, "primitive": "dot_general"}
    facts = {"pallas_calls": [call(equations=5000, temporaries=[temporary])]}
    stopped = reply("timed-out", exceeded=exceeded, cpu_ms=9_000, allowed_s=60.0)
    (finding,) = diagnose_compile(KERNEL, stopped, facts, Target.V6E)
    assert finding.code is FindingCode.TIMED_OUT
    assert said in finding.message
    assert "9 s" in finding.message
    assert finding.line is None


def test_a_compiler_out_of_time_on_a_value_larger_than_vmem_says_so_without_claiming_it():
    temporary = {"array": "f32[2048,4096]", "bytes": 32 << 20, "line": 2, "primitive": "dot_general"}
    facts = {"pallas_calls": [call(equations=12, temporaries=[temporary])]}
    blowup, likely = diagnose_compile(KERNEL, reply("timed-out"), facts, Target.V5E)
    assert (blowup.code, blowup.line, blowup.severity) == (FindingCode.COMPILE_TIME_BLOWUP, 2, Severity.ERROR)
    assert (likely.code, likely.line, likely.severity) == (FindingCode.VMEM_OOM, 2, Severity.WARNING)
    assert "Likely" in likely.message


def test_a_crash_without_a_known_cause_gives_the_fatal_line():
    log = "F1130 21:19:24.747487   12265 layout.cc:9] Check failed: a == b (1 vs. 2)\n"
    (finding,) = diagnose_compile(KERNEL, reply("crashed", signal=6, crash_log=log), {}, Target.V6E)
    assert finding.code is FindingCode.COMPILER_CRASH
    assert "layout.cc:9 Check failed: a == b (1 vs. 2)" in finding.message
    assert "SIGABRT" in finding.message


def test_unknown_words_are_kept_short_and_keep_their_line():
    error = RawError(
        "XlaRuntimeError", "INTERNAL: " + "something new " * 200, "compile", frames=(Frame("kernel.py", 2, "body"),)
    )
    (finding,) = diagnose_compile(KERNEL, reply("raised", error=error), {}, Target.V6E)
    assert finding.code is FindingCode.COMPILE_ERROR
    assert finding.line == 2
    assert finding.source_line == "o_ref[...] = x_ref[...]"
    assert len(finding.message) < 800


def test_every_ending_of_the_child_is_a_finding_of_its_own():
    codes = {
        "timed-out": FindingCode.TIMED_OUT,
        "out-of-memory": FindingCode.OUT_OF_MEMORY,
        "output-flood": FindingCode.OUTPUT_FLOOD,
        "exited": FindingCode.PROCESS_EXITED,
        "crashed": FindingCode.PROCESS_EXITED,
    }
    for ending, code in codes.items():
        traced = TraceReply(child=ChildReport(ending=ending, wall_ms=60_000))
        (finding,) = diagnose_trace(KERNEL, traced, Target.V6E)
        assert finding.code is code
        assert finding.hint


def test_a_crash_of_a_mask_reshape_names_the_reshape():
    suspect = {"kind": "mask-reshape", "detail": "(128) -> (128, 1)", "line": 2}
    facts = {"pallas_calls": [call(suspects=[suspect])]}
    log = "F1130 21:19:24.747487   12265 layout.h:253] Check failed: rem == 0\n"
    (finding,) = diagnose_compile(KERNEL, reply("crashed", signal=6, crash_log=log), facts, Target.V6E)
    assert finding.line == 2
    assert "broadcasted_iota" in finding.hint
