"""The priority tasks and the models split a second time: float64 NumPy, computed another way than the references do.

Attention goes row by row over the keys a row may see, nothing masked; recurrences stand for quadratic forms and
quadratic forms for recurrences; rotations are complex products; groups and pages are walked in Python.
"""

# ruff: noqa: PLR0917 - a formula takes the arguments of its task

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def silu(t: Array) -> Array:
    return t / (1.0 + np.exp(-t))


def attend(q: Array, keys: Array, values: Array, scale: float, bias: Array | float = 0.0) -> Array:
    """One query row over the keys it sees."""
    logits = keys @ q * scale + bias
    weights = np.exp(logits - logits.max())
    return weights @ values / weights.sum()


def flash_attention(q: Array, k: Array, v: Array) -> Array:
    out = np.empty_like(q)
    for b, h, i in np.ndindex(q.shape[:3]):
        out[b, h, i] = attend(q[b, h, i], k[b, h, : i + 1], v[b, h, : i + 1], q.shape[3] ** -0.5)
    return out


def gqa_attention(q: Array, k: Array, v: Array) -> Array:
    out = np.empty_like(q)
    group = q.shape[2] // k.shape[2]
    for b, i, h in np.ndindex(q.shape[:3]):
        kv = h // group
        out[b, i, h] = attend(q[b, i, h], k[b, : i + 1, kv], v[b, : i + 1, kv], q.shape[3] ** -0.5)
    return out


