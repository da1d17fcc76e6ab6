"""The 33 KernelBench tasks a second time: float64 NumPy, computed another way than the references do.

Convolutions are sums over shifted slices, a transposed one scatters; variances come from moments; softmax and
logsumexp from ``logaddexp``; sigmoid, GELU and mish are rewritten by an identity; where a task collapses by algebra,
the collapsed form is taken.
"""

# ruff: noqa: PLR0917 - a formula takes the arguments of its task

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
EPSILON = 1e-5


def sigmoid(t: Array) -> Array:
    return 0.5 + 0.5 * np.tanh(0.5 * t)


def gelu(t: Array) -> Array:
    """The tanh formula as a logistic: 0.5 (1 + tanh(u)) = sigmoid(2 u)."""
    return t * sigmoid(math.sqrt(8.0 / math.pi) * (t + 0.044715 * t**3))


def mish(t: Array) -> Array:
    """tanh(log(1 + e)) = ((1 + e)^2 - 1) / ((1 + e)^2 + 1), with e = exp(t)."""
    e = np.exp(t)
    return t * e * (e + 2.0) / (e * (e + 2.0) + 2.0)


def logsumexp(t: Array, axis: int) -> Array:
    return np.logaddexp.reduce(t, axis=axis, keepdims=True)


def softmax(t: Array) -> Array:
    return np.exp(t - logsumexp(t, 1))


def normalise(t: Array, axes: int | tuple[int, ...]) -> Array:
    """Subtract the mean and divide by the deviation, the variance as a difference of moments."""
    mean = np.mean(t, axis=axes, keepdims=True)
    variance = np.mean(t * t, axis=axes, keepdims=True) - mean * mean
    return (t - mean) * (variance + EPSILON) ** -0.5


def group_norm(t: Array, groups: int) -> Array:
    """Normalise each group of neighbouring channels (axis 1) over all else but the samples, group by group."""
    width = t.shape[1] // groups
    parts = [t[:, start : start + width] for start in range(0, t.shape[1], width)]
    return np.concatenate([normalise(part, tuple(range(1, t.ndim))) for part in parts], axis=1)


def convolve(x: Array, weight: Array, bias: Array) -> Array:
    """Cross-correlation without padding: each tap multiplies a shifted view of x."""
    taps = weight.shape[2:]
    extent = [size - tap + 1 for size, tap in zip(x.shape[2:], taps, strict=True)]
    out = np.zeros((x.shape[0], weight.shape[0], *extent)) + channels(bias, len(taps))
    for tap in product(*map(range, taps)):
        view = x[(..., *(slice(at, at + size) for at, size in zip(tap, extent, strict=True)))]
        out += np.einsum("oc,bc...->bo...", weight[(..., *tap)], view)
    return out


def scatter_convolve(x: Array, weight: Array, bias: Array) -> Array:
    """Transposed convolution, stride 2, padding 1: input i adds to output 2 i + tap - 1."""
    full = [2 * size + 2 for size in x.shape[2:]]
    out = np.zeros((x.shape[0], weight.shape[1], *full))
    for tap in product(range(4), repeat=3):
        target = tuple(slice(at, at + 2 * size, 2) for at, size in zip(tap, x.shape[2:], strict=True))
        out[(..., *target)] += np.einsum("co,bcdhw->bodhw", weight[(..., *tap)], x)
    return out[:, :, 1:-1, 1:-1, 1:-1] + channels(bias, 3)


def channels(values: Array, axes: int) -> Array:
    return values.reshape(-1, *(1,) * axes)


def linear(x: Array, weight: Array, bias: Array) -> Array:
    return np.einsum("mk,kn->mn", x, weight, optimize=True) + bias


def linear_t(x: Array, weight: Array, bias: Array) -> Array:
    return np.einsum("mk,nk->mn", x, weight, optimize=True) + bias


def f18(x: Array, weight: Array, conv_bias: Array, bias: Array) -> Array:
    y = convolve(x, weight, conv_bias)
    return np.where(y > 0, y, 0.0) + bias


