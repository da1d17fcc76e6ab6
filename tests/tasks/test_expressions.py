"""The formula language: what it computes, and that nothing else gets through."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxkernel_tools.tasks.expressions import ExpressionError, evaluate, holds

DIMS = {"M": 8, "K": 5, "N": 3}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("M", 8),
        ("2*M*K*N", 240),
        ("(M + K)//N - 1", 3),
        ("M % N", 2),
        ("-K + 10", 5),
        ("min(M, K, N) + max(M, K)", 11),
        ("7", 7),
    ],
)
def test_a_formula_is_computed(text: str, value: int) -> None:
    assert evaluate(text, DIMS) == value


@pytest.mark.parametrize(
    "text",
    [
        "Q",
        "M /K",
        "M ** K",
        "__import__('os').system('true')",
        "M.real",
        "[M]",
        "M if K else N",
        "True",
        "1.5",
        "'M'",
        "min(M)",
        "min(M, key=N)",
        "abs(M)",
        "M //(N - 3)",
        "M % 0",
        "",
        "M +",
        "M +" * 200 + "M",
    ],
)
def test_anything_else_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(ExpressionError, match=r"\w"):
        evaluate(text, DIMS)


def test_an_unknown_dim_is_named_with_the_known_ones() -> None:
    with pytest.raises(ExpressionError, match=r"'Q'.*M, K, N"):
        evaluate("2*Q", DIMS)


def test_rules_compare_formulas() -> None:
    assert holds("M % 4 == 0", DIMS)
    assert holds("N < K <= M", DIMS)
    assert not holds("M >= 2*K", DIMS)
    with pytest.raises(ExpressionError, match="not a comparison"):
        holds("M", DIMS)
    with pytest.raises(ExpressionError, match="other than"):
        holds("M is K", DIMS)


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.integers(1, 10**3))
def test_formulas_agree_with_python(m: int, k: int, n: int) -> None:
    dims = {"M": m, "K": k, "N": n}
    assert evaluate("2*M*K + (M - K)//N % 7", dims) == 2 * m * k + (m - k) // n % 7
