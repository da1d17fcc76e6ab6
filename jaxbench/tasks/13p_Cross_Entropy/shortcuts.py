"""Ways to skip the work that the audit tries; numpy on float32 inputs. Right only where the inputs are weak."""

import numpy as np


def closed_form(hidden, weight, labels):
    """log V + sigma^2 / 2 for normal logits, with sigma from the published spread of the inputs."""
    sigma = float(hidden.std()) * float(weight.std()) * np.sqrt(hidden.shape[1])
    return np.float32(np.log(weight.shape[1]) + sigma * sigma / 2)


def few_words(hidden, weight, labels):
    """A sixteenth of the vocabulary stands for all of it, and labels are ignored."""
    part = hidden @ weight[:, : max(1, weight.shape[1] // 16)]
    peak = part.max(axis=1, keepdims=True)
    total = np.log(np.exp(part - peak).mean(axis=1)) + peak[:, 0] + np.log(weight.shape[1])
    return np.float32(total.mean() - part.mean())


SHORTCUTS = {"closed-form": closed_form, "few-words": few_words}
