"""Ways to skip the work that the audit tries; numpy on float32 inputs. Right only where the inputs are weak."""

import numpy as np


def no_norm(x, scale):
    """Scale without normalising."""
    return x * scale


def no_epsilon(x, scale):
    """Normalise without EPSILON."""
    mean_square = np.mean(x * x, axis=-1, keepdims=True)
    return np.divide(x, np.sqrt(mean_square), out=np.full_like(x, np.nan), where=mean_square > 0) * scale


SHORTCUTS = {"no-norm": no_norm, "no-epsilon": no_epsilon}