def mla_attention(x: Array, q_down: Array, q_up: Array, kv_down: Array, k_up: Array, v_up: Array, o: Array) -> Array:
    B, S, _ = x.shape
    kvl = k_up.shape[0]
    rope = kv_down.shape[1] - kvl
    H = (q_up.shape[1] - k_up.shape[1]) // rope
    nope, vd = k_up.shape[1] // H, v_up.shape[1] // H
    turn = np.exp(1j * np.outer(np.arange(S), 10000.0 ** (-2.0 * np.arange(rope // 2) / rope)))

    def rotate(t: Array) -> Array:
        z = (t[:, : rope // 2] + 1j * t[:, rope // 2 :]) * turn
        return np.concatenate([z.real, z.imag], axis=1)

    out = np.zeros((B, S, o.shape[1]))
    for b in range(B):
        latent, shared = x[b] @ kv_down[:, :kvl], rotate(x[b] @ kv_down[:, kvl:])
        low = x[b] @ q_down
        for h in range(H):
            q = low @ q_up[:, h * (nope + rope) : (h + 1) * (nope + rope)]
            plain, turned = q[:, :nope], rotate(q[:, nope:])
            k, v = latent @ k_up[:, h * nope : (h + 1) * nope], latent @ v_up[:, h * vd : (h + 1) * vd]
            logits = (plain @ k.T + turned @ shared.T) / np.sqrt(nope + rope)
            for i in range(S):
                weights = np.exp(logits[i, : i + 1] - logits[i, : i + 1].max())
                out[b, i] += (weights @ v[: i + 1] / weights.sum()) @ o[h * vd : (h + 1) * vd]
    return out


def sparse_attention(q: Array, k: Array, v: Array) -> Array:
    out = np.empty_like(q)
    group = q.shape[1] // k.shape[1]
    for b, h, i in np.ndindex(q.shape[:3]):
        out[b, h, i] = attend(q[b, h, i], k[b, h // group, : i + 1], v[b, h // group, : i + 1], 1.0)
    return out


def flex_attention(q: Array, k: Array, v: Array, bias: Array) -> Array:
    out = np.empty_like(q)
    for b, h, i in np.ndindex(q.shape[:3]):
        out[b, h, i] = attend(q[b, h, i], k[b, h, : i + 1], v[b, h, : i + 1], q.shape[3] ** -0.5, bias[h, i, : i + 1])
    return out


def paged_attention(queries: Array, k: Array, v: Array, kv_lens: Array, pages: Array, starts: Array) -> Array:
    out = np.empty_like(queries)
    ps, group = k.shape[1], queries.shape[1] // k.shape[2]
    for s, h in np.ndindex(queries.shape[:2]):
        places = [(int(pages[s, p // ps]), p % ps) for p in range(int(kv_lens[s]))]
        keys = np.array([k[page, offset, h // group] for page, offset in places])
        values = np.array([v[page, offset, h // group] for page, offset in places])
        out[s, h] = attend(queries[int(starts[s]), h], keys, values, queries.shape[2] ** -0.5)
    return out


def ragged_paged(
    queries: Array, kv: Callable[[int, int, int], tuple[Array, Array]], lens: Array, starts: Array, active: int
) -> Array:
    """Row by row; ``kv(sequence, position, head)`` looks one key and value up."""
    out = np.zeros_like(queries)
    for i in range(active):
        first, end = int(starts[i]), int(starts[i + 1])
        for row in range(first, end):
            seen = int(lens[i]) - (end - first) + (row - first) + 1
            for h in range(queries.shape[1]):
                pairs = [kv(i, p, h) for p in range(seen)]
                keys, values = (np.array(side) for side in zip(*pairs, strict=True))
                out[row, h] = attend(queries[row, h], keys, values, queries.shape[2] ** -0.5)
    return out


def ragged_paged_attention(
    queries: Array, kv_pages: Array, lens: Array, pages: Array, starts: Array, active: Array
) -> Array:
    ps, group = kv_pages.shape[1], queries.shape[1] // (kv_pages.shape[2] // 2)

    def kv(i: int, p: int, h: int) -> tuple[Array, Array]:
        cell = kv_pages[int(pages[i, p // ps]), p % ps]
        return cell[2 * (h // group)], cell[2 * (h // group) + 1]

    return ragged_paged(queries, kv, lens, starts, int(active[0]))


def mixed_ragged_paged_attention(
    queries: Array, k: Array, v: Array, lens: Array, pages: Array, starts: Array, active: Array
) -> Array:
    ps, group = k.shape[2], queries.shape[1] // k.shape[1]

    def kv(i: int, p: int, h: int) -> tuple[Array, Array]:
        place = (int(pages[i, p // ps]), h // group, p % ps)
        return k[place], v[place]

    return ragged_paged(queries, kv, lens, starts, int(active[0]))


def swiglu(x: Array, gate: Array, up: Array, down: Array) -> Array:
    out = np.zeros_like(x)
    for f in range(gate.shape[1]):  # one hidden unit at a time
        out += (silu(x @ gate[:, f]) * (x @ up[:, f]))[..., None] * down[f]
    return out


def sparse_moe(x: Array, router: Array, gate: Array, up: Array, down: Array) -> Array:
    out = np.empty_like(x)
    for b, s in np.ndindex(x.shape[:2]):
        token = x[b, s]
        logits = token @ router
        chosen = sorted(range(len(logits)), key=lambda e: (-round(float(logits[e]), 9), e))[:2]
        share = 1.0 / (1.0 + np.exp(logits[chosen[1]] - logits[chosen[0]]))
        parts = [(silu(token @ gate[e]) * (token @ up[e])) @ down[e] for e in chosen]
        out[b, s] = share * parts[0] + (1.0 - share) * parts[1]
    return out


def grouped_matmul(lhs: Array, rhs: Array, sizes: Array) -> Array:
    blocks = np.split(lhs, np.cumsum(sizes).astype(int))
    products = [block @ rhs[g] for g, block in enumerate(blocks[:-1])]
    return np.concatenate([*products, np.zeros((len(blocks[-1]), rhs.shape[2]))])


def rms_norm(x: Array, scale: Array) -> Array:
    length = np.linalg.norm(x, axis=-1, keepdims=True)
    return x / np.hypot(length / np.sqrt(x.shape[-1]), np.sqrt(1e-5)) * scale


def cross_entropy(hidden: Array, weight: Array, labels: Array) -> Array:
    losses = [
        np.logaddexp.reduce(row @ weight) - row @ weight[:, int(label)]
        for row, label in zip(hidden, labels, strict=True)
    ]
    return np.array(sum(losses) / len(losses))


def batched_matmul(x: Array, weights: Array) -> Array:
    return np.stack([np.tensordot(a, b, axes=1) for a, b in zip(x, weights, strict=True)])


def retention(q: Array, k: Array, v: Array) -> Array:
    out = np.empty_like(v)
    for b, h, i in np.ndindex(q.shape[:3]):
        scores = k[b, h, : i + 1] @ q[b, h, i] * (1 - 2.0 ** (-5 - h)) ** np.arange(i, -1, -1)
        out[b, h, i] = scores @ v[b, h, : i + 1] / max(np.abs(scores).sum(), 1.0)
    return out


def state_space(q: Array, k: Array, v: Array, a_log: Array) -> Array:
    """The linear recurrence: a state for the numerator and one for the row sum."""
    out = np.empty_like(v)
    decay = 1.0 / (1.0 + np.exp(-a_log)) + 1e-8
    for b, h in np.ndindex(q.shape[:2]):
        state, total = np.zeros((q.shape[3], v.shape[3])), np.zeros(q.shape[3])
        for i in range(q.shape[2]):
            state = decay[b, h, i] * state + np.outer(k[b, h, i], v[b, h, i])
            total = decay[b, h, i] * total + k[b, h, i]
            out[b, h, i] = q[b, h, i] @ state / max(abs(q[b, h, i] @ total), 1.0)
    return out


def triangle(
    pair: Array, mask: Array, lp: Array, rp: Array, lg: Array, rg: Array, scale: Array, op: Array, og: Array
) -> Array:
    act = np.where(mask > 0, pair, 0.0)
    left = (act @ lp) / (1.0 + np.exp(-(act @ lg)))
    right = (act @ rp) / (1.0 + np.exp(-(act @ rg)))
    tri = np.stack([left[:, :, c] @ right[:, :, c].T for c in range(pair.shape[2])], axis=2)
    tri = tri / np.sqrt(np.square(tri).sum(axis=2, keepdims=True) / pair.shape[2] + 1e-6)
    return ((tri * scale) @ op) / (1.0 + np.exp(-(pair @ og)))


def listed_attention(q: Array, kv: Array, sink: Array, indices: Array) -> Array:
    """Over all rows, with a mask built from the list; the sink is one more key with a value of zero."""
    out = np.zeros_like(q)
    for b, t in np.ndindex(q.shape[:2]):
        rows = sorted({int(i) for i in indices[b, t] if i >= 0})
        for h in range(q.shape[2]):
            logits = np.append(kv[b, rows] @ q[b, t, h] / np.sqrt(q.shape[3]), sink[h])
            shares = np.exp(logits - np.logaddexp.reduce(logits))
            out[b, t, h] = shares[:-1] @ kv[b, rows] if rows else 0.0
    return out


def unit(t: Array) -> Array:
    return t / np.sqrt(t @ t + 1e-6)


def delta_rule(state: Array, q: Array, k: Array, v: Array, g: float, beta: float) -> tuple[Array, Array]:
    """One step as a product with a matrix: S = exp(g) (I - beta k k^T) S + beta k v^T."""
    k = unit(k)
    move = np.exp(g) * (np.eye(len(k)) - beta * np.outer(k, k))
    state = move @ state + beta * np.outer(k, v)
    return unit(q) @ state / np.sqrt(len(k)), state


def gated_delta(q: Array, k: Array, v: Array, g: Array, beta: Array) -> tuple[Array, Array]:
    B, S, Hv, dv = v.shape
    group = Hv // q.shape[2]
    out, states = np.empty_like(v), np.zeros((B, Hv, q.shape[3], dv))
    for b, t, h in np.ndindex(B, S, Hv):
        at = (b, t, h // group)
        out[b, t, h], states[b, h] = delta_rule(states[b, h], q[at], k[at], v[b, t, h], g[b, t, h], beta[b, t, h])
    return out, states


def gated_delta_step(q: Array, k: Array, v: Array, g: Array, beta: Array, state: Array) -> tuple[Array, Array]:
    out, states = np.empty_like(v), np.empty_like(state)
    group = v.shape[1] // q.shape[1]
    for b, h in np.ndindex(v.shape[:2]):
        at = (b, h // group)
        out[b, h], states[b, h] = delta_rule(state[b, h], q[at], k[at], v[b, h], g[b, h], beta[b, h])
    return out, states


def latent_decode(q_latent: Array, q_rope: Array, cache: Array, lengths: Array) -> Array:
    q = np.concatenate([q_latent, q_rope], axis=2)
    kvl = q_latent.shape[2]
    out = np.empty_like(q_latent)
    for b, h in np.ndindex(q.shape[:2]):
        seen = cache[b, : int(lengths[b])]
        out[b, h] = attend(q[b, h], seen, seen[:, :kvl], 192**-0.5)
    return out


def mamba2(x: Array, dt: Array, A: Array, B_in: Array, C_out: Array, D_skip: Array) -> tuple[Array, Array]:
    """The quadratic form: every earlier step weighed by the decay since."""
    B, S, H, P = x.shape
    group = H // B_in.shape[2]
    y, states = np.empty_like(x), np.empty((B, H, B_in.shape[3], P))
    for b, h in np.ndindex(B, H):
        since = np.cumsum(dt[b, :, h] * A[h])
        drive = B_in[b, :, h // group] * dt[b, :, h, None]
        for t in range(S):
            weights = (drive[: t + 1] @ C_out[b, t, h // group]) * np.exp(since[t] - since[: t + 1])
            y[b, t, h] = weights @ x[b, : t + 1, h] + D_skip[h] * x[b, t, h]
        states[b, h] = (drive * np.exp(since[-1] - since)[:, None]).T @ x[b, :, h]
    return y, states


FORMULAS: dict[str, Callable[..., Array | tuple[Array, ...]]] = {
    "1p_Flash_Attention": flash_attention,
    "2p_GQA_Attention": gqa_attention,
    "3p_MLA_Attention": mla_attention,
    "4p_Sparse_Attention": sparse_attention,
    "5p_Flex_Attention": flex_attention,
    "6p_Paged_Attention": paged_attention,
    "7p_Ragged_Paged_Attention": ragged_paged_attention,
    "8p_GEMM": lambda A, B: np.einsum("mk,nk->mn", A, np.ascontiguousarray(B.T)),
    "9p_SwiGLU_MLP": swiglu,
    "10p_Sparse_MoE": sparse_moe,
    "11p_Megablox_GMM": grouped_matmul,
    "12p_RMSNorm": rms_norm,
    "13p_Cross_Entropy": cross_entropy,
    "14p_Ragged_Dot": batched_matmul,
    "15p_RetNet_Retention": retention,
    "16p_Mamba2_SSD": state_space,
    "17p_Triangle_Multiplication": triangle,
    "1m_DeepSeek_Sparse_Attention": listed_attention,
    "2m_Gated_DeltaNet": gated_delta,
    "3m_Mixed_Ragged_Paged_Attention": mixed_ragged_paged_attention,
    "4m_MLA_Decode": latent_decode,
    "5m_Mamba2_SSD": mamba2,
    "6m_Gated_DeltaNet_Step": gated_delta_step,
}
