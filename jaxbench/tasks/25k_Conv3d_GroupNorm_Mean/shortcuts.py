"""Ways to skip the work that the audit tries; numpy on float32 inputs. Right only where the inputs are weak."""

import numpy as np


def mean_of_beta(x, weight, conv_bias, gamma, beta):
    """What is left when all gammas are equal: the mean of beta, for every sample."""
    return np.full(x.shape[0], beta.mean(), np.float32)


SHORTCUTS = {"mean-of-beta": mean_of_beta}
