from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxkernel_tools.checking import allowed_error, compare
from maxkernel_tools.records.tasks import Tolerance

Array = np.ndarray[Any, Any]
BF16 = ml_dtypes.bfloat16


def product(
    m: int = 128, k: int = 512, n: int = 128, dtype: Any = BF16, seed: int = 0
) -> tuple[Array, Array, Array, Array]:
    """A, B, the oracle and the reference's own rounded answer."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((m, k)).astype(dtype)
    b = (rng.standard_normal((k, n)) / np.sqrt(k)).astype(dtype)
    oracle = a.astype(np.float64) @ b.astype(np.float64)
    reference = (a.astype(np.float32) @ b.astype(np.float32)).astype(dtype)
    return a, b, oracle, reference


def test_the_reference_itself_passes() -> None:
    _, _, oracle, reference = product()
    assert compare(reference, reference, oracle).passed


def test_another_order_of_summation_passes() -> None:
    a, b, oracle, reference = product(k=2048)
    total = np.zeros(oracle.shape, np.float32)
    for start in range(0, 2048, 128):
        total += a[:, start : start + 128].astype(np.float32) @ b[start : start + 128].astype(np.float32)
    assert compare(total.astype(BF16), reference, oracle).passed


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda q: q * 0, "all zero"),
        (lambda q: -q, "opposite sign"),
        (lambda q: 2 * q, "2 times"),
        (lambda q: q.T, "exchanged"),
        (lambda q: np.roll(q, 1, 0), "shifted by 1 along axis 0"),
        (lambda q: np.full_like(q, q.mean()), "one constant"),
    ],
)
def test_a_wrong_output_is_explained(change: Any, words: str) -> None:
    _, _, oracle, reference = product()
    found = compare(change(oracle).astype(BF16), reference, oracle)
    assert not found.passed
    assert words in found.explanation


def test_one_wrong_block_is_named() -> None:
    _, _, oracle, reference = product()
    wrong = reference.copy()
    wrong[64:, 64:] = 0
    found = compare(wrong, reference, oracle, block=(64, 64))
    assert "block [1, 1] of [2, 2]" in found.explanation
    assert found.first_bad_index is not None
    assert min(found.first_bad_index) >= 64


def test_a_ragged_tail_is_named() -> None:
    _, _, oracle, reference = product(m=100)
    wrong = reference.copy()
    wrong[96:] = np.nan
    found = compare(wrong, reference, oracle, block=(32, 128))
    assert found.kind == "nonfinite"
    assert "ragged tail of axis 0" in found.explanation


def test_stripes_are_named() -> None:
    _, _, oracle, reference = product()
    wrong = reference.copy()
    wrong[::2] = 0
    assert "stripes at 0, 2, 4" in compare(wrong, reference, oracle).explanation


def test_one_dropped_column_of_the_reduction_is_seen() -> None:
    a, b, oracle, reference = product(k=2048)
    wrong = (a[:, :-1].astype(np.float32) @ b[:-1].astype(np.float32)).astype(BF16)
    assert not compare(wrong, reference, oracle).passed


def test_bf16_inside_an_f32_task_is_seen() -> None:
    _, _, oracle, reference = product(dtype=np.float32)
    found = compare(reference.astype(BF16).astype(np.float32), reference, oracle)
    assert not found.passed


def test_a_small_bias_everywhere_is_drift() -> None:
    _, _, oracle, reference = product(m=256, n=256)
    shifted = (oracle + 0.008).astype(BF16)
    found = compare(shifted, reference, oracle)
    assert not found.passed
    assert found.kind == "drift"


def test_nan_equals_nothing() -> None:
    oracle = np.array([1.0, np.nan])
    reference = oracle.astype(np.float32)
    assert not compare(reference, reference, oracle).passed


def test_infinities_match_their_own_sign() -> None:
    oracle = np.array([1.0, np.inf, -np.inf, 2.0])
    reference = oracle.astype(np.float32)
    assert compare(reference, reference, oracle).passed
    assert not compare(-reference, reference, oracle).passed


def test_an_overflow_of_the_tasks_dtype_is_the_references_word() -> None:
    oracle = np.array([1.0, 1e6])
    with np.errstate(over="ignore"):
        reference = oracle.astype(np.float16)
    assert compare(reference, reference, oracle).passed


@pytest.mark.parametrize(("actual", "kind"), [(np.zeros((2, 3), np.float32), "shape"), (np.zeros((2, 2)), "dtype")])
def test_shape_and_dtype_must_match(actual: Array, kind: str) -> None:
    reference = np.zeros((2, 2), np.float32)
    found = compare(actual, reference, reference.astype(np.float64))
    assert found.kind == kind
    assert not found.passed


def test_integers_match_exactly() -> None:
    reference = np.arange(100, dtype=np.int32).reshape(10, 10)
    wrong = reference.copy()
    wrong[3, 4] += 1
    assert compare(reference, reference, reference).passed
    found = compare(wrong, reference, reference)
    assert found.first_bad_index == (3, 4)


def test_float16_may_be_computed_in_bfloat16_which_tpus_have() -> None:
    values = np.random.default_rng(3).standard_normal((64, 128)).astype(np.float16)
    oracle = np.tanh(values.astype(np.float64))
    reference = oracle.astype(np.float16)
    substitute = np.tanh(values.astype(BF16).astype(np.float32)).astype(BF16).astype(np.float16)
    assert compare(substitute, reference, oracle).passed
    assert not compare((substitute * np.float16(1.03)), reference, oracle).passed


def test_the_exact_policy_allows_nothing() -> None:
    _, _, oracle, reference = product()
    allowed = allowed_error(oracle, reference, Tolerance(policy="exact"))
    assert not allowed.elementwise.any()


def test_a_blind_comparison_says_so() -> None:
    oracle = 1000.0 + np.random.default_rng(0).standard_normal((64, 64))
    reference = oracle.astype(BF16)
    assert allowed_error(oracle, reference).resolution > 1.0


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.integers(2, 400),
    scale=st.floats(1e-3, 1e3),
    dtype=st.sampled_from(["bf16", "f32"]),
)
def test_rounding_alone_never_fails_and_zeros_never_pass(seed: int, size: int, scale: float, dtype: str) -> None:
    kind = BF16 if dtype == "bf16" else np.float32
    oracle = np.random.default_rng(seed).standard_normal(size) * scale
    reference = oracle.astype(kind)
    assert compare(reference, reference, oracle).passed
    assert not compare(np.zeros_like(reference), reference, oracle).passed
