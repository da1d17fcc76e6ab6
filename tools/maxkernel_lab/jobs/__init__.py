"""Jobs: work that outlives one call. A folder per job, a file lock for its owner, so any server sees how it stands."""

from maxkernel_lab.jobs.folder import JobFolder, new_job_id
from maxkernel_lab.jobs.keeper import JobKeeper, Launcher
from maxkernel_lab.jobs.work import Work, no_progress

__all__ = ["JobFolder", "JobKeeper", "Launcher", "Work", "new_job_id", "no_progress"]
