"""Ways to skip the work that the audit tries; numpy on float32 inputs. Right only where the inputs are weak."""

import numpy as np


def running_mean(q, k, v, rel_pos_bias):
    """A causal mean of v: what attention is when scores hardly differ."""
    return np.cumsum(v, axis=2) / np.arange(1, v.shape[2] + 1, dtype=np.float32)[:, None]


SHORTCUTS = {"running-mean": running_mean}
