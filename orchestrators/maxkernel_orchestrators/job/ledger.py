"""What a job has spent, and the limits on it. Counts from the journal, so that a resumed job counts on.

Money is known only where a speaker reported it or the price table holds the model; one exchange without a price makes
the job's total unknown, never zero.
"""

from __future__ import annotations

from typing import Final, Literal

from maxkernel_orchestrators.job.config import Budget
from maxkernel_orchestrators.job.journal import Journal
from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.jobs import CandidateCost, CostLedger

Limit = Literal["tokens", "money", "wall-time"]
LIMIT_WORDS: Final[dict[Limit, str]] = {
    "tokens": "the budget of tokens is spent",
    "money": "the budget of money is spent",
    "wall-time": "the budget of time is spent",
}
_COMPILING: Final = ("compile_kernel", "profile_kernel")


class BudgetSpentError(Exception):
    """The budget allows no further exchange.

    Attributes:
        limit: which one.
    """

    def __init__(self, limit: Limit) -> None:
        super().__init__(LIMIT_WORDS[limit])
        self.limit: Limit = limit


class Ledger:
    """The ledger of one job.

    Args:
        journal: the job's; every figure comes from it.
        budget: its limits; zero means none.
    """

    def __init__(self, journal: Journal, budget: Budget | None = None) -> None:
        self._journal = journal
        self._budget = budget or Budget(evaluations=0, wall_s=0.0)

    def require_price(self, author: str, *, priced: bool) -> None:
        """Refuse a limit on money that cannot be enforced.

        Raises:
            MisuseError: there is such a limit and the author's price is unknown.
        """
        if self._budget.usd and not priced:
            raise MisuseError(
                f"The price of {author!r} is not known, so a budget of {self._budget.usd:g} USD cannot be enforced.",
                allowed="a limit on money with models of the price table; a limit on tokens with any.",
                action="Set a budget of tokens instead.",
            )

    def spent_limit(self) -> Limit | None:
        """The first limit that is reached, or None. Evaluations are the paradigms' own count."""
        budget = self._budget
        if budget.wall_s and self._journal.wall_s() >= budget.wall_s:
            return "wall-time"
        if not (budget.tokens or budget.usd):
            return None
        tokens_in, tokens_out, usd, _ = self._journal.exchanged()
        if budget.tokens and tokens_in + tokens_out >= budget.tokens:
            return "tokens"
        # With an unknown price among the exchanges nobody can say what is left: then it counts as spent.
        if budget.usd and (usd is None or usd >= budget.usd):
            return "money"
        return None

    def check(self) -> None:
        """Allow one more exchange.

        Raises:
            BudgetSpentError: a limit is reached.
        """
        limit = self.spent_limit()
        if limit is not None:
            raise BudgetSpentError(limit)

    def remaining_s(self) -> float | None:
        """Wall time left, in seconds; None without a limit."""
        if not self._budget.wall_s:
            return None
        return max(0.0, self._budget.wall_s - self._journal.wall_s())

    def totals(self) -> CostLedger:
        """Everything spent so far, over all sessions."""
        tokens_in, tokens_out, usd, exchanges = self._journal.exchanged()
        return CostLedger(
            wall_s=round(self._journal.wall_s(), 2),
            compile_s=round(sum(self._journal.seconds(kind) for kind in _COMPILING), 2),
            evaluations=self._journal.count("profile_kernel"),
            exchanges=exchanges,
            input_tokens=tokens_in,
            output_tokens=tokens_out,
            usd=None if usd is None else round(usd, 6),
            faults=self._journal.faults(),
        )

    def by_candidate(self) -> dict[str, CandidateCost]:
        """What each candidate cost, by its name."""
        compiling = self._journal.seconds_by_candidate(_COMPILING)
        exchanged = self._journal.exchanged_by_candidate()
        return {
            name: CandidateCost(
                compile_s=round(compiling.get(name, 0.0), 2),
                input_tokens=exchanged.get(name, (0, 0, 0.0))[0],
                output_tokens=exchanged.get(name, (0, 0, 0.0))[1],
                usd=exchanged.get(name, (0, 0, 0.0))[2],
            )
            for name in sorted(compiling.keys() | exchanged.keys())
        }
