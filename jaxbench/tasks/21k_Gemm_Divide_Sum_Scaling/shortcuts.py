"""Ways to do less work that the audit tries; numpy on float32 inputs. Right wherever the algebra is: see the labels."""

import numpy as np


def fold_columns(x, weight):
    """The sum over features taken on weight first: a product with a vector."""
    return (x @ weight.sum(axis=0))[:, None] * np.float32(0.75)


SHORTCUTS = {"fold-columns": fold_columns}
