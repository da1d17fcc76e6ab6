"""Ways to skip the work that the audit tries; numpy on float32 inputs. Right only where the inputs are weak."""


def linear_sigmoid(x, weight, bias):
    """The sigmoid taken for its tangent at 0, which turns the product into one with a vector."""
    return (weight.shape[1] / 2 + (x @ weight.sum(axis=1) + bias.sum()) / 4)[:, None]


SHORTCUTS = {"linear-sigmoid": linear_sigmoid}
