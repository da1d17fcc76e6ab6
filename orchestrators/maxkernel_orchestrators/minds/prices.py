"""What a model's tokens cost, from a table with its sources. A model that is not in it has no price, not one of 0."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from maxkernel_tools.records.base import Record

_DATED = re.compile(r"-(?:\d{8}|\d{4}-\d{2}-\d{2}|latest)$")


class LongPrice(Record):
    """Prices of a whole exchange whose prompt has at least so many tokens."""

    from_tokens: int
    input: float
    output: float


class Price(Record):
    """USD per million tokens."""

    input: float
    output: float
    long: LongPrice | None = None

    def of(self, input_tokens: int, output_tokens: int) -> float:
        """USD for one exchange, cached tokens at the full price."""
        rates = self.long if self.long is not None and input_tokens >= self.long.from_tokens else self
        return (input_tokens * rates.input + output_tokens * rates.output) / 1e6


class Vendor(Record):
    """One vendor's models; ``source`` is the page its prices stand on."""

    source: str
    models: dict[str, Price]


class PriceTable(Record):
    """The table: who collected it when, and every vendor."""

    about: str
    collected: str
    vendors: dict[str, Vendor]


@cache
def price_table() -> PriceTable:
    """Read the table."""
    text = files("maxkernel_orchestrators.minds").joinpath("prices.json").read_text(encoding="utf-8")
    return PriceTable.model_validate_json(text)


def price_of(vendor: str, model: str) -> Price | None:
    """Return a model's price, a dated name's by its plain one; None where the table does not hold it."""
    known = price_table().vendors.get(vendor)
    if known is None:
        return None
    plain = _DATED.sub("", model)
    return known.models.get(model) or known.models.get(plain) or known.models.get(f"{plain}-latest")
