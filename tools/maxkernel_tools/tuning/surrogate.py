"""Learns from configurations already timed how the others will do: the guess from facts, corrected per value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from maxkernel_tools.tuning.space import Config

_RIDGE = 0.15
"""Pull towards the guess, in units of one observation: a value seen once moves the prediction only in part."""


class Surrogate:
    """An additive correction in log time: one effect per parameter value and per pair of neighbouring parameters.

    Args:
        configs: the whole space.
        guesses: first guess per configuration, in µs.
    """

    def __init__(self, configs: Sequence[Config], guesses: Sequence[float]) -> None:
        self._log_guess = np.log(np.maximum(np.asarray(guesses, dtype=np.float64), 1e-9))
        self._features = _features(configs)

    def predict(self, timed: Mapping[int, float]) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return the predicted time of every configuration in µs, from the times of some, by index."""
        if not timed:
            return np.exp(self._log_guess)
        seen = np.fromiter(timed, dtype=np.int64)
        error = np.log(np.fromiter((timed[int(at)] for at in seen), dtype=np.float64)) - self._log_guess[seen]
        offset = float(np.median(error))
        rows = self._features[seen]
        gram = rows.T @ rows + _RIDGE * np.eye(rows.shape[1])
        effects = np.linalg.solve(gram, rows.T @ (error - offset))
        predicted = self._log_guess + offset + self._features @ effects
        predicted[seen] = np.log(np.fromiter((timed[int(at)] for at in seen), dtype=np.float64))
        return np.exp(predicted)


def _features(configs: Sequence[Config]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Numeric parameters as centred logarithm and its square, all parameters as one column per value."""
    columns: list[np.ndarray[Any, np.dtype[np.float64]]] = [np.zeros(len(configs))]
    for name in configs[0]:
        values = [config[name] for config in configs]
        columns += [np.array([0.7 * (one == value) for one in values]) for value in dict.fromkeys(values)]
        if all(isinstance(value, int | float) and not isinstance(value, bool) and value > 0 for value in values):
            logs = np.log2(np.array(values, dtype=np.float64))
            spread = float(np.ptp(logs)) or 1.0
            centred = (logs - logs.mean()) / spread
            columns += [centred, centred**2]
    return np.stack(columns, axis=1)
