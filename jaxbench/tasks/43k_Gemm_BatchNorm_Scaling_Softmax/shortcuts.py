"""Ways to skip the work that the audit tries; numpy on float32 inputs. Right only where the inputs are weak."""

import numpy as np


def one_row(x, weight, bias, bn_scale, bn_bias, bn_mean, bn_var, scale):
    """One softmax row at the mean of x, for all rows."""
    t = x.mean(axis=0) @ weight + bias
    t = ((t - bn_mean) / np.sqrt(bn_var + 1e-5) * bn_scale + bn_bias) * scale
    row = np.exp(t - t.max())
    return np.broadcast_to(row / row.sum(), (x.shape[0], weight.shape[1]))


SHORTCUTS = {"one-row": one_row}
