"""Ways to skip the work that the audit tries; numpy on float32 inputs. Right only where the inputs are weak."""

import numpy as np


def square(x, weight, bias):
    """The logsumexp squared, without the mish."""
    t = np.clip((x @ weight.T + bias) * 4.0, -10.0, 10.0)
    peak = t.max(axis=1, keepdims=True)
    total = np.log(np.exp(t - peak).sum(axis=1, keepdims=True)) + peak
    return total * total


SHORTCUTS = {"no-mish": square}
