"""One job's folder, journal and ledger: what survives whatever ends this process."""

from maxkernel_orchestrators.job.config import JobConfig
from maxkernel_orchestrators.job.folder import JobFolder
from maxkernel_orchestrators.job.journal import Journal, Spending, spending_on
from maxkernel_orchestrators.job.ledger import BudgetSpentError, Ledger

__all__ = ["BudgetSpentError", "JobConfig", "JobFolder", "Journal", "Ledger", "Spending", "spending_on"]