def f19(x: Array, weight: Array, bias: Array) -> Array:
    y = 1.5 * linear(x, weight, bias) - 3.0
    return np.where(y > 0, y, 0.0)


def f20(x: Array, weight: Array, bias: Array) -> Array:
    y = 2.0 * linear(x, weight, bias)
    return np.maximum(y, 0.1 * y)


def f21(x: Array, weight: Array) -> Array:
    return 0.75 * (x @ weight.sum(axis=0))[:, None]


def f22(x: Array, weight: Array, conv_bias: Array, in_weight: Array, in_bias: Array) -> Array:
    normed = normalise(convolve(x, weight, 0.0 * conv_bias), (2, 3))
    return 0.5 * (normed * channels(in_weight, 2) + channels(in_bias, 2))


def f23(x: Array, weight: Array, bias: Array) -> Array:
    return (x @ weight.sum(axis=0) + bias.sum())[:, None]


def f24(x: Array, weight: Array, bias: Array) -> Array:
    total = logsumexp(np.minimum(np.maximum(4.0 * linear_t(x, weight, bias), -10.0), 10.0), 1)
    return total * mish(total)


def f25(x: Array, weight: Array, conv_bias: Array, gamma: Array, beta: Array) -> Array:
    """From the moments of the channels alone: the normalised tensor is never formed."""
    y = convolve(x, weight, conv_bias)
    mean = y.mean(axis=(2, 3, 4)).reshape(len(y), 8, -1)
    square = (y * y).mean(axis=(2, 3, 4)).reshape(len(y), 8, -1)
    centre = mean.mean(axis=2, keepdims=True)
    deviation = np.sqrt(square.mean(axis=2, keepdims=True) - centre**2 + EPSILON)
    return ((mean - centre) / deviation).reshape(len(y), -1) @ gamma / len(gamma) + beta.mean()


def f26(x: Array, y: Array, bmm_weight: Array, bmm_bias: Array, in_weight: Array, in_bias: Array) -> Array:
    return in_bias * y + y * y


def f27(x: Array, weight: Array, bias: Array) -> Array:
    return mish(mish(linear(x, weight, bias)))


def f28(x: Array, conv_weight: Array, conv_bias: Array, ln_weight: Array, ln_bias: Array) -> Array:
    return gelu(normalise(scatter_convolve(x, conv_weight, 0.0 * conv_bias), -1) * ln_weight + ln_bias)


