"""One job's folder, journal and ledger: what survives whatever ends this process."""

from maxkernel_orchestrators.job.config import JobConfig
from maxkernel_orchestrators.job.folder import JobFolder
from maxkernel_orchestrators.job.journal import Journal

__all__ = ["JobConfig", "JobFolder", "Journal"]
