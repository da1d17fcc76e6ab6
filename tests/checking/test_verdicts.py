"""Verdicts on kernels that end badly, are too large, are written for one shape, or change what they rest on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from maxkernel_tools.checking import receipts
from maxkernel_tools.context import KernelCall
from maxkernel_tools.errors import MisuseError
from tests.adversarial.corpus import call_of, entries
from tests.checking.support import judge, text_call

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

pytestmark = pytest.mark.toolchain

HEAD = "import jax\nimport jax.numpy as jnp\nfrom jax.experimental import pallas as pl\n"
BODY = "def body(x_ref, o_ref):\n    o_ref[...] = x_ref[...] + 1.0\n"
CALL = "def workload(x):\n    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)\n"
REFERENCE = "def workload(x):\n    return x + 1.0\n"
INPUTS = ["f32[64,128]"]


def test_a_right_kernel_gets_a_receipt_that_verifies(portal: BlockingPortal, runtime: Any) -> None:
    call = text_call(HEAD + BODY + CALL, REFERENCE, INPUTS)
    result = portal.call(judge, runtime, call)
    assert result.verdict == "correct"
    assert result.ok is True
    assert result.receipt is not None
    versions = portal.call(runtime.versions)
    seeds = [case.seed for case in result.cases if case.seed is not None]
    assert receipts.differences(result.receipt, call, versions=versions, seeds=seeds) == ()
    assert receipts.terms_of(result.receipt) == ("quick", "v6e")
    changed = KernelCall(call.kernel.model_copy(update={"text": call.kernel.text + "\n"}), call.workload)
    differing = receipts.differences(result.receipt, changed, versions={**versions, "jax": "0.0"}, seeds=[1])
    assert [item.what for item in differing] == ["the kernel", "the seeds", "jax"]


def test_two_runs_draw_different_seeds(portal: BlockingPortal, runtime: Any) -> None:
    call = text_call(HEAD + BODY + CALL, REFERENCE, INPUTS)
    seeds = [{case.seed for case in portal.call(judge, runtime, call).cases} for _ in range(2)]
    assert not seeds[0] & seeds[1]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (HEAD + BODY + "raise SystemExit(3)\n", "process-exited"),
        (HEAD + "def other(x):\n    return x\n", "missing-entry"),
        (HEAD + "def workload(x:\n", "syntax-error"),
    ],
)
def test_a_kernel_that_does_not_start_is_said_to_be_so(
    text: str, code: str, portal: BlockingPortal, runtime: Any
) -> None:
    result = portal.call(judge, runtime, text_call(text, REFERENCE, INPUTS))
    assert result.verdict in ("incorrect", "crashed")
    assert code in [item.code.value for item in result.findings]
    assert result.ok is False


def test_a_failing_reference_is_misuse(portal: BlockingPortal, runtime: Any) -> None:
    call = text_call(HEAD + BODY + CALL, "def workload(x):\n    return x @ x\n", INPUTS)
    with pytest.raises(MisuseError, match="reference failed"):
        portal.call(judge, runtime, call)


def test_without_a_reference_nothing_is_called_correct(portal: BlockingPortal, runtime: Any) -> None:
    call = text_call(HEAD + BODY + CALL, REFERENCE, INPUTS)
    bare = KernelCall(call.kernel, call.workload.__class__(call.workload.inputs, "x", None, None))
    result = portal.call(judge, runtime, bare)
    assert result.verdict == "inconclusive"
    assert "no reference" in result.summary


def test_a_kernel_for_multiples_only_is_accepted_and_says_so(portal: BlockingPortal, runtime: Any) -> None:
    entry = next(item for item in entries() if item.name == "zeros")
    call = call_of(entry, "twin")
    guarded = call.kernel.text.replace(
        "    m, n = x.shape\n", "    m, n = x.shape\n    assert m % 64 == 0, 'rows must be a multiple of 64'\n"
    )
    strict = KernelCall(call.kernel.model_copy(update={"text": guarded}), call.workload)
    result = portal.call(judge, runtime, strict)
    assert result.verdict == "correct"
    assert "does not accept ragged" in result.shape_generality
    assert "multiple of 64" in result.shape_generality


def test_every_verdict_says_which_walls_stood(portal: BlockingPortal, runtime: Any) -> None:
    result = portal.call(judge, runtime, text_call(HEAD + BODY + CALL, REFERENCE, INPUTS))
    assert result.sandbox is not None
    assert result.sandbox.rlimits


def test_an_export_is_reread_by_a_process_that_never_ran_it(
    portal: BlockingPortal, runtime: Any, tmp_path: Path
) -> None:
    import numpy as np

    from maxkernel_tools.records import ArraySpec, KernelSource, Target
    from maxkernel_tools.runtime import ReferenceRequest, TraceRequest

    entry = next(item for item in entries() if item.name == "interpret-left-on")
    specs = (ArraySpec.parse("f32[1024,512]"), ArraySpec.parse("f32[512,256]"))
    traced = portal.call(runtime.trace, TraceRequest(entry.source("twin"), specs, targets=(Target.V6E,)))
    data = np.frombuffer(traced.exported[Target.V6E], np.uint8)
    broken = np.frombuffer(b"not a module", np.uint8)
    request = ReferenceRequest(KernelSource(text=""), seed=0, overrides={0: data, 1: broken}, examine=True)
    good, bad = portal.call(runtime.reference, request).examined
    assert good["kernels"][0]["grid"] == [4, 1, 2]
    assert [window["visited"] for window in good["kernels"][0]["windows"]] == [8, 2, 4]
    assert good["outputs_from_kernel"] == [True]
    assert good["kernels"][0]["matmul_flops"] == 2 * 1024 * 512 * 256
    assert "unreadable" in bad


def test_a_kernel_that_asks_where_it_is_hears_the_target_and_is_not_emulated(
    portal: BlockingPortal, runtime: Any
) -> None:
    asking = (
        "EMULATE = jax.default_backend() != 'tpu'\n"
        "KINDS = {device.device_kind for device in jax.devices()} | {jax.local_devices()[0].device_kind}\n"
        "MESH = jax.sharding.Mesh(jax.devices(), ('x',))\n"
        "TABLE = jnp.arange(4) + 1\n"
    )
    call = CALL.replace("))(x)", "), interpret=EMULATE or jax.devices()[0].platform != 'tpu')(x)").replace(
        "def workload(x):\n", "def workload(x):\n    assert KINDS == {'TPU v6 lite'}, KINDS\n"
    )
    result = portal.call(judge, runtime, text_call(HEAD + asking + BODY + call, REFERENCE, INPUTS))
    assert result.verdict == "correct", result.summary


def test_a_kernel_for_one_shape_only_is_said_to_be_one(portal: BlockingPortal, runtime: Any) -> None:
    entry = next(item for item in entries() if item.name == "zeros")
    call = call_of(entry, "twin")
    text = call.kernel.text.replace("    m, n = x.shape\n", "    m, n = x.shape\n    assert (m, n) == (4096, 512)\n")
    single = KernelCall(call.kernel.model_copy(update={"text": text}), call.workload)
    result = portal.call(judge, runtime, single)
    assert result.verdict == "inconclusive"
    assert "written for one shape only" in result.shape_generality
