"""Transfers counted in closed form are those a walk over the grid makes."""

from __future__ import annotations

import importlib.util
import time
from itertools import product

import numpy as np
import pytest

if importlib.util.find_spec("jax") is None:
    pytest.skip("jax is not installed", allow_module_level=True)

import jax
import jax.numpy as jnp

from maxkernel_tools.worker.inspecting.grids import Dim, visits
from maxkernel_tools.worker.inspecting.walking import open_jaxpr

MAPS = {
    "rows": lambda i, j, k: (i, k),
    "outer_only": lambda i, j, k: (i, 0),
    "inner_only": lambda i, j, k: (k, 0),
    "constant": lambda i, j, k: (0, 0),
    "halved": lambda i, j, k: (i // 2, (j + k) % 3),
    "clamped": lambda i, j, k: (jnp.minimum(i + 1, 2), jnp.maximum(k - 1, 0)),
    "chosen": lambda i, j, k: (jnp.where(j == 0, i, 2), k),
}
DIMS = (Dim(size=8, extent=44), Dim(size=128, extent=600))


def closed(index_map):
    scalars = [jax.ShapeDtypeStruct((), jnp.int32)] * 3
    return jax.make_jaxpr(index_map)(*scalars)


def walked(index_map, grid):
    previous, fetches, elements = None, 0, 0
    for step in product(*(range(extent) for extent in grid)):
        block = tuple(int(value) for value in index_map(*(np.int32(s) for s in step)))
        if block != previous:
            fetches += 1
            inside = [max(min(b * d.size + d.size, d.extent) - b * d.size, 0) for b, d in zip(block, DIMS, strict=True)]
            elements += int(np.prod(inside))
        previous = block
    return fetches, elements


@pytest.mark.parametrize("grid", [(3, 2, 4), (1, 1, 1), (4, 1, 3), (2, 3, 1)])
@pytest.mark.parametrize("name", MAPS)
def test_same_as_walking_the_grid(name, grid):
    jaxpr = closed(MAPS[name])
    over = visits(open_jaxpr(jaxpr), jaxpr.consts, grid, DIMS)
    assert (over.fetches, over.elements) == walked(MAPS[name], grid)


def test_an_empty_grid_fetches_nothing():
    jaxpr = closed(MAPS["rows"])
    assert visits(open_jaxpr(jaxpr), jaxpr.consts, (0, 2, 4), DIMS).fetches == 0


def test_a_million_steps_are_counted_quickly():
    jaxpr = closed(MAPS["halved"])
    started = time.process_time()
    over = visits(open_jaxpr(jaxpr), jaxpr.consts, (100, 100, 100), DIMS)
    assert time.process_time() - started < 2.0
    assert over.fetches > 0


def test_a_map_of_data_is_unknown():
    def prefetched(i, j, k):
        return (jnp.float32(i).astype(jnp.int32) + jnp.cumsum(jnp.arange(4))[k], j)

    jaxpr = closed(prefetched)
    over = visits(open_jaxpr(jaxpr), jaxpr.consts, (3, 2, 4), DIMS)
    assert over.fetches is None
