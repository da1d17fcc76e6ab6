"""Ways to skip the work that the audit tries; numpy on float32 inputs. Right only where the inputs are weak."""

import numpy as np


def running_mean(q, k, v):
    """A causal mean of v: what attention is when scores hardly differ."""
    steps = np.arange(1, v.shape[2] + 1, dtype=np.float32)[:, None]
    return np.repeat(np.cumsum(v, axis=2) / steps, q.shape[1] // v.shape[1], axis=1)


def dense_uniform(q, k, v):
    """The mean of v over all positions, no mask."""
    mean = np.broadcast_to(v.mean(axis=2, keepdims=True), v.shape)
    return np.repeat(mean, q.shape[1] // v.shape[1], axis=1)


SHORTCUTS = {"running-mean": running_mean, "plain-mean": dense_uniform}
