"""Ways to do less work that the audit tries; numpy on float32 inputs. Right wherever the algebra is: see the labels."""


def fold_columns(x, weight, bias):
    """The sum over features taken on weight and bias first: a product with a vector."""
    return (x @ weight.sum(axis=0) + bias.sum())[:, None]


SHORTCUTS = {"fold-columns": fold_columns}
