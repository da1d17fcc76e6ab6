"""Two outputs of one input."""

import numpy as np


def create_inputs(rng, dims, dtype):
    return (rng.standard_normal((dims["M"], dims["N"]), dtype=np.float32).astype(dtype),)


def workload(x):
    return x + 1.0, x * x
