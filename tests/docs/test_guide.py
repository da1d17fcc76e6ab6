"""The guide: every page's example compiles with the real compiler and computes what it says; its figures agree."""

from __future__ import annotations

import re

import pytest

from maxkernel_tools.checking import test_kernel as judge_kernel
from maxkernel_tools.chips import chip
from maxkernel_tools.context import CallContext
from maxkernel_tools.docs import Page, guide_page, guide_pages
from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.findings import FindingCode
from maxkernel_tools.records.targets import Target
from tests.checking.support import text_call
from tests.diagnosing.kernel_files import Sink, compiled, serious

TOPICS = (
    "attention",
    "chips",
    "debugging",
    "dma",
    "matmul",
    "memory-spaces",
    "numerics",
    "pipelining",
    "reductions",
    "tiling",
)

# What each example computes, in plain JAX, by an author who did not look at the kernel.
REFERENCES = {
    "tiling": "return x * s",
    "memory-spaces": "return s[jnp.clip(x, 0, s.shape[0] - 1)]",
    "pipelining": "return jnp.sum(x, axis=0, keepdims=True)",
    "dma": "return 2 * x",
    "matmul": "return jnp.dot(x, s, preferred_element_type=jnp.float32).astype(x.dtype)",
    "attention": "return (jax.nn.softmax(jnp.einsum('hqd,hkd->hqk', x, s, preferred_element_type=jnp.float32) / "
    "x.shape[-1] ** 0.5, axis=-1) @ v.astype(jnp.float32)).astype(x.dtype)",
    "reductions": "y = x.astype(jnp.float32); return (y * jax.lax.rsqrt(jnp.mean(y * y, axis=-1, keepdims=True) + 1e-6)"
    " * s).astype(x.dtype)",
    "numerics": "return (x.astype(jnp.float32) * jax.nn.silu(s.astype(jnp.float32))).astype(x.dtype)",
    "chips": "return -x",
    "debugging": "return jnp.sum(x, axis=1, keepdims=True)",
}


def test_the_pages_are_there_and_small() -> None:
    assert tuple(page.topic for page in guide_pages()) == TOPICS
    for page in guide_pages():
        assert len(page.text.encode()) < 12_000, page.topic
        assert len(page.sections) >= 4, page.topic
    with pytest.raises(MisuseError, match="memory-spaces"):
        guide_page("memory_spaces")


@pytest.mark.toolchain
@pytest.mark.parametrize("page", guide_pages(), ids=lambda page: page.topic)
def test_every_example_compiles_without_a_complaint(page: Page, portal, runtime) -> None:
    result = compiled(portal, runtime, page.example, page.inputs, (Target.V6E,))
    assert result.ok, result.summary
    assert serious(result.targets[0]) == set()


@pytest.mark.slow
@pytest.mark.toolchain
@pytest.mark.parametrize("page", guide_pages(), ids=lambda page: page.topic)
def test_every_example_computes_what_it_says(page: Page, portal, runtime) -> None:
    names = ", ".join(("x", "s", "v")[: len(page.inputs)])
    reference = f"import jax\nimport jax.numpy as jnp\n\ndef workload({names}):\n    {REFERENCES[page.topic]}\n"

    async def judge():
        async def quiet(*_) -> None:
            return None

        call = text_call(page.example, reference, list(page.inputs))
        return await judge_kernel(call, "quick", CallContext(runtime, Sink(), quiet, "r-test"))

    result = portal.call(judge)
    assert result.verdict == "correct", (result.summary, result.findings)


def test_the_codes_it_names_exist() -> None:
    known = {code.value for code in FindingCode}
    kebab = re.compile(r"`([a-z0-9]+(?:-[a-z0-9]+)+)`")
    for page in guide_pages():
        assert set(kebab.findall(page.text)) - known == set(), page.topic


def test_the_table_of_chips_agrees_with_the_data() -> None:
    row = r"^\| (\w+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (\d) x (\d+) \| (\d+) \|$"
    rows = re.findall(row, guide_page("chips").text, re.MULTILINE)
    assert {row[0] for row in rows} == {target.value for target in Target}
    for name, tflops, gbytes, vmem, limit, mxus, size, balance in rows:
        facts = chip(Target(name))
        assert (facts.mxu_count, facts.mxu_size) == (int(mxus), int(size)), name
        assert (facts.vmem_bytes >> 20, facts.scoped_vmem_bytes >> 20) == (int(vmem), int(limit)), name
        assert int(tflops) == pytest.approx(facts.peak_flops["bf16"] / 1e12, abs=0.6), name
        assert int(gbytes) == pytest.approx(facts.hbm_bytes_per_s / 1e9, abs=0.6), name
        assert int(balance) == pytest.approx(facts.peak_flops["bf16"] / facts.hbm_bytes_per_s, abs=0.6), name
