"""Scale and bias: y = 1.5 * x + b."""

import numpy as np


def create_inputs(rng, dims, dtype):
    x = rng.standard_normal((dims["M"], dims["N"]), dtype=np.float32)
    b = rng.standard_normal((1, dims["N"]), dtype=np.float32) + np.float32(0.5)
    return x.astype(dtype), b.astype(dtype)


def workload(x, b):
    return x * 1.5 + b