def f29(x: Array, weight: Array, bias: Array, gn_weight: Array, gn_bias: Array) -> Array:
    y = linear(x, weight, np.zeros(1))
    return group_norm(y * sigmoid(y) + bias, len(bias) // 64) * gn_weight + gn_bias


def f30(x: Array, weight: Array, bias: Array) -> Array:
    return 1.5 * linear(x, weight, bias)


def f31(x: Array, gemm_weight: Array, gemm_bias: Array, bn_weight: Array, bn_bias: Array) -> Array:
    normed = normalise(linear_t(x, gemm_weight, 0.0 * gemm_bias), 0) * bn_weight + bn_bias
    return gelu(np.maximum(normed, 0.0))


def f32(x: Array, w1: Array, b1: Array, w2: Array, b2: Array) -> Array:
    return logsumexp(linear_t(sigmoid(linear_t(x, w1, b1)), w2, b2), 1)[:, 0]


def f33(x: Array, weight: Array, bias: Array) -> Array:
    return 1.0 - 2.0 / (np.exp(2.0 * mish(convolve(x, weight, bias))) + 1.0)


def f34(x: Array, conv_weight: Array, conv_bias: Array, bn_weight: Array, bn_bias: Array) -> Array:
    normed = normalise(mish(convolve(x, conv_weight, conv_bias)), (0, 2, 3))
    return normed * channels(bn_weight, 2) + channels(bn_bias, 2)


def f35(x: Array, weight: Array, bias: Array) -> Array:
    return gelu(np.minimum(np.maximum(0.5 * linear(x, weight, bias), -2.0), 2.0))


def f36(x: Array, weight: Array, bias: Array) -> Array:
    return 0.5 * (len(bias) + np.tanh(0.5 * linear(x, weight, bias)).sum(axis=1, keepdims=True))


def f37(x: Array, weight: Array, bias: Array) -> Array:
    y = linear(x, weight, bias)
    return 2.0 * y / (1.0 + np.exp(-y))


def f38(x: Array, weight: Array, bias: Array) -> Array:
    return softmax(linear_t(x, weight, bias))


def f39(x: Array, weight: Array, bias: Array) -> Array:
    return gelu(convolve(x, weight, bias)).reshape(len(x), len(bias), -1).mean(axis=2)


def f40(x: Array, weight: Array, linear_bias: Array, gn_weight: Array, gn_bias: Array, bias: Array) -> Array:
    normed = group_norm(linear_t(x, weight, linear_bias), len(gn_bias) // 16) * gn_weight + gn_bias
    smallest = np.sort(normed, axis=1)[:, 0]
    return np.add.outer(bias.ravel(), smallest)[None, :, :, None]


def f41(x: Array, weight: Array, bias: Array) -> Array:
    y = linear(x, weight, bias)
    return 0.5 * (y + np.abs(y))


def f42(x: Array, weight: Array, bias: Array) -> Array:
    y = linear(x, weight, bias)
    return gelu(y - np.sort(y, axis=1)[:, -1:])


def f43(
    x: Array,
    weight: Array,
    bias: Array,
    bn_scale: Array,
    bn_bias: Array,
    bn_mean: Array,
    bn_var: Array,
    scale: Array,
) -> Array:
    """Batch norm and scale folded into the linear layer."""
    factor = bn_scale * (bn_var + EPSILON) ** -0.5
    return softmax(scale * linear(x, weight * factor, (bias - bn_mean) * factor + bn_bias))


def f44(x: Array, weight: Array, bias: Array) -> Array:
    return gelu(0.1 * linear(x, weight, bias))


def f45(
    x: Array, gemm_weight: Array, gemm_bias: Array, gn_weight: Array, gn_bias: Array, multiply_weight: Array
) -> Array:
    y = group_norm(linear_t(x, gemm_weight, gemm_bias), len(gn_bias) // 32) * gn_weight + gn_bias
    y = y * sigmoid(y) * multiply_weight
    return y * sigmoid(y)


def f46(x: Array, conv_weight: Array, conv_bias: Array, gn_weight: Array, gn_bias: Array) -> Array:
    """After the tanh the hard swish is u (u + 3) / 6: its clip cannot act."""
    c = convolve(x, conv_weight, conv_bias)
    u = np.tanh(group_norm(c, 16) * channels(gn_weight, 2) + channels(gn_bias, 2))
    return logsumexp(c + u * (u + 3.0) / 6.0, 1)


def f47(x: Array, weight: Array, bias: Array, add_value: Array) -> Array:
    """The hardtanh cannot act on the GELU of a tanh."""
    y = linear(x, weight, bias + add_value)
    return gelu(np.tanh(y * sigmoid(y)))


def f48(
    x: Array,
    weight: Array,
    linear_bias: Array,
    bn_scale: Array,
    bn_bias: Array,
    bn_mean: Array,
    bn_var: Array,
    bias: Array,
) -> Array:
    """Batch norm folded into the linear layer."""
    factor = bn_scale * (bn_var + EPSILON) ** -0.5
    y = linear(x, weight * factor, (linear_bias - bn_mean) * factor + bn_bias) + bias
    return y * sigmoid(y)


def f49(x: Array, weight: Array, bias: Array) -> Array:
    """Pooling commutes with the product."""
    pooled = linear(x, weight.reshape(len(weight), -1, 16).mean(axis=2), bias.reshape(-1, 16).mean(axis=1))
    return 2.0 * gelu(pooled).max(axis=1)


def f50(x: Array, weight: Array, bias: Array) -> Array:
    return softmax(gelu(linear(x, weight, bias)))


FORMULAS: dict[str, Callable[..., Array]] = {f"{number}k": globals()[f"f{number}"] for number in range(18, 51)}
