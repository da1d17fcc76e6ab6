"""Ways to skip the work that the audit tries; numpy on float32 inputs. Right only where the inputs are weak."""

import numpy as np


def no_decay(query, key, value):
    """Every gamma taken for 1; one head at a time."""
    out = np.empty_like(value)
    for b in range(query.shape[0]):
        for h in range(query.shape[1]):
            scores = np.tril(query[b, h] @ key[b, h].T)
            out[b, h] = scores / np.maximum(np.abs(scores).sum(axis=1, keepdims=True), 1.0) @ value[b, h]
    return out


SHORTCUTS = {"no-decay": no_decay}
