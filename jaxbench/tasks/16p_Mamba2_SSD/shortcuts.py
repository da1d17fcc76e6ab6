"""Ways to skip the work that the audit tries; numpy on float32 inputs. Right only where the inputs are weak."""

import numpy as np


def band(query, key, value, A_log, width=3):
    """Only the last ``width`` positions."""
    length = query.shape[2]
    total = np.cumsum(np.log(1 / (1 + np.exp(-A_log)) + 1e-8), axis=-1)
    numerator, denominator = np.zeros_like(value), np.zeros(query.shape[:3], np.float32)
    for back in range(min(width, length)):
        now, then = slice(back, length), slice(0, length - back)
        decay = np.exp(total[:, :, now] - total[:, :, then])
        score = np.sum(query[:, :, now] * key[:, :, then], axis=-1) * decay
        numerator[:, :, now] += score[..., None] * value[:, :, then]
        denominator[:, :, now] += score
    return numerator / np.maximum(np.abs(denominator), 1.0)[..., None]


SHORTCUTS = {"band-of-three": band}
