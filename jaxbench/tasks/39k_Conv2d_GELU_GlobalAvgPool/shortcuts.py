"""Ways to skip the work that the audit tries; numpy on float32 inputs. Right only where the inputs are weak."""

import numpy as np


def no_convolution(x, weight, bias):
    """Every pixel taken for the mean of its image channel: no convolution."""
    t = x.mean(axis=(2, 3)) @ weight.sum(axis=(2, 3)).T + bias
    return 0.5 * t * (1 + np.tanh(np.sqrt(2 / np.pi) * (t + 0.044715 * t**3)))


SHORTCUTS = {"no-convolution": no_convolution}
