"""LM head and mean cross-entropy over a large vocabulary: one scalar."""

import jax
import jax.numpy as jnp
import numpy as np

CANDIDATES = 4


def create_inputs(rng, dims, dtype):
    """A loss that moves with everything: a temperature per draw, late tokens and words that weigh more, telling labels.

    Logits have a spread of about 3 times the temperature. Each label is the best of CANDIDATES random words, so that
    the mean depends on which labels were given; 0 and V - 1 are among them.
    """
    T, H, V = dims["T"], dims["H"], dims["V"]
    temperature = np.float32(rng.uniform(0.6, 1.4))
    hidden = rng.standard_normal((T, H), dtype=np.float32) * np.linspace(0.5, 1.5, T, dtype=np.float32)[:, None]
    weight = rng.standard_normal((H, V), dtype=np.float32) * np.float32(3.0 / np.sqrt(H)) * temperature
    weight *= np.linspace(0.5, 1.25, V, dtype=np.float32)
    words = rng.integers(0, V, (T, CANDIDATES))
    logits = np.stack([np.einsum("th,ht->t", hidden, weight[:, column]) for column in words.T], axis=1)
    labels = words[np.arange(T), logits.argmax(axis=1)]
    labels[rng.permutation(T)[:2]] = (0, V - 1)[:T]
    return hidden.astype(dtype), weight.astype(dtype), labels.astype(np.int32)


def create_classic_inputs(dims, dtype, original=False):
    """The published draws; both versions of the suite agree, so ``original`` changes nothing."""
    T, H, V = dims["T"], dims["H"], dims["V"]
    key_hidden, key_weight, key_labels = jax.random.split(jax.random.key(42), 3)
    hidden = jax.random.normal(key_hidden, (T, H), dtype=dtype)
    weight = jax.random.normal(key_weight, (H, V), dtype=dtype) * 0.02
    labels = jax.random.randint(key_labels, (T,), 0, V)
    return np.asarray(hidden), np.asarray(weight), np.asarray(labels).astype(np.int32)


def workload(hidden, weight, labels):
    logits = hidden @ weight
    log_probabilities = jax.nn.log_softmax(logits, axis=-1)
    wide = jnp.promote_types(hidden.dtype, jnp.float32)
    picked = jnp.take_along_axis(log_probabilities, labels[:, None], axis=-1)
    return -jnp.mean(picked.astype(wide))
