"""Ways to do less work that the audit tries; numpy on float32 inputs. Right wherever the algebra is: see the labels."""


def no_product(x, y, bmm_weight, bmm_bias, in_weight, in_bias):
    """The norm of one position is 0: no product is needed."""
    return (in_bias + y) * y


SHORTCUTS = {"no-product": no_product}
